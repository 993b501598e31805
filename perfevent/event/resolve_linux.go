package event

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/procfs"
	"kprof/perfevent/spelling"
	"kprof/perfevent/tracefs"
)

// Event is a Spec resolved, of which a glob gives many.
type Event struct {
	perfevent.Event
	Tracepoint tracefs.Event // zero when it is none
	Source     Spec
	Notes      []string // what the user should know of it: sentences without a full stop
	CPUs       []int    // those that its PMU is of, where it is not of all: nil is any
}

// IsOn reports whether e can be opened on a CPU: the PMUs of a hybrid machine, such as
// cpu_core and cpu_atom, are of some CPUs each.
func (e *Event) IsOn(cpu int) bool {
	return e.CPUs == nil || cpu == perfevent.AnyCPU || slices.Contains(e.CPUs, cpu)
}

// errElsewhere is what an event is that none of the wanted CPUs has.
type errElsewhere struct{ cpus []int }

func (e *errElsewhere) Error() string {
	return fmt.Sprintf("its PMU is of CPUs %s only", procfs.FormatCPUs(e.cpus))
}

func (e *errElsewhere) Unwrap() error { return unix.ENODEV }

// Here leaves out of the events that one names those that can be opened on none of these CPUs, where
// others can.
func Here(events []Event, cpus []int) []Event {
	here := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return e.Elsewhere(cpus) != nil })
	if len(here) == 0 {
		return events
	}
	return here
}

// Elsewhere is an error where e can be opened on none of these CPUs.
func (e *Event) Elsewhere(cpus []int) error {
	if slices.ContainsFunc(cpus, e.IsOn) {
		return nil
	}
	return &errElsewhere{e.CPUs}
}

// Open opens e, configured, in one place, as perfevent.Open does. Of a place that
// the kernel does not let be probed the error says why, which the kernel does not.
func (e *Event) Open(w perfevent.Where) (*perfevent.Counter, error) { return e.OpenInGroup(w, nil) }

// OpenInGroup is Open for a member of the group that leader leads, as
// perfevent.OpenInGroup is.
func (e *Event) OpenInGroup(w perfevent.Where, leader *perfevent.Counter) (*perfevent.Counter, error) {
	c, err := perfevent.OpenInGroup(&e.Event, w, leader)
	if errors.Is(err, unix.EINVAL) && e.Class == perfevent.ClassProbe && e.Attr.Type > abi.TypeBreakpoint {
		return nil, fmt.Errorf("%w (%s)", err, new(Resolver).reasonNotProbed(e.Source.Probe))
	}
	return c, err
}

// Class is what s is to the kernel's checks of permission.
func (s *Spec) Class() perfevent.Class {
	switch {
	case s.Kind == KindProbe && (s.Probe.Raw != "" || s.Probe.Args != ""):
		return perfevent.ClassTracefsProbe
	case s.Kind == KindProbe && s.Probe.User:
		return perfevent.ClassUserProbe
	case s.Kind == KindProbe:
		return perfevent.ClassProbe
	case s.Kind == KindTracepoint:
		return perfevent.ClassTracepoint
	case s.Kind == KindBreakpoint && int64(s.Breakpoint.Addr) < 0:
		return perfevent.ClassKernelMemory
	}
	return perfevent.ClassOther
}

// Requests are specs as far as permissions go.
func Requests(specs []Spec) []perfevent.Request {
	asked := make([]perfevent.Request, len(specs))
	for i := range specs {
		s := &specs[i]
		asked[i] = perfevent.Request{Class: s.Class(), UserOnly: s.Modifiers.Flags&abi.FlagExcludeKernel != 0}
	}
	return asked
}

// Resolver looks events up on this machine. The zero value is ready for use.
// Close removes what it made.
type Resolver struct {
	Sysfs        string   // where sysfs is; "/sys" when empty
	MountTracefs bool     // mount tracefs when a tracepoint is asked for and it is not mounted
	ProbeVia     ProbeVia // how probes are made
	Inherit      bool     // the events are to be inherited, see Sampling
	EachKind     bool     // the events of CPUs are one for each kind of them: one of a task is of the first kind only
	MaxProbes    int      // how many functions the glob of a probe may match; 0: 100
	Tasks        []int    // processes or threads that the events are of: the paths of user probes are theirs

	// Readable makes a name to be read of one that the linker knows, as of C++: functions of
	// programs are found by either. Nil: by the latter only.
	Readable func(name string) string

	fs        *tracefs.FS
	funcs     kernelFuncs
	blacklist map[string]bool // functions, see blacklisted
	traced    map[string]bool // functions, see traceable
	types     *btf.Cache      // see kernelTypes
	probes    []tracefs.Probe // in tracefs, to be removed
	inherited []string        // see Inherited
	keepers   []*perfevent.Counter
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
	s, task := r.inTask(s)
	var all []Event
	for _, one := range r.onEach(s) {
		events, err := r.resolve(one)
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
	}
	if task != 0 && len(all) > 0 {
		all[0].Notes = append(all[0].Notes, fmt.Sprintf("the file is that of process %d, %s", task, s.Probe.Path))
	}
	return all, nil
}

func (r *Resolver) resolve(s Spec) ([]Event, error) {
	ev := Event{Source: s}
	ev.Name, ev.Class, ev.Period, ev.Frequency = s.Text, s.Class(), s.Period, s.Frequency
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
	if perfevent.OnCPU(ev.Attr.Type) && !s.Modifiers.ChoseGH {
		// perf leaves guests out unless told otherwise.
		ev.Attr.Flags |= abi.FlagExcludeGuest
	}
	if s.Modifiers.MostPrecise {
		ev.mostPrecise(opens)
	}
	return []Event{ev}, nil
}

// mostPrecise asks for the most precise instruction pointer with which e opens.
func (e *Event) mostPrecise(opens func(perfevent.Event) bool) {
	for precise := 3; precise > 0; precise-- {
		try := e.Event
		try.Configure(perfevent.Sampling{DefaultFrequency: 100})
		try.Attr.Flags = try.Attr.Flags.WithPrecise(precise)
		if opens(try) {
			e.Attr.Flags = e.Attr.Flags.WithPrecise(precise)
			return
		}
	}
}

// opens reports whether the CPU has what e asks for, of user code alone where no more is permitted.
func opens(e perfevent.Event) bool {
	c, err := perfevent.Open(&e, perfevent.Where{CPU: perfevent.AnyCPU})
	if errors.Is(err, os.ErrPermission) {
		e.Attr.Flags |= UserOnly
		c, err = perfevent.Open(&e, perfevent.Where{CPU: perfevent.AnyCPU})
	}
	return err == nil && c.Close() == nil
}

func (r *Resolver) tracepoints(ev Event) ([]Event, error) {
	s := ev.Source
	fs, err := r.Tracefs()
	if err != nil {
		return nil, fmt.Errorf("event %q: %w", s.Text, perfevent.DeniedTracefs(err, s.Class()))
	}
	found, err := fs.Events(s.System, s.Name)
	if errors.Is(err, os.ErrNotExist) && s.System == "ftrace" {
		// Those without an id are there all the same.
		if _, ferr := fs.Format(tracefs.Event{System: s.System, Name: s.Name}); ferr == nil {
			err = &TracerError{Name: s.Name, Trace: filepath.Join(fs.Path(), "trace")}
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		meant := calledHere(s.Text)
		if _, none := fs.Events(s.System, "*"); meant == "" && errors.Is(none, os.ErrNotExist) {
			meant = otherKind(s.Text)
		}
		if meant != "" {
			return nil, errkind.Errorf(os.ErrNotExist, "event %q: no tracepoint has that name%s", s.Text, spelling.Question([]string{meant}))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("event %q: %w%s", s.Text, perfevent.DeniedTracefs(err, s.Class()), hintTracefs(err))
	}
	if found, err = reachPerf(fs, found); err != nil {
		return nil, fmt.Errorf("event %q: %w", s.Text, err)
	}
	user := r.userProbes(fs)
	events := make([]Event, len(found))
	for i, tp := range found {
		e := ev
		e.Name, e.Tracepoint = tp.String(), tp
		e.Attr.Type, e.Attr.SamplePeriod = abi.TypeTracepoint, 1
		if e.Attr.Config, err = fs.ID(tp); err != nil {
			return nil, fmt.Errorf("event %q: %w%s", s.Text, perfevent.DeniedTracefs(err, s.Class()), hintTracefs(err))
		}
		if isFunctionTrace(tp) {
			// The kernel refuses user callchains there: a fault while tracing
			// the fault handler would recurse (trace_event_perf.c).
			e.Attr.Flags |= abi.FlagExcludeCallchainUser
		}
		r.noteInherited(&e, user[tp])
		events[i] = e
	}
	return events, nil
}

// reachPerf leaves the events out that perf never gets: those of the system ftrace but
// for function are formats of entries that go into ftrace's own buffer, to perf they
// never happen (kernel/trace/trace_entries.h). It is an error if none is left.
func reachPerf(fs *tracefs.FS, all []tracefs.Event) ([]tracefs.Event, error) {
	var reach []tracefs.Event
	for _, tp := range all {
		if tp.System != "ftrace" || isFunctionTrace(tp) {
			reach = append(reach, tp)
		}
	}
	if len(reach) > 0 {
		return reach, nil
	}
	return nil, &TracerError{Name: all[0].Name, Trace: filepath.Join(fs.Path(), "trace")}
}

// hintTracefs is what to add to an error of tracefs, after a blank.
func hintTracefs(err error) string {
	if errors.Is(err, unix.ENODEV) {
		return " (this kernel is built without tracing, CONFIG_FTRACE)"
	}
	return ""
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
