package convert

import (
	"errors"
	"fmt"
	"io"
	"os"

	"kprof/convert/replay"
	"kprof/convert/sniff"
	"kprof/convert/stacktext"
)

// dialects are the forms of text that have stacks in them, besides folded ones.
var dialects = map[sniff.Kind]stacktext.Dialect{
	sniff.PerfScript: stacktext.PerfScript,
	sniff.BPFTrace:   stacktext.BPFTrace,
	sniff.DTrace:     stacktext.DTrace,
	sniff.StackHist:  stacktext.Histogram,
}

// NoFieldError says that samples are to be selected by a field that none of them has.
type NoFieldError struct {
	Field      string // "pid", "time"
	PerfScript bool   // the input is what perf script printed, which can print it
}

func (e *NoFieldError) Error() string {
	if e.PerfScript {
		return fmt.Sprintf("no sample has a %s: print it with perf script -F +%[1]s", e.Field)
	}
	return "no sample has a " + e.Field
}

// readText reads the stacks that another tool printed. What samples to take is
// decided while reading; the event afterwards.
func (p *Profile) readText(r io.Reader, d stacktext.Dialect) error {
	o := *p.opts
	var times replay.Options
	o.Time.apply(&times)
	byTime := times.From != 0 || times.To != 0 || times.Window != nil
	if err := fixWindow(&times, r, d); err != nil {
		return err
	}
	window := times.Window
	if window != nil {
		times.Window = func(first, last uint64) (from, to uint64, err error) {
			from, to, err = window(first, last)
			if e := (*TimeError)(nil); errors.As(err, &e) && e.Reason == PercentOfPipe {
				err = &TimeError{Reason: PercentOfPipedText}
			}
			times.From, times.To = from, to
			return from, to, err
		}
	}
	set, st, err := stacktext.Read(r, d, stacktext.Options{
		PIDs: o.PIDs, TIDs: o.TIDs, Comms: o.Comms, CPUs: o.CPUs, From: times.From, To: times.To, Window: times.Window,
		TID: o.Labels&replay.LabelTID != 0, CPU: o.Labels&replay.LabelCPU != 0,
		Times: o.Times, Blocks: o.Blocks,
	})
	if err != nil {
		return err
	}
	for _, f := range []struct {
		asked, has bool
		name       string
	}{
		{len(o.PIDs) > 0, st.HasPID, "pid"},
		{len(o.TIDs) > 0, st.HasTID, "tid"},
		{len(o.Comms) > 0, st.HasComm, "comm"},
		{len(o.CPUs) > 0, st.HasCPU, "cpu"},
		{byTime, st.HasTime, "time"},
	} {
		if f.asked && !f.has {
			return &NoFieldError{Field: f.name, PerfScript: d == stacktext.PerfScript}
		}
	}
	if p.Set, p.perfScript = set, d == stacktext.PerfScript; p.perfScript {
		p.describeEvents()
	}
	for _, w := range textLosses(st) {
		p.warn(w)
	}
	if l := st.LeftOut; l != nil {
		return p.emptyReason(&o, &replay.LeftOut{
			Samples: st.Samples, Comms: l.Comms, PIDs: l.PIDs, TIDs: l.TIDs, CPUs: l.CPUs,
			First: st.FirstTime, Last: st.LastTime, From: times.From, To: times.To,
		})
	}
	o.PIDs, o.TIDs, o.Comms, o.CPUs, o.Time = nil, nil, nil, nil, TimeRange{}
	return p.selectRows(&o)
}

// fixWindow makes of times relative to the first or last sample those of the text's
// clock, if it can be read twice.
func fixWindow(times *replay.Options, r io.Reader, d stacktext.Dialect) error {
	c, ok := r.(*content)
	if times.Window == nil || !ok {
		return nil
	}
	f, ok := c.Reader.(*os.File)
	if !ok {
		return nil
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil // a pipe
	}
	first, last, err := stacktext.Span(f, d)
	if err != nil || first == 0 {
		times.Window = nil // which is told when it is read
	} else if times.From, times.To, err = times.Window(first, last); err != nil {
		return err
	} else {
		times.Window = nil
	}
	_, err = f.Seek(at, io.SeekStart)
	return err
}
