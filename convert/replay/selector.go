package replay

import (
	"kprof/convert/samples"
	"kprof/convert/timeline"
	"kprof/perfevent/perfdata"
)

// Selector says which samples Options select, for who takes them one by one.
type Selector struct {
	rows   rows // without a Set
	events *perfdata.EventSet
	opts   *Options
	naming eventNaming
	counts []EventSamples // by index of event, without names
	begun  bool
	err    error
}

// NewSelector returns the Selector of a recording with its Timeline, events and host. The
// Window of the Options is asked for when the first sample comes, which must be the
// earliest, unless From or To are there by then.
func NewSelector(tl *timeline.Timeline, events *perfdata.EventSet, host *perfdata.Host, opts *Options) *Selector {
	return &Selector{rows: rows{tl: tl, opts: opts}, events: events, opts: opts, naming: eventNaming{host: host}}
}

// Takes reports whether a sample is to be taken, as one of an event. An error is that of
// the Window.
func (s *Selector) Takes(x *samples.Sample, e *perfdata.Event) (bool, error) {
	if !s.begun {
		s.begun = true
		if s.opts.Window != nil && s.opts.From == 0 && s.opts.To == 0 {
			s.opts.From, s.opts.To, s.err = s.opts.Window(x.When(), 0)
		}
	}
	for len(s.counts) <= e.Index {
		s.counts = append(s.counts, EventSamples{})
	}
	n := &s.counts[e.Index]
	n.Samples++
	switch {
	case !s.Chosen(e):
		return false, s.err
	case s.opts.selects() && !s.rows.selected(x):
		s.rows.census.add(&s.rows, x)
		return false, s.err
	}
	n.Taken++
	s.rows.census.over = true
	return true, s.err
}

// Chosen reports whether an event is one to take.
func (s *Selector) Chosen(e *perfdata.Event) bool {
	return len(s.opts.Events) == 0 || s.naming.takes(s.events.Events, s.opts.Events, e.Index)
}

// Samples are the samples of each event. An error says that a pattern of Options.Events
// is of no event, as stacks.Choose does.
func (s *Selector) Samples() ([]EventSamples, error) {
	s.naming.update(s.events.Events, s.opts.Events)
	var all []EventSamples
	for i := range s.events.Events {
		es := EventSamples{Name: s.naming.names[i].Name, Shown: s.naming.shown(i)}
		if i < len(s.counts) {
			es.Samples, es.Taken = s.counts[i].Samples, s.counts[i].Taken
		}
		all = append(all, es)
	}
	return all, s.naming.err
}

// LeftOut says what there is where no sample was taken; else nil.
func (s *Selector) LeftOut() *LeftOut { return s.rows.census.result(s.opts) }
