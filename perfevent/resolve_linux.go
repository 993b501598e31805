package perfevent

import (
	"fmt"
	"path/filepath"

	"github.com/cilium/ebpf/btf"

	"kprof/perfevent/abi"
	"kprof/perfevent/tracefs"
)

// Event is one event of this machine, ready to be opened: a Spec resolved, of
// which a glob gives many.
type Event struct {
	Name       string        // as perf prints it
	Attr       abi.Attr      // what to count; Configure adds how to sample
	Tracepoint tracefs.Event // zero when it is none
	Source     Spec
	Notes      []string // what the user should know of it: sentences without a full stop

	// String that config1 must point to when the event is opened: the path of
	// a user probe, the function of a kernel probe.
	target string

	entry bool // a probe at the first instruction of a function
	alone bool // cannot be inherited
}

// Resolver looks events up on this machine. The zero value is ready for use.
// Close removes what it made.
type Resolver struct {
	Sysfs        string   // where sysfs is; "/sys" when empty
	MountTracefs bool     // mount tracefs when a tracepoint is asked for and it is not mounted
	ProbeVia     ProbeVia // how probes are made
	Inherit      bool     // the events are to be inherited, see Sampling
	MaxProbes    int      // how many functions the glob of a probe may match; 0: 100

	fs        *tracefs.FS
	funcs     kernelFuncs
	blacklist map[string]bool // functions, see blacklisted
	traced    map[string]bool // functions, see traceable
	types     *btf.Cache      // see kernelTypes
	probes    []tracefs.Probe // in tracefs, to be removed
}

// Tracefs finds the tracing file system, once.
func (r *Resolver) Tracefs() (*tracefs.FS, error) {
	if r.fs == nil {
		fs, err := tracefs.Find(tracefs.Options{Mount: r.MountTracefs})
		if err != nil {
			return nil, fmt.Errorf("%w%s", err, hintTracefs(err))
		}
		r.fs = fs
	}
	return r.fs, nil
}

// Resolve returns the events that s names on this machine, in a fixed order,
// each with type, config, period (1 for what is counted one by one, else 0) and
// exclusions.
func (r *Resolver) Resolve(s Spec) ([]Event, error) {
	ev := Event{Name: s.Text, Source: s}
	if s.DisplayName != "" {
		ev.Name = s.DisplayName
	}
	ev.Attr.Flags = s.Modifiers.Flags
	var err error
	switch s.Kind {
	case KindTracepoint:
		return r.tracepoints(ev)
	case KindNumbered:
		ev.Attr.Type, ev.Attr.Config = s.Type, s.Config
	case KindPMU:
		err = r.pmuEvent(&ev)
	case KindBreakpoint:
		ev.Attr.Type = abi.TypeBreakpoint
		ev.Attr.BPType = uint32(s.Breakpoint.Access)
		ev.Attr.Config1, ev.Attr.Config2 = s.Breakpoint.Addr, s.Breakpoint.Len
		ev.Attr.SamplePeriod = 1
	case KindProbe:
		return r.probe(ev)
	}
	if err != nil {
		return nil, fmt.Errorf("event %q: %w", s.Text, err)
	}
	if onCPU(ev.Attr.Type) && !s.Modifiers.ChoseGH {
		// perf leaves guests out unless told otherwise.
		ev.Attr.Flags |= abi.FlagExcludeGuest
	}
	return []Event{ev}, nil
}

// onCPU: events of the CPU's own PMU, the only ones to know guests.
func onCPU(t abi.Type) bool {
	return t == abi.TypeHardware || t == abi.TypeHWCache || t == abi.TypeRaw
}

func (r *Resolver) tracepoints(ev Event) ([]Event, error) {
	s := ev.Source
	fs, err := r.Tracefs()
	if err != nil {
		return nil, fmt.Errorf("event %q: %w", s.Text, err)
	}
	found, err := fs.Events(s.System, s.Name)
	if err != nil {
		return nil, fmt.Errorf("event %q: %w%s", s.Text, err, hintTracefs(err))
	}
	events := make([]Event, len(found))
	for i, tp := range found {
		e := ev
		e.Name, e.Tracepoint = tp.String(), tp
		e.Attr.Type, e.Attr.SamplePeriod = abi.TypeTracepoint, 1
		if e.Attr.Config, err = fs.ID(tp); err != nil {
			return nil, fmt.Errorf("event %q: %w%s", s.Text, err, hintTracefs(err))
		}
		if isFunctionTrace(tp) {
			// The kernel refuses user callchains there: a fault while tracing
			// the fault handler would recurse (trace_event_perf.c).
			e.Attr.Flags |= abi.FlagExcludeCallchainUser
		}
		events[i] = e
	}
	return events, nil
}

func isFunctionTrace(tp tracefs.Event) bool {
	return tp == tracefs.Event{System: "ftrace", Name: "function"}
}

func (r *Resolver) sysfs(elem ...string) string {
	root := r.Sysfs
	if root == "" {
		root = "/sys"
	}
	return filepath.Join(append([]string{root}, elem...)...)
}
