//go:build !portable

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"kprof/convert/export"
	"kprof/convert/live"
	"kprof/convert/outfile"
	"kprof/convert/printable"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/perfdata"
	"kprof/record"
	"kprof/record/capture"
	"kprof/record/datafile"
	"kprof/record/parts"
	"kprof/symbolize"
)

// partFlags are those that make many files of a recording.
type partFlags struct {
	switchOutput string // what ends a file
	every        time.Duration
	most         int    // files that are kept
	jitter       bool   // of when the first period ends
	flight       string // how much is kept in memory
	on           []string
}

func (f *partFlags) flags(fl *pflag.FlagSet) {
	defer under(fl, headingFiles)()
	fl.StringVar(&f.switchOutput, "switch-output", "", "begin another file, NAME.TIMESTAMP, at each SIGUSR2 (signal), after a `size` like 100M, or a time like 30s or 10m")
	fl.Lookup("switch-output").NoOptDefVal = "signal"
	fl.Var((*duration)(&f.every), "every", "begin another file, perf.data or profile, after each such `time`; with --push send a profile (default 10s)")
	fl.BoolVar(&f.jitter, "jitter", false, "end the first of --every's periods early, at random, so that not all machines write at once")
	fl.IntVar(&f.most, "switch-max-files", 0, "of these files keep the last `N`")
	fl.StringVar(&f.flight, "flight", "", "keep in memory what was recorded last, for a `time` like 30s or of a size like 64M, or both (30s,64M); a file is made of it at each SIGUSR2, --on, and at the end")
	fl.StringArrayVar(&f.on, "on", nil, "record this `event` too, and begin another file when it happens; 'EVENT if FILTER' for some of it")
	fl.StringArrayVar(&f.on, "switch-output-event", nil, "the same, as perf calls it")
	_ = fl.MarkHidden("switch-output-event")
}

// given reports whether many files are to be made.
func (f *partFlags) given() bool {
	return f.switchOutput != "" || f.every > 0 || f.flight != "" || len(f.on) > 0
}

// options are those of the parts, but for what the session has to say.
func (f *partFlags) options() (o parts.Options, err error) {
	if f.most < 0 || f.most > 0 && !f.given() {
		return o, usagef("--switch-max-files wants a number above 0, and --switch-output, --every or --flight")
	}
	if f.flight != "" && (f.every > 0 || f.switchOutput != "" && f.switchOutput != "signal") {
		return o, usagef("--flight makes a file when it is asked to, not for each time or size: without --every, and --switch-output of these")
	}
	if f.every > 0 && f.switchOutput != "" && f.switchOutput != "signal" {
		return o, usagef("--every and --switch-output exclude each other")
	}
	o.Every = f.every
	if f.jitter {
		if f.every == 0 {
			return o, usagef("--jitter is for --every")
		}
		o.First = f.first(f.every)
	}
	if s := f.switchOutput; s != "" && s != "signal" {
		if o.Every, o.Size, err = timeOrSize(s); err != nil {
			return o, usagef("--switch-output %q: wants signal, a size like 100M or a time like 30s", s)
		}
	}
	if f.flight == "" {
		return o, nil
	}
	for part := range strings.SplitSeq(f.flight, ",") {
		t, size, err := timeOrSize(part)
		if err != nil || t > 0 && o.Window > 0 || size > 0 && o.Bytes > 0 {
			return o, usagef("--flight %q: wants a time like 30s, a size like 64M, or both", f.flight)
		}
		o.Window, o.Bytes = max(o.Window, t), max(o.Bytes, size)
	}
	if o.Window == 0 {
		o.Window = parts.AllTime
	}
	return o, nil
}

// first is how long the first of periods is, 0 for as long as the others.
func (f *partFlags) first(every time.Duration) time.Duration {
	if !f.jitter {
		return 0
	}
	return 1 + rand.N(every)
}

// checkParts refuses what does not go with many files.
func (f *recordFlags) checkParts(out output) error {
	o, err := f.parts.options()
	if err != nil || !f.parts.given() {
		return err
	}
	switch {
	case f.open:
		return usagef("--open shows one recording, and --switch-output, --every and --flight make many files")
	case out.name == "-":
		return usagef("--switch-output, --every and --flight make files: use -o FILE")
	case out.format == export.Data, o.Window > 0:
	case o.Every == 0 || len(f.parts.on) > 0:
		return usagef("--switch-output but for a time, and --on without --flight, write perf.data: use -o NAME.data; profiles are made with --every TIME or --flight")
	case o.Every < leastPeriod:
		return usagef("--every %v: wants at least %v", o.Every, leastPeriod)
	}
	return nil
}

// timeOrSize parses a size, whose unit is a capital letter, or a time, as perf record has
// them: 10M is 10 MiB, 10m 10 minutes.
func timeOrSize(s string) (t time.Duration, size int64, err error) {
	digits := strings.TrimRight(s, "BKMG")
	if shift, ok := map[string]int{"B": 0, "K": 10, "M": 20, "G": 30}[s[len(digits):]]; ok {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err == nil && (n <= 0 || n > 1<<40>>shift) {
			err = strconv.ErrRange
		}
		return 0, n << shift, err
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || n <= 0 || n > 1e4 {
			return 0, 0, strconv.ErrRange
		}
		return time.Duration(n * 24 * float64(time.Hour)), 0, nil
	}
	var d duration
	if err := d.Set(s); err != nil || d == 0 {
		return 0, 0, errDuration
	}
	return time.Duration(d), 0, nil
}

// addTriggers adds events that are each to trigger something: 'EVENT' or 'EVENT if FILTER'.
func addTriggers(o *record.Options, texts []string, what event.Trigger) error {
	for _, text := range texts {
		e, filter, _ := strings.Cut(text, " if ")
		specs, err := event.ParseSpecs(strings.TrimSpace(e))
		if err != nil {
			return usageError{err}
		}
		for _, s := range specs {
			s.Filter, s.Trigger = strings.TrimSpace(filter), what
			o.Specs = append(o.Specs, s)
		}
	}
	return nil
}

// partsSink makes many files of a recording.
type partsSink struct {
	*parts.Divider
	f       *recordFlags
	out     string
	series  *outfile.Series
	open    func(*outfile.Place) (*datafile.File, error)
	rights  func(func() error) error
	unasked func() // by signals
	files   int
	samples uint64
	last    string // file
	room    noRoom

	profiles profileSeries // of what is kept in memory, where these are profiles
	collect  func() (*live.Collector, error)
}

// dataPart is a part that is a file of its own.
type dataPart struct {
	*datafile.File
	s     *partsSink
	place *outfile.Place
	begun time.Time
}

func (f *recordFlags) newPartsSink(out output, s *capture.Capture, events []abi.Event, header perfdata.Features) (_ sink, err error) {
	if out.name == "-" || !out.place.IsFile() {
		return nil, usagef("%s is a pipe or a device, of which there are not many: use -o FILE", out.name)
	}
	o, err := f.parts.options()
	if err != nil {
		return nil, err
	}
	p := &partsSink{f: f, out: out.name, room: noRoom{one: "file or a part of it", many: "files or parts of them"}, series: outfile.NewSeries(out.name, "", f.parts.most), rights: s.WithRights}
	names := namesOf(s, limitTime)
	p.open = func(at *outfile.Place) (*datafile.File, error) {
		to := datafile.Output{Name: at.Name(), Create: at.Create}
		if f.parts.flight != "" { // what is written is in memory until it is whole
			to.Whole = true
			to.Create = func() (*os.File, func() error, error) {
				file, publish, err := at.Create()
				return file, func() error { return s.WithRights(publish) }, err
			}
		}
		file, err := datafile.Create(to, events, header, f.rules(), s.BuildIDs, s.Kernel)
		if err == nil {
			file.Names = names
		}
		return file, err
	}
	o.Open = p.create
	if out.format != export.Data {
		o.Open = p.createProfile
		if err := p.makeProfiles(out, s); err != nil {
			return nil, err
		}
		if f.maxMemory != "" && o.Bytes == 0 { // beside the tables, which are made of it
			most, _ := f.memory()
			o.Bytes = most / 3
		}
	}
	o.Triggers, o.Turn, o.Failed = s.Triggers(), s.Turn, p.room.note
	p.Divider = parts.NewDivider(&events[len(events)-1], o)
	// What is in the way of files would be found out when it is too late.
	if err = p.Begin(); err == nil {
		var at *outfile.Place
		if at, err = p.series.Find(time.Now()); err == nil {
			at.Close()
		}
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.unasked = f.askForFiles(p.Switch)
	return p, nil
}

// askForFiles has another file begun by SIGUSR2, and by SIGHUP where there is no terminal, which
// is how services are asked to, and no command that it may be for. It returns what ends that.
func (f *recordFlags) askForFiles(another func()) (end func()) {
	s := f.sym.signals
	usr2 := make(chan os.Signal, 1)
	signal.Notify(usr2, unix.SIGUSR2)
	go func() {
		for range usr2 {
			another()
		}
	}()
	if tty, err := os.Open("/dev/tty"); err == nil {
		tty.Close()
	} else if len(f.command) == 0 {
		s.onHangup(another)
	}
	return func() {
		s.onHangup(nil)
		signal.Stop(usr2)
		close(usr2)
	}
}

// create begins a file.
func (p *partsSink) create() (parts.Part, error) {
	part := &dataPart{s: p, begun: time.Now()}
	err := p.rights(func() (err error) {
		if part.place, err = p.series.Find(time.Now()); err != nil {
			return err
		}
		if part.File, err = p.open(part.place); err != nil {
			part.place.Close()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return part, nil
}

// Finish ends a file.
func (d *dataPart) Finish(about parts.About) error {
	defer d.place.Close()
	ctx, end := limitTime(context.Background(), live.BuildIDTime)
	defer end()
	finish := d.File.FinishPart
	if about.Last {
		finish = d.File.Finish
	}
	missing, err := finish(ctx)
	reportMissing(missing)
	p := d.s
	if err != nil && (about.Samples == 0 || d.Empty()) { // there was no room for anything
		return errors.Join(err, p.rights(func() error { return p.series.Drop(d.place) }))
	}
	err = errors.Join(err, p.rights(func() error { return p.series.Made(d.place) }))
	p.made(about, d.begun, d.Name(), printable.Bytes(d.Size()), err)
	return err
}

// made notes and says that there is one more file, which was begun then, unless that failed.
func (p *partsSink) made(about parts.About, begun time.Time, name, size string, err error) {
	if err != nil {
		return
	}
	p.room.kept(begun)
	p.files++
	p.samples += about.Samples
	p.last = name
	if about.LeftOut > 0 {
		messagef("%d names and maps of processes are left out, which took too much memory", about.LeftOut)
	}
	if voice.quiet {
		return
	}
	of := ""
	if p.f.parts.flight != "" {
		of = fmt.Sprintf(" of the last %v", about.Time.Round(10*time.Millisecond))
		if about.Full {
			of += " (no more fits: --flight TIME,SIZE)"
		}
	}
	notef("%s%s in %s (%s)", printable.Count(about.Samples, "sample"), of, name, size)
}

// makeProfiles prepares for profiles of what is kept in memory.
func (p *partsSink) makeProfiles(out output, s *capture.Capture) (err error) {
	if p.profiles, err = newProfileSeries(out, p.f.parts.most); err != nil {
		return err
	}
	p.series = p.profiles.series
	sel, err := p.f.liveOptions(out, s.Events())
	if err != nil {
		return err
	}
	sel.Symbols.Files = symbolize.NewFileCache()
	p.collect = func() (*live.Collector, error) {
		c := live.NewPartCollector(s.Events(), s.Kernel, s.BuildIDs, sel)
		return c, worded(c.Check())
	}
	_, err = p.collect() // what is asked for can be evaluated
	return err
}

// profilePart is a part that becomes a profile.
type profilePart struct {
	*live.Collector
	s *partsSink
}

func (p *partsSink) createProfile() (parts.Part, error) {
	c, err := p.collect()
	return &profilePart{c, p}, err
}

// Finish writes the profile, unless nothing was sampled.
func (d *profilePart) Finish(about parts.About) error {
	header := liveHeader()
	profile, err := d.Profile(context.Background(), &header, 0)
	if err != nil {
		return worded(err)
	}
	p, before := d.s, d.s.profiles.files
	if err := p.profiles.write(profile); err != nil || p.profiles.files == before {
		return err
	}
	size := "moved or removed since"
	if st, err := os.Stat(p.profiles.last); err == nil {
		size = printable.Bytes(st.Size())
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	p.made(about, time.Now(), p.profiles.last, size, nil)
	return nil
}

func (p *partsSink) finish(_ context.Context, stats *record.Stats) error {
	p.unasked()
	err := p.Close()
	reportLosses(stats)
	if err == nil && p.room.lost > 0 {
		notef("%d samples recorded; %v", stats.Samples, p)
		return p.room.end(filepath.Dir(p.out))
	}
	if err == nil && p.collect != nil && p.files == 0 && stats.Samples > 0 {
		err = errors.New("nothing that was kept had a sample to write")
	}
	return err
}

// report says what there is at the end.
func (p *partsSink) report(stats *record.Stats) {
	switch {
	case p.files == 1 && p.samples == stats.Samples: // it has been said
	case p.samples == stats.Samples:
		notef("%s in %s", printable.Count(p.samples, "sample"), printable.Count(p.files, "file"))
	default:
		notef("%d of %s in %s, the others were given up as they became old", p.samples, printable.Count(stats.Samples, "sample"), printable.Count(p.files, "file"))
	}
}

func (p *partsSink) String() string {
	switch p.files {
	case 0:
		return "no file"
	case 1:
		return p.last
	}
	return fmt.Sprintf("%d files, %s the last", p.files, p.last)
}
