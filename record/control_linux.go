package record

import (
	"errors"
	"fmt"
	"os"

	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// request asks the goroutine that drains the rings to enable or disable events.
type request struct {
	name   string
	enable bool
	done   chan error // gets the answer
}

// Enable has an event sampled from now on, or with "" all but those that are triggers of that
// themselves (event.TriggerEnable); Disable ends that. They may be called by any goroutine, and
// wait for Run, which has done it when they return. They fail when it has ended or the session
// has been closed (os.ErrClosed), or there is no such event.
func (s *Session) Enable(name string) error { return s.request(name, true) }

// Disable is what Enable says.
func (s *Session) Disable(name string) error { return s.request(name, false) }

func (s *Session) request(name string, enable bool) error {
	q := request{name, enable, make(chan error, 1)}
	select {
	case s.requests <- q:
		return <-q.done
	case <-s.over:
		return fmt.Errorf("the recording has ended: %w", os.ErrClosed)
	}
}

// answer does what is asked for.
func (r *run) answer() {
	for {
		select {
		case q := <-r.s.requests:
			q.done <- r.enable(q.name, q.enable)
		default:
			return
		}
	}
}

func (r *run) enable(name string, enabled bool) error {
	found := false
	for _, e := range r.s.events {
		if name != "" && e.Name != name && e.Name != name+abi.CopiesSuffix { // and its twin
			continue
		}
		found = true
		if e.disabled == !enabled || name == "" && e.Source.Trigger.Switches() {
			continue
		}
		if enabled && !r.started {
			r.started = true
			r.s.ledger.start()
		}
		e.disabled = !enabled
		if e.asleep {
			continue
		}
		for _, c := range e.counters {
			do := c.Enable
			if !enabled {
				do = c.Disable
			}
			if err := do(); err != nil && !errors.Is(err, os.ErrClosed) {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("no event %q is recorded: %w", name, os.ErrNotExist)
	}
	return nil
}

// pull does what the last of the triggers of that says, by the time at which it was sampled: of
// what happened between two rounds, or is still in the ring of another CPU, the end counts.
func (r *run) pull() error {
	last := -1
	for i, e := range r.s.events {
		if e.Source.Trigger.Switches() && r.tally.latest[i] > r.pulled {
			r.pulled, last = r.tally.latest[i], i
		}
	}
	if last < 0 {
		return nil
	}
	return r.enable("", r.s.events[last].Source.Trigger == event.TriggerEnable)
}

// enableTriggers enables those that wait for something to enable the others.
func (r *run) enableTriggers() error {
	for _, e := range r.s.events {
		if e.Source.Trigger.Switches() {
			if err := enable(e.counters); err != nil {
				return err
			}
		}
	}
	return nil
}
