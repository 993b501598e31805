package convert

import (
	"fmt"
	"io"

	"kprof/convert/replay"
	"kprof/convert/sniff"
	"kprof/convert/stacktext"
)

// dialects are the forms of text that have stacks in them, besides folded ones.
var dialects = map[sniff.Kind]stacktext.Dialect{
	sniff.PerfScript: stacktext.PerfScript,
	sniff.BPFTrace:   stacktext.BPFTrace,
	sniff.DTrace:     stacktext.DTrace,
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
	if o.Time.apply(&times); times.Window != nil {
		return &TimeError{Reason: RelativeTimeOfText}
	}
	set, st, err := stacktext.Read(r, d, stacktext.Options{
		PIDs: o.PIDs, TIDs: o.TIDs, Comms: o.Comms, CPUs: o.CPUs, From: times.From, To: times.To,
		TID: o.Labels&replay.LabelTID != 0, CPU: o.Labels&replay.LabelCPU != 0,
		Times: o.Times,
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
		{times.From != 0 || times.To != 0, st.HasTime, "time"},
	} {
		if f.asked && !f.has {
			return &NoFieldError{Field: f.name, PerfScript: d == stacktext.PerfScript}
		}
	}
	o.PIDs, o.TIDs, o.Comms, o.CPUs, o.Time = nil, nil, nil, nil, TimeRange{}
	p.Set, p.perfScript = set, d == stacktext.PerfScript
	if err := p.selectRows(&o); err != nil {
		return err
	}
	for _, w := range textLosses(st) {
		p.warn(w)
	}
	return nil
}
