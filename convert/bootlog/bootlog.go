// Package bootlog reads what a kernel booted with initcall_debug says of its start,
// and of suspending and resuming, in its log: what was called, by whom, and for how
// long.
//
// The log may come from dmesg in any of its forms, a serial console, /dev/kmsg or a
// journal. Source of the messages: init/main.c, do_trace_initcall_start and _finish;
// drivers/base/dd.c, call_driver_probe; kernel/async.c; drivers/base/power/main.c,
// initcall_debug_start and dpm_show_time; drivers/pci/quirks.c, fixup_debug_start.
package bootlog

import (
	"fmt"
	"strings"
	"time"
)

// Kind is what was called.
type Kind uint8

// Kinds of calls.
const (
	Initcall Kind = iota // of the kernel, or of a module when it was loaded
	Async                // a function that an initcall left to another thread
	Probe                // of a device, by its driver
	Quirk                // what the kernel does about a certain PCI device
	PM                   // a callback of a device that suspends or resumes
)

func (k Kind) String() string {
	switch k {
	case Initcall:
		return "initcall"
	case Async:
		return "async"
	case Probe:
		return "probe"
	case Quirk:
		return "quirk"
	case PM:
		return "pm"
	}
	return "unknown"
}

// moduleLevel stands for the level of initcalls of modules, in logs that tell levels.
const moduleLevel = "module"

// Call is something that was called. Times are those of the kernel's log, from the
// start of its clock on; a log without them has only durations.
type Call struct {
	Kind   Kind
	Name   string // of the function, of async calls behind their running number; of a probe the device's
	Module string // that the function is of; "" is the kernel itself
	Device string // of a quirk, or that is suspended or resumed
	Driver string // of a probe, where the kernel tells
	Level  string // of initcalls, where the kernel tells ("early", "device"), "module" of modules' then; the phase of PM ("late suspend")
	PID    int32  // of the caller, 0 where it is not known

	Start, End time.Duration
	Duration   time.Duration // as the kernel measured it; 0 of what has not Ended
	Self       time.Duration // of that, what was not in calls from here
	Return     int           // what it returned: 0, or an error as -ENODEV; of a probe as ENODEV, or 1 where the kernel does not tell which
	Ended      bool          // the log has its end
	Parent     int           // index of the call that this was made in, or -1
	Line       uint64        // where it begins in the log, from 1

	children time.Duration
}

// Phase is a part of suspending or resuming, of all devices.
type Phase struct {
	Name     string // "noirq suspend"
	End      time.Duration
	Duration time.Duration
}

// Gap is a time without a call and without a line.
type Gap struct {
	Start, End    time.Duration
	After, Before string // the lines around it
}

// Log is what a log tells.
type Log struct {
	Kernel  string // "Linux version …", of the last boot in the log
	Command string // the kernel's command line
	Boots   int    // how many boots the log has the beginning of

	Calls  []Call // as they began in the log
	Phases []Phase
	Gaps   []Gap // in the order of time

	First, Last time.Duration // of its lines
	Lines       uint64
	Ends        uint64 // of calls
	Orphans     uint64 // ends of calls whose beginning the log does not have
	Overflow    uint64 // calls beyond those that can be kept
}

// Release is the release of the kernel, "6.1.0-37-amd64", "" where the log does not tell.
func (l *Log) Release() string {
	if f := strings.Fields(l.Kernel); len(f) > 2 {
		return f[2]
	}
	return ""
}

// boundIsOne reports whether the kernel wrote 1 for a probe that has bound its device, and 0 for one
// that has not: drivers/base/dd.c, really_probe, before Linux 5.14.
func (l *Log) boundIsOne() bool {
	var major, minor int
	n, _ := fmt.Sscanf(l.Release(), "%d.%d", &major, &minor)
	return n == 2 && (major < 5 || major == 5 && minor < 14)
}

// Options say what of a log is kept. The zero value is all that matters.
type Options struct {
	// MinGap is the shortest Gap. Default: 10 ms.
	MinGap time.Duration
}

// Total is the time of calls of some sort.
type Total struct {
	Name   string
	Calls  int
	Failed int           // returned other than 0
	Time   time.Duration // without those within others of the same sort
}

// Levels are the totals of initcalls by level, in the order in which they came; "" is
// the level of kernels that do not tell them (before Linux 6.13).
func (l *Log) Levels() []Total {
	return l.totals(func(c *Call) (string, bool) { return c.Level, c.Kind == Initcall })
}

// Subsystems are the totals of initcalls by Subsystem, in the order in which they came.
func (l *Log) Subsystems() []Total {
	return l.totals(func(c *Call) (string, bool) { return c.Subsystem(), c.Kind == Initcall })
}

// Kinds are the totals of all calls by Kind.
func (l *Log) Kinds() []Total {
	return l.totals(func(c *Call) (string, bool) { return c.Kind.String(), true })
}

func (l *Log) totals(of func(*Call) (string, bool)) []Total {
	var all []Total
	index := map[string]int{}
	for i := range l.Calls {
		c := &l.Calls[i]
		name, ok := of(c)
		if !ok {
			continue
		}
		at, known := index[name]
		if !known {
			at = len(all)
			index[name] = at
			all = append(all, Total{Name: name})
		}
		t := &all[at]
		t.Calls++
		if c.Return != 0 {
			t.Failed++
		}
		inner := false
		for p, n := c.Parent, 0; p >= 0 && n < maxOuter && !inner; p, n = l.Calls[p].Parent, n+1 {
			outer, ok := of(&l.Calls[p])
			inner = ok && outer == name
		}
		if !inner {
			t.Time += c.Duration
		}
	}
	return all
}

// Unended are the indexes of the calls that the log has no end of: what ran when it
// ended, the last of them first.
func (l *Log) Unended() []int {
	var all []int
	for i := len(l.Calls) - 1; i >= 0; i-- {
		if !l.Calls[i].Ended {
			all = append(all, i)
		}
	}
	return all
}
