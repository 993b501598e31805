package count

import (
	"errors"
	"fmt"
	"os"
	"slices"

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
}

// Target is what to watch: one of AllCPUs, Cgroups, or PIDs and TIDs.
type Target struct {
	AllCPUs bool       // every task
	PIDs    []int      // processes: their threads, and what these start
	TIDs    []int      // threads, and what these start
	Cgroups []*os.File // directories of cgroups: their tasks; open while the session is

	// EnableOnExec starts counting when a task calls exec: for a command that waits
	// to be started.
	EnableOnExec bool

	CPUs []int // only on these; all that are online when empty
}

func (t *Target) tasks() bool { return len(t.PIDs)+len(t.TIDs) > 0 }

func (o *Options) validate() error {
	if len(o.Groups) == 0 {
		return errors.New("no events to count")
	}
	for _, g := range o.Groups {
		if len(g.Specs) == 0 {
			return errors.New("a group without an event")
		}
	}
	kinds := 0
	for _, is := range []bool{o.Target.AllCPUs, len(o.Target.Cgroups) > 0, o.Target.tasks()} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("wants one target: all CPUs, cgroups, or processes and threads")
	}
	for _, id := range slices.Concat(o.Target.PIDs, o.Target.TIDs) {
		if id <= 0 {
			return fmt.Errorf("target: %d is no process or thread", id)
		}
	}
	return nil
}
