package count

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/event"
	"kprof/perfevent/procfs"
)

// Session is a set of events that are being counted: opened, enabled, read, closed.
// It is not safe for concurrent use.
type Session struct {
	opts     Options
	resolver event.Resolver
	cpus     []int
	events   []Event
	groups   [][]int // indexes of events that are opened together
	places   []place
	last     []perfevent.Count // what Read returned last, by counter and member
	notes    []string
	exits    *exits
	userOnly bool
	presence map[where]counter // of tasks on single CPUs
}

// Event is one of those that are counted.
type Event struct {
	event.Event
	Group int // events of one group have the same number

	// What is counted is Scale of Unit: 1e-6 of "msec" for clocks, which count
	// nanoseconds, what sysfs says for PMUs that measure something; else 1 and "".
	Scale float64
	Unit  string

	// Refused is why this machine cannot count it, nil when it can.
	Refused error

	weak bool // in a group that is
}

// place is where a group is counted.
type place struct {
	counter counter
	group   int // in groups
	Place
}

// Place is what a counter watches, as far as readings tell it apart.
type Place struct {
	CPU    int // AnyCPU for a task wherever it runs
	Task   int // thread id; AllTasks
	Cgroup int // index in Target.Cgroups; -1 for none
}

// Open opens all events on all targets, disabled. That the machine cannot count an
// event is no error: Events says which. That the user may not is one, unless it is
// only the kernel that may not be counted in; then it is left out, and Notes say so.
func Open(ctx context.Context, opts Options) (_ *Session, err error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	s := &Session{opts: opts}
	s.resolver = event.Resolver{
		MountTracefs: opts.MountTracefs, ProbeVia: opts.ProbeVia, MaxProbes: opts.MaxProbes, Readable: opts.Readable,
		Inherit: opts.Target.Inherits(), Tasks: slices.Concat(opts.Target.PIDs, opts.Target.TIDs),
	}
	defer func() {
		if err != nil {
			err = errors.Join(s.explainDenied(err), s.Close())
		}
	}()
	if s.cpus, err = s.pickCPUs(); err != nil {
		return nil, err
	}
	s.resolver.EachKind = slices.Contains(s.cpus, perfevent.AnyCPU)
	if err := s.resolve(); err != nil {
		return nil, err
	}
	if err := s.openAll(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// pickCPUs are those to count on, nil where tasks are counted wherever they run.
func (s *Session) pickCPUs() ([]int, error) {
	t := &s.opts.Target
	if t.OfTasks() && len(t.CPUs) == 0 && !s.opts.PerCPU {
		return []int{perfevent.AnyCPU}, nil
	}
	online, err := procfs.ReadCPUs(sysfs, procfs.CPUsOnline)
	if err != nil || len(t.CPUs) == 0 {
		return online, err
	}
	want := slices.Clone(t.CPUs)
	slices.Sort(want)
	for _, cpu := range want {
		if !slices.Contains(online, cpu) {
			return nil, fmt.Errorf("cpu %d is not online: %w", cpu, unix.ENODEV)
		}
	}
	return slices.Compact(want), nil
}

// resolve turns the specs into events.
func (s *Session) resolve() error {
	for _, g := range s.opts.Groups {
		var found []event.Event
		for _, spec := range g.Specs {
			events, err := s.resolver.Resolve(spec)
			if err != nil {
				return err
			}
			found = append(found, event.Here(events, s.cpus)...)
		}
		together := g.Together && len(found) > 1
		kinds := map[string]int{} // of CPUs: a group can be of one only
		for i, e := range found {
			for _, n := range e.Notes {
				s.notes = append(s.notes, fmt.Sprintf("%s: %s", e.Name, n))
			}
			if e.Tracepoint.AboutOthers() && slices.Contains(s.cpus, perfevent.AnyCPU) {
				s.notes = append(s.notes, e.Name+": what these tasks do themselves is counted, such as waking others, and nothing that is done to them; counted on single CPUs it has both, and twice what they do to each other; a recording has each once")
			}
			if i == 0 || !together {
				s.groups = append(s.groups, nil)
			}
			last := len(s.groups) - 1
			if together && e.CPUs != nil {
				last = s.groupOfKind(kinds, procfs.FormatCPUs(e.CPUs))
			}
			s.groups[last] = append(s.groups[last], len(s.events))
			one := Event{Event: e, Group: last, weak: g.Weak}
			one.Scale, one.Unit = s.unit(&e)
			one.Refused = e.Elsewhere(s.cpus)
			s.events = append(s.events, one)
		}
	}
	for group := range s.groups {
		s.dropRefused(group)
	}
	if s.opts.Target.OfTasks() && perfevent.KernelDenied() {
		s.leaveKernelOut()
	}
	return nil
}

// groupOfKind is the group of those that one specifies whose members are of a kind of CPU: the
// latest for the first kind, another one for each other.
func (s *Session) groupOfKind(kinds map[string]int, kind string) int {
	group, known := kinds[kind]
	if !known {
		if len(kinds) > 0 {
			s.groups = append(s.groups, nil)
		}
		group = len(s.groups) - 1
		kinds[kind] = group
	}
	return group
}

// leaveKernelOut is what perf does where that is all that this user may count; what
// names the kernel explicitly stays, and is refused.
func (s *Session) leaveKernelOut() {
	for i := range s.events {
		e := &s.events[i]
		if before := e.Name; e.UserOnly() && e.Name != before {
			s.userOnly = true
		}
	}
	if s.userOnly {
		s.notes = append(s.notes, "only user code is counted: the kernel's needs kernel.perf_event_paranoid at most 1 (sysctl kernel.perf_event_paranoid=1, as root), or CAP_PERFMON")
	}
}

// explainDenied makes of a refusal of one event one that says what all of them need.
func (s *Session) explainDenied(err error) error {
	var denied *perfevent.PermissionError
	if !errors.As(err, &denied) {
		return err
	}
	t := &s.opts.Target
	var specs []event.Spec
	for _, g := range s.opts.Groups {
		specs = append(specs, g.Specs...)
	}
	whole := denied.For(event.Requests(specs), perfevent.Extent{
		Machine:  !t.OfTasks(),
		Foreign:  t.Foreign(),
		UserOnly: s.userOnly,
	})
	whole.Counting = true
	return whole
}

// Events are what is counted, in the order asked for.
func (s *Session) Events() []Event { return slices.Clone(s.events) }

// Notes say what was not done as asked, or is other than one may think: sentences
// without a full stop.
func (s *Session) Notes() []string { return slices.Clone(s.notes) }

// Tasks are the threads that are counted, sorted; none for other targets. What they
// start counts as theirs.
func (s *Session) Tasks() []int {
	var tids []int
	for _, p := range s.places {
		if p.Task != perfevent.AllTasks {
			tids = append(tids, p.Task)
		}
	}
	slices.Sort(tids)
	return slices.Compact(tids)
}

// Enable starts the counters, but for those that a command starts by its exec.
func (s *Session) Enable() error {
	if s.opts.Target.EnableOnExec {
		return nil
	}
	for _, p := range s.places {
		if err := p.counter.enable(); err != nil {
			return err
		}
	}
	return s.eachPresence(func(_ where, c counter) error { return c.enable() })
}

// Disable stops the counters.
func (s *Session) Disable() error {
	if err := s.eachPresence(func(_ where, c counter) error { return c.disable() }); err != nil {
		return err
	}
	for _, p := range s.places {
		if err := p.counter.disable(); err != nil {
			return err
		}
	}
	return nil
}

// Reading is what one event counted in one place.
type Reading struct {
	Event int // index in Events
	Place
	perfevent.Count
}

// Read returns what all counters have counted since they were enabled, in an order
// that stays the same. A counter whose CPU has gone has what it had then.
func (s *Session) Read() ([]Reading, error) {
	var all []Reading
	times, err := s.presentTimes()
	if err != nil {
		return nil, err
	}
	for _, p := range s.places {
		members := s.groups[p.group]
		counts, err := p.counter.read()
		if err != nil && !(p.CPU != perfevent.AnyCPU && s.offline(p.CPU)) {
			return nil, err
		}
		for i, member := range members {
			r := Reading{Event: member, Place: p.Place}
			at := len(all)
			if err == nil && i < len(counts) {
				r.Count = counts[i]
			}
			if at == len(s.last) {
				s.last = append(s.last, r.Count)
			} else if r.Enabled < s.last[at].Enabled { // the kernel has given up on it
				r.Count = s.last[at]
			}
			s.last[at] = r.Count
			if on, ok := times[where{p.Task, p.CPU}]; ok {
				r.Enabled = max(on.Running, r.Running)
			}
			all = append(all, r)
		}
	}
	return all, nil
}

func (s *Session) offline(cpu int) bool {
	online, err := procfs.ReadCPUs(sysfs, procfs.CPUsOnline)
	return err == nil && !slices.Contains(online, cpu)
}

// tick is longer than clocks stand still that only go on with the timer.
const tick = 20 * time.Millisecond

// Hotplug returns the CPUs that were to be counted and went offline meanwhile, also
// those that are back: their counters have stopped for good. And those that came, and
// are not counted. It is to be called before Disable.
func (s *Session) Hotplug() (went, came []int, err error) {
	online, err := procfs.ReadCPUs(sysfs, procfs.CPUsOnline)
	if err != nil || s.opts.Target.OfTasks() {
		return nil, nil, err
	}
	for _, cpu := range s.cpus {
		stopped := !slices.Contains(online, cpu)
		if !stopped && len(s.opts.Target.Cgroups) == 0 {
			if stopped, err = s.stopped(cpu); err != nil {
				return nil, nil, err
			}
		}
		if stopped {
			went = append(went, cpu)
		}
	}
	for _, cpu := range online {
		if len(s.opts.Target.CPUs) == 0 && !slices.Contains(s.cpus, cpu) {
			came = append(came, cpu)
		}
	}
	return went, came, nil
}

// stopped reports whether the time for which the counters of a CPU are enabled does
// not go on. (That of a cgroup's only does while one of its tasks runs.)
func (s *Session) stopped(cpu int) (bool, error) {
	i := slices.IndexFunc(s.places, func(p place) bool { return p.CPU == cpu })
	if i < 0 {
		return false, nil
	}
	var first time.Duration
	for try := range 3 {
		n, err := s.places[i].counter.read()
		if err != nil || len(n) == 0 {
			return s.offline(cpu), nil
		}
		if try == 0 {
			first = n[0].Enabled
		} else if n[0].Enabled != first {
			return false, nil
		}
		if try == 1 {
			time.Sleep(tick)
		}
	}
	return true, nil
}

// Close closes the counters. A second Close does nothing.
func (s *Session) Close() error {
	errs := []error{s.closePlaces(), s.resolver.Close()}
	if s.exits != nil {
		s.exits.close()
		s.exits = nil
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close counters: %w", err)
	}
	return nil
}

func (s *Session) closePlaces() error {
	var errs []error
	for _, p := range s.places {
		errs = append(errs, p.counter.close())
	}
	for _, c := range s.presence {
		errs = append(errs, c.close())
	}
	s.places, s.presence = nil, nil
	return errors.Join(errs...)
}

// isRefusal reports whether err says that the machine cannot count an event, of the
// errors that perf stat takes for that (tools/perf/builtin-stat.c,
// stat_handle_error).
func isRefusal(err error) bool {
	return slices.ContainsFunc([]error{unix.EINVAL, unix.ENOSYS, unix.ENOENT, unix.EOPNOTSUPP, unix.ENXIO},
		func(e error) bool { return errors.Is(err, e) })
}
