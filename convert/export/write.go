package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/klauspost/compress/gzip"

	"kprof/convert"
	"kprof/convert/flamegraph"
	"kprof/convert/folded"
	"kprof/convert/page"
	"kprof/convert/pprof"
	"kprof/convert/stacks"
	"kprof/convert/table"
	"kprof/convert/viewer"
)

var viewers = map[Format]func(io.Writer, *stacks.Set, viewer.Options) error{
	Speedscope: viewer.Speedscope,
	Firefox:    viewer.Firefox,
	Chrome:     viewer.Chrome,
}

// Options say how a profile is written. Format is needed.
type Options struct {
	Format Format
	Gzip   bool // compress what is written; Pprof is compressed in any case

	// Event and Column are what formats show that have room for one event: indexes
	// into Set.Events and its Values. Profile.Choose finds them.
	Event, Column int

	// Title stands above pictures and pages. Default: by the name of the input.
	Title string

	// Notes are lines for pictures and tables: what the recording does not hold.
	Notes []string

	Lines     bool               // Text: tell the source lines of functions apart
	SVG       flamegraph.Options // Event, Column, Title and Notes are set by those above
	TimesHint string             // HTML: see page.Options
	Select    page.Select        // HTML: see page.Options
	Source    page.Source        // HTML: see page.Options
}

// ErrNoTimes is the error of a flame graph in the order of time of a profile whose
// samples have no times.
var ErrNoTimes = errors.New("the profile does not have the times of its samples")

// Write writes a profile. What a flame graph leaves out for want of room it returns.
func Write(w io.Writer, p *convert.Profile, o Options) (flamegraph.Cut, error) {
	bw := bufio.NewWriterSize(w, 1<<20)
	if o.Gzip && o.Format != Pprof {
		zw := gzip.NewWriter(bw)
		cut, err := write(zw, p, o)
		return cut, errors.Join(err, zw.Close(), bw.Flush())
	}
	cut, err := write(bw, p, o)
	if err != nil {
		return cut, err
	}
	return cut, bw.Flush()
}

func write(w io.Writer, p *convert.Profile, o Options) (cut flamegraph.Cut, err error) {
	switch o.Format {
	case Pprof:
		return cut, pprof.Write(w, p.Set, pprof.WriteOptions{})
	case Folded, FoldedHeader:
		return cut, folded.Write(w, p.Set, folded.Options{
			Event: o.Event, Column: o.Column, PlainNames: !p.OfPerf(), Header: o.Format == FoldedHeader,
		})
	case Text:
		return cut, table.Top(w, p.Set, table.TopOptions{Event: o.Event, Column: o.Column, Lines: o.Lines, Notes: o.Notes})
	case HTML:
		return cut, page.Write(w, p.Set, page.Options{Event: o.Event, Column: o.Column, Title: o.title(p, ""), TimesHint: o.TimesHint, Select: o.Select, Source: o.Source})
	case SVG:
		if o.SVG.ByTime && len(p.Set.TimedSamples) == 0 {
			return cut, ErrNoTimes
		}
		svg := o.SVG
		svg.Event, svg.Column, svg.Title = o.Event, o.Column, o.title(p, "Flame graph of ")
		svg.Notes = o.Notes
		if origin := p.Origin(); origin != "" {
			svg.Notes = append([]string{origin}, o.Notes...)
		}
		return flamegraph.Write(w, p.Set, svg)
	}
	if export := viewers[o.Format]; export != nil {
		return cut, export(w, p.Set, viewer.Options{Event: o.Event, Column: o.Column, Name: filepath.Base(p.Source)})
	}
	return cut, fmt.Errorf("a profile cannot be written as %q", o.Format)
}

// title is the one asked for, or made of the name of the input.
func (o *Options) title(p *convert.Profile, before string) string {
	if o.Title != "" || p.Source == "" || p.Source == "-" {
		return o.Title
	}
	return before + filepath.Base(p.Source)
}
