package record

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/tracefs"
)

// takesFilter reports whether the kernel filters e's hits: tracepoints and
// what is made of them.
func takesFilter(e *recordedEvent) bool {
	return e.Attr.Type == abi.TypeTracepoint || e.Source.Kind == event.KindProbe
}

// planFilters decides what each event is filtered by: the user's expression,
// and, where everything is recorded, that it is not us. The kernel has its say
// in setFilter.
func (s *Session) planFilters() error {
	var without []string
	takers := 0
	for _, e := range s.events {
		if !takesFilter(e) {
			e.filtered = true
			without = append(without, e.Name)
			continue
		}
		takers++
		e.asked = joinFilters(s.opts.Filter, e.Source.Filter)
		if e.Source.Trigger != event.NoTrigger {
			e.asked = e.Source.Filter
		}
		e.filter = e.asked
		if isFunctionTrace(e) {
			// The kernel takes no filter but of ip there.
			e.leaveOut = !s.opts.Target.OfTasks()
			continue
		}
		if !s.opts.Target.OfTasks() && !s.opts.Switches && !s.opts.Self {
			e.filter = joinFilters(e.asked, selfFilter())
		}
	}
	if s.opts.Filter != "" && takers == 0 {
		return fmt.Errorf("filter %q: only tracepoints and probes take one, not %s: %w",
			s.opts.Filter, strings.Join(without, ", "), os.ErrInvalid)
	}
	if s.opts.Filter != "" && len(without) > 0 {
		s.note("the filter does not apply to %s", strings.Join(without, ", "))
	}
	if takers > 0 && !s.opts.Target.OfTasks() && !s.opts.Switches && !s.opts.Self {
		s.selfName = selfName()
		return nameThreads(s.selfName)
	}
	return nil
}

// setFilter sets e's filter on a counter. On the first one it finds out what
// the kernel takes: a bad expression of the user's becomes the kernel's own
// message; an event that does not know COMM, such as ftrace:function, is
// recorded with our own hits, and a note.
func (s *Session) setFilter(e *recordedEvent, c *perfevent.Counter) error {
	if e.filter == "" {
		return nil
	}
	err := c.SetFilter(e.filter)
	if err == nil {
		e.filtered = true
		return nil
	}
	if e.filtered || e.filter == e.asked {
		return s.filterError(e, err)
	}
	e.filtered, e.filter = true, e.asked
	if e.filter != "" {
		if err := c.SetFilter(e.filter); err != nil {
			return s.filterError(e, err)
		}
	}
	s.note("%s cannot be filtered by task: what kprof does itself is in it", e.Name)
	return nil
}

// filterError asks the kernel, by way of tracefs, what is wrong with a filter
// that it refused with err.
func (s *Session) filterError(e *recordedEvent, err error) error {
	if !errors.Is(err, unix.EINVAL) || e.Tracepoint == (tracefs.Event{}) {
		return err
	}
	fs, terr := s.resolver.Tracefs()
	if terr != nil {
		return err
	}
	if cerr := fs.CheckFilter(e.Tracepoint, e.asked); cerr != nil {
		return cerr
	}
	return err
}

func (s *Session) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}
