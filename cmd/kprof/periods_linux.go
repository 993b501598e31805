//go:build !portable

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/convert/live"
	"kprof/convert/outfile"
	"kprof/convert/replay"
	"kprof/record"
	"kprof/record/capture"
	"kprof/symbolize"
)

// leastPeriod is how long a period of profiles is at least.
const leastPeriod = 100 * time.Millisecond

// newPeriods returns a session's profiles of periods, which have their names until ctx ends.
// Beside another sink, that one ends what is kept of the recording.
func (f *recordFlags) newPeriods(ctx context.Context, out output, c *capture.Capture, every time.Duration, beside bool, take func(*convert.Profile) error) (*live.Periods, error) {
	events := c.Events()
	sel, err := f.liveOptions(out, events)
	if err != nil {
		return nil, err
	}
	sel.MaxMemory /= 3 // of this period, the next one, and the last, of which a profile is being made
	if beside {
		sel.MaxMemory = sel.MaxMemory * 3 / 4 // and of their sum
	}
	header := liveHeader()
	p, err := live.NewPeriods(ctx, live.PeriodsOptions{
		Every: every,
		First: f.parts.first(every),
		New: func(files *symbolize.FileCache) (*live.Collector, error) {
			sel.Symbols.Files = files
			return f.newCollector(events, c.BuildIDs, c.Kernel, sel)
		},
		Describe: c.Describe,
		Profile: func(ctx context.Context, c *live.Collector) (*convert.Profile, error) {
			return c.Profile(ctx, &header, 0)
		},
		Take:   take,
		GoesOn: beside,
	})
	return p, worded(err)
}

// periodsSink writes a profile of each period to a file of its own.
type periodsSink struct {
	*live.Periods
	profileSeries
	room    noRoom
	unasked func() // by signals
}

// profileSeries is files of profiles, of which the last are kept.
type profileSeries struct {
	out    output
	series *outfile.Series
	files  int
	last   string // file
	told   bool   // that a period had samples and none to write
}

// newProfileSeries returns the series of an output, of which at most so many files are kept, 0
// for all.
func newProfileSeries(out output, most int) (s profileSeries, err error) {
	if !out.place.IsFile() {
		return s, usagef("%s is a pipe or a device, of which there are not many: use -o FILE", out.name)
	}
	out.sync = true
	return profileSeries{out: out, series: outfile.NewSeries(out.name, formatEnding(out.name), most)}, nil
}

func (f *recordFlags) newPeriodsSink(ctx context.Context, out output, c *capture.Capture) (*periodsSink, error) {
	o, err := f.parts.options()
	if err != nil {
		return nil, err
	}
	s := &periodsSink{room: noRoom{one: "profile", many: "profiles"}}
	if s.profileSeries, err = newProfileSeries(out, f.parts.most); err == nil {
		s.Periods, err = f.newPeriods(context.WithoutCancel(ctx), out, c, o.Every, false, func(p *convert.Profile) error { return s.room.note(s.write(p)) })
	}
	if err != nil {
		return nil, err
	}
	s.unasked = f.askForFiles(s.Switch)
	return s, nil
}

// formatEnding returns the end of a name that tells its format, "" if there is none.
func formatEnding(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] != '.' {
			continue
		}
		if format, _ := export.Of(name[i:]); format != "" {
			return name[i:]
		}
	}
	return ""
}

// write writes one more profile to a file of its own; none where it has no sample.
func (s *profileSeries) write(p *convert.Profile) error {
	if voice.verbose {
		say(p.Warnings)
	}
	if p.Set.NumSamples() == 0 {
		s.tellNone(p)
		return nil
	}
	out := s.out
	err := out.withRights(func() (err error) {
		out.place, err = s.series.Find(time.Now())
		return err
	})
	if err != nil {
		return err
	}
	name := out.place.Name()
	out.name, p.Source = name, name
	if err := out.write(&profile{p}); err != nil {
		return err
	}
	s.files++
	s.last = name
	return out.withRights(func() error {
		made, err := outfile.Find(name)
		if err != nil {
			return err
		}
		defer made.Close()
		return s.series.Made(made)
	})
}

// tellNone says why the first period of which there is no file has none, if it had samples: what
// is asked for may be mistyped, which nobody would know for as long as nothing ends.
func (s *profileSeries) tellNone(p *convert.Profile) {
	recorded := slices.ContainsFunc(p.Stats.Samples, func(e replay.EventSamples) bool { return e.Samples > 0 })
	if empty := p.Empty(); recorded && empty != nil && s.files == 0 && !s.told {
		s.told = true
		messagef("no file for this period, nor for others like it: %v", worded(empty))
	}
}

func (s *periodsSink) finish(_ context.Context, stats *record.Stats) error {
	s.unasked()
	err := s.Close()
	reportLosses(stats)
	if err == nil && s.room.lost > 0 {
		notef("%d samples recorded; %v", stats.Samples, s)
		return s.room.end(filepath.Dir(s.out.name))
	}
	if err == nil && s.files == 0 && stats.Samples > 0 {
		err = errors.New("no period had a sample to write")
	}
	return worded(err)
}

func (s *profileSeries) String() string {
	switch s.files {
	case 0:
		return "no file"
	case 1:
		return s.last
	}
	return fmt.Sprintf("%d files, %s the last", s.files, s.last)
}
