package tracefs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Owner is the process that made a probe. Its probes are in a group of its
// own, kprof_PID_START or kprof_PID_START_NAMESPACE: they outlive it, and this
// is how the next one knows that nobody needs them.
type Owner struct {
	PID       int
	Start     uint64 // when it started, in clock ticks since boot: pids come again
	Namespace uint64 // of its pid, the inode number; 0 for the machine's first
}

// State says whether an owner is still there.
type State uint8

const (
	Gone      State = iota
	Running         // or what has its pid and start time
	Elsewhere       // in another pid namespace: not to be told from here
)

const (
	ownerPrefix = "kprof_"

	// firstNamespace is PROC_PID_INIT_INO (include/linux/proc_ns.h).
	firstNamespace = 0xeffffffc
)

// Self is this process as an owner.
func Self() (Owner, error) {
	o := Owner{PID: os.Getpid()}
	var err error
	if o.Start, err = startTime(o.PID); err != nil {
		return o, fmt.Errorf("stamp of own probes: %w", err)
	}
	if o.Namespace, err = PIDNamespace(); err != nil {
		return o, fmt.Errorf("stamp of own probes: %w", err)
	}
	return o, nil
}

// Group is the group of o's probes.
func (o Owner) Group() string {
	g := fmt.Sprintf("%s%d_%d", ownerPrefix, o.PID, o.Start)
	if o.Namespace != 0 {
		g += fmt.Sprintf("_%d", o.Namespace)
	}
	return g
}

// ParseOwner tells whose probes a group holds, if they are a kprof's.
func ParseOwner(group string) (Owner, bool) {
	stamp, ok := strings.CutPrefix(group, ownerPrefix)
	f := strings.Split(stamp, "_")
	if !ok || len(f) < 2 || len(f) > 3 {
		return Owner{}, false
	}
	var n [3]uint64
	for i, s := range f {
		var err error
		if n[i], err = strconv.ParseUint(s, 10, 63); err != nil {
			return Owner{}, false
		}
	}
	o := Owner{int(n[0]), n[1], n[2]}
	return o, o.Group() == group
}

// State looks for o.
func (o Owner) State() State {
	if ns, err := PIDNamespace(); err != nil || ns != o.Namespace {
		return Elsewhere
	}
	start, err := startTime(o.PID)
	if errors.Is(err, os.ErrNotExist) || err == nil && start != o.Start {
		return Gone
	}
	return Running
}

// startTime is field 22 of /proc/PID/stat (proc(5)). The name in field 2 may
// hold blanks and parentheses.
func startTime(pid int) (uint64, error) {
	name := fmt.Sprintf("/proc/%d/stat", pid)
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	const field = 22 - 3 // the first after the name is field 3
	if len(f) <= field {
		return 0, fmt.Errorf("%s: %d fields after the name", name, len(f))
	}
	return strconv.ParseUint(f[field], 10, 64)
}

// PIDNamespace is the inode number of this process's pid namespace, 0 for the machine's
// first one.
func PIDNamespace() (uint64, error) {
	link, err := os.Readlink("/proc/self/ns/pid")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil // CONFIG_PID_NS is not set
	}
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("pid namespace %q: %w", link, err)
	}
	if ns == firstNamespace {
		return 0, nil
	}
	return ns, nil
}
