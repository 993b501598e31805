package count

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/elastic/go-perf"
	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// counter is an event, or a group of them, opened in one place.
type counter interface {
	enable() error
	disable() error
	read() ([]perfevent.Count, error) // of each member
	close() error
}

// libraryFlags are the attribute bits that the library can set, of those that do
// not concern sampling. Its precise_ip is right for 0 and 1 only.
const libraryFlags = abi.FlagDisabled | abi.FlagInherit | abi.FlagPinned | abi.FlagExclusive |
	abi.FlagExcludeUser | abi.FlagExcludeKernel | abi.FlagExcludeHV | abi.FlagExcludeIdle |
	abi.FlagEnableOnExec | abi.FlagExcludeHost | abi.FlagExcludeGuest |
	abi.FlagExcludeCallchainKernel | abi.FlagExcludeCallchainUser

// libraryAttr returns e's attribute as the library has it, if that can express it.
func libraryAttr(e *event.Event) (*perf.Attr, bool) {
	a := &e.Attr
	flags := a.Flags.WithPrecise(0)
	const read = abi.ReadTotalTimeEnabled | abi.ReadTotalTimeRunning | abi.ReadGroup
	if flags&^libraryFlags != 0 || a.Flags.Precise() > 1 || a.SampleType != 0 || a.SamplePeriod != 0 ||
		a.ReadFormat&^read != 0 || a.Config3 != 0 || a.Config4 != 0 || e.Target != "" {
		return nil, false
	}
	has := func(f abi.Flags) bool { return flags&f != 0 }
	return &perf.Attr{
		Label:          e.Name,
		Type:           perf.EventType(a.Type),
		Config:         a.Config,
		Config1:        a.Config1,
		Config2:        a.Config2,
		BreakpointType: a.BPType,
		CountFormat: perf.CountFormat{
			Enabled: a.ReadFormat&abi.ReadTotalTimeEnabled != 0,
			Running: a.ReadFormat&abi.ReadTotalTimeRunning != 0,
			Group:   a.ReadFormat&abi.ReadGroup != 0,
		},
		Options: perf.Options{
			Disabled:               has(abi.FlagDisabled),
			Inherit:                has(abi.FlagInherit),
			Pinned:                 has(abi.FlagPinned),
			Exclusive:              has(abi.FlagExclusive),
			ExcludeUser:            has(abi.FlagExcludeUser),
			ExcludeKernel:          has(abi.FlagExcludeKernel),
			ExcludeHypervisor:      has(abi.FlagExcludeHV),
			ExcludeIdle:            has(abi.FlagExcludeIdle),
			EnableOnExec:           has(abi.FlagEnableOnExec),
			ExcludeHost:            has(abi.FlagExcludeHost),
			ExcludeGuest:           has(abi.FlagExcludeGuest),
			ExcludeKernelCallchain: has(abi.FlagExcludeCallchainKernel),
			ExcludeUserCallchain:   has(abi.FlagExcludeCallchainUser),
			PreciseIP:              perf.Skid(a.Flags.Precise()),
		},
	}, true
}

// memberError is the refusal of one member of a group, by index.
type memberError struct {
	member int
	err    error
}

func (e *memberError) Error() string { return e.err.Error() }
func (e *memberError) Unwrap() error { return e.err }

// openCounter opens events, the members of one group or one event, in one place.
// The error of one that does not open is a *memberError.
func openCounter(events []event.Event, w perfevent.Where) (counter, error) {
	attrs := make([]*perf.Attr, len(events))
	library := len(events) == 1 || w.PID != perfevent.AllTasks && w.Cgroup == nil
	for i := range events {
		var ok bool
		attrs[i], ok = libraryAttr(&events[i])
		library = library && ok && (len(events) == 1 || events[i].Attr.Flags&abi.FlagPinned == 0)
	}
	if library {
		return openLibrary(events, attrs, w)
	}
	return openOwn(events, w)
}

// libraryCounter is opened by the library. The leader is the first.
type libraryCounter struct {
	events []*perf.Event
	name   string
}

func openLibrary(events []event.Event, attrs []*perf.Attr, w perfevent.Where) (counter, error) {
	c := &libraryCounter{name: fmt.Sprintf("event %s on %v", events[0].Name, w)}
	for i, a := range attrs {
		var leader *perf.Event
		if i > 0 {
			leader = c.events[0]
		}
		e, err := retryOpen(func() (*perf.Event, error) {
			if w.Cgroup != nil {
				return perf.OpenCGroup(a, int(w.Cgroup.Fd()), w.CPU, leader)
			}
			return perf.Open(a, w.PID, w.CPU, leader)
		})
		if err != nil {
			_ = c.close() // nothing was counted
			var call *os.SyscallError
			if errors.As(err, &call) { // whose name Explain gives
				err = call.Err
			}
			return nil, &memberError{i, perfevent.Explain(err, &events[i].Event, w)}
		}
		c.events = append(c.events, e)
	}
	return c, nil
}

// retryOpen opens again with a higher limit of open files, if that is what failed.
func retryOpen[C any](open func() (C, error)) (C, error) {
	for {
		c, err := open()
		if err == nil || !errors.Is(err, unix.EMFILE) || !perfevent.RaiseFileLimit() {
			return c, err
		}
	}
}

// settled reads a group, again if a task that inherited it is about to end: the kernel takes its
// members away one after the other, and does not add up what differs (__perf_read_group_add in
// kernel/events/core.c, of 6.6 and of stable kernels before).
func settled[C any](read func() (C, error)) (C, error) {
	for wait := 10 * time.Microsecond; ; wait *= 2 {
		c, err := read()
		if !errors.Is(err, unix.ECHILD) || wait > 200*time.Millisecond {
			return c, err
		}
		time.Sleep(wait)
	}
}

func (c *libraryCounter) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, c.name, err)
}

func (c *libraryCounter) enable() error  { return c.wrap("enable", c.events[0].Enable()) }
func (c *libraryCounter) disable() error { return c.wrap("disable", c.events[0].Disable()) }

func (c *libraryCounter) read() ([]perfevent.Count, error) {
	if len(c.events) == 1 {
		n, err := c.events[0].ReadCount()
		return []perfevent.Count{{Value: n.Value, Enabled: n.Enabled, Running: n.Running}}, c.wrap("read", err)
	}
	group, err := settled(c.events[0].ReadGroupCount)
	if err != nil {
		return nil, c.wrap("read", err)
	}
	counts := make([]perfevent.Count, len(group.Values))
	for i, v := range group.Values {
		counts[i] = perfevent.Count{Value: v.Value, Enabled: group.Enabled, Running: group.Running}
	}
	return counts, nil
}

// close closes the leader last: without one, the members would go on alone.
func (c *libraryCounter) close() error {
	var errs []error
	for i := len(c.events) - 1; i >= 0; i-- {
		errs = append(errs, c.wrap("close", c.events[i].Close()))
	}
	c.events = nil
	return errors.Join(errs...)
}

// ownCounter is opened by perfevent. The leader is the first.
type ownCounter []*perfevent.Counter

func openOwn(events []event.Event, w perfevent.Where) (counter, error) {
	var c ownCounter
	for i := range events {
		var leader *perfevent.Counter
		if i > 0 {
			leader = c[0]
		}
		one, err := retryOpen(func() (*perfevent.Counter, error) {
			return events[i].OpenInGroup(w, leader)
		})
		if err != nil {
			_ = c.close() // nothing was counted
			return nil, &memberError{i, err}
		}
		c = append(c, one)
	}
	return c, nil
}

func (c ownCounter) enable() error  { return c[0].Enable() }
func (c ownCounter) disable() error { return c[0].Disable() }

func (c ownCounter) read() ([]perfevent.Count, error) {
	if len(c) == 1 {
		n, err := c[0].Read()
		return []perfevent.Count{n}, err
	}
	counts, err := settled(func() ([]perfevent.Count, error) { return c[0].ReadGroup(len(c) - 1) })
	if !errors.Is(err, perfevent.ErrDisbanded) {
		return counts, err
	}
	for _, member := range c {
		one, err := member.ReadGroup(0)
		if err != nil {
			return nil, err
		}
		counts = append(counts, one...)
	}
	return counts, nil
}

func (c ownCounter) close() error {
	var errs []error
	for i := len(c) - 1; i >= 0; i-- {
		errs = append(errs, c[i].Close())
	}
	return errors.Join(errs...)
}
