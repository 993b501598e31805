package count

import (
	"errors"

	"kprof/perfevent"
	"kprof/perfevent/event"
)

// Options says what to count, and where. Groups is needed, and one kind of target.
type Options struct {
	Groups []Group
	Target Target

	// PerCPU has counters of tasks made for each CPU, so that Reading says on which
	// one it was; those of whole CPUs are in any case.
	PerCPU bool

	ProbeVia     event.ProbeVia // how probes are made
	MaxProbes    int            // how many functions the glob of a probe may match; 0: 100
	MountTracefs bool           // mount tracefs where a tracepoint needs it

	Readable func(name string) string // see event.Resolver
}

// Target is what to count.
type Target = perfevent.Target

func (o *Options) validate() error {
	if len(o.Groups) == 0 {
		return errors.New("no events to count")
	}
	for _, g := range o.Groups {
		if len(g.Specs) == 0 {
			return errors.New("a group without an event")
		}
	}
	return o.Target.Validate()
}
