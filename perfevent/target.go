package perfevent

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// Target is what to watch: one of AllCPUs, Cgroups, or PIDs and TIDs.
type Target struct {
	AllCPUs bool       // every task
	PIDs    []int      // processes: their threads, and what these start
	TIDs    []int      // threads, and what these start
	Cgroups []*os.File // directories of cgroups: their tasks; open while a session is, and where it records, none in another one

	// EnableOnExec starts sampling or counting when a task calls exec: for a command that
	// waits to be started.
	EnableOnExec bool

	// NoInherit leaves out what processes and threads start.
	NoInherit bool

	CPUs []int // only on these; all that are online when empty
}

// OfTasks reports whether processes and threads are watched.
func (t *Target) OfTasks() bool { return len(t.PIDs)+len(t.TIDs) > 0 }

// Inherits reports whether what tasks start is watched too, by counters that they inherit.
func (t *Target) Inherits() bool { return t.OfTasks() && !t.NoInherit }

// Validate refuses a target that is none or several, and what is no process or thread.
func (t *Target) Validate() error {
	kinds := 0
	for _, is := range []bool{t.AllCPUs, len(t.Cgroups) > 0, t.OfTasks()} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("wants one target: all CPUs, cgroups, or processes and threads")
	}
	for _, id := range slices.Concat(t.PIDs, t.TIDs) {
		if id <= 0 {
			return fmt.Errorf("target: %d is no process or thread", id)
		}
	}
	return nil
}
