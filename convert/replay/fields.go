package replay

import (
	"math"
	"slices"

	"kprof/convert/payload"
	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/perfevent/format"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
)

// fields evaluates what Options ask of the fields of events.
type fields struct {
	opts   *Options
	open   func() (*payload.Formats, error) // when the first of them is needed
	arch   func() string                    // of the recording, as uname -m or Go calls it
	where  *payload.Bound
	value  *payload.Bound
	events []eventFields // by index
	x      expr.Sample
	labels fieldLabels
	all    *payload.Formats // once open was called
	comm   bool             // the name of the task is needed
	err    error            // the first of an expression or a format that cannot be read
}

// eventFields is what is evaluated of an event's samples, and what came of it.
type eventFields struct {
	ready        bool
	where, value *expr.Program // nil where there is none
	left         int64         // how much more the sum of the values may become, whatever their signs

	unmatched uint64 // samples for which Where has no value
	valueless uint64 // samples that Value has none of
	saturated uint64 // values that were cut
}

// asked reports whether anything is asked of fields, and selects whether that leaves
// samples out.
func (f *fields) asked() bool   { return f.selects() || len(f.labels.keys) > 0 }
func (f *fields) selects() bool { return f.opts.Where != nil || f.opts.Value != nil }

// start finds the formats, once.
func (f *fields) start() {
	if f.open == nil || !f.asked() {
		return
	}
	formats, err := f.open()
	f.open = nil
	if formats == nil {
		formats = payload.New(nil)
	}
	if formats.Arch == "" && f.arch != nil {
		formats.Arch = f.arch()
	}
	f.all = formats
	f.fail(err)
	for _, b := range []struct {
		expr *expr.Expr
		to   **payload.Bound
	}{{f.opts.Where, &f.where}, {f.opts.Value, &f.value}} {
		if b.expr != nil {
			*b.to = formats.Bind(b.expr)
			f.comm = f.comm || slices.Contains(b.expr.Names(), "comm")
		}
	}
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// check returns an error where an expression cannot be evaluated, or names what none of
// the events has.
func (f *fields) check(events []*perfdata.Event) error {
	f.start()
	for _, b := range []*payload.Bound{f.where, f.value} {
		if b != nil && f.err == nil {
			f.fail(b.Check(events))
		}
	}
	if len(f.labels.keys) > 0 && f.err == nil {
		f.fail(f.labels.check(events, f.all))
	}
	return f.err
}

// of returns what is evaluated of an event.
func (f *fields) of(e *perfdata.Event) *eventFields {
	if e.Index < len(f.events) && f.events[e.Index].ready {
		return &f.events[e.Index]
	}
	f.start()
	for len(f.events) <= e.Index {
		f.events = append(f.events, eventFields{})
	}
	ev := &f.events[e.Index]
	ev.ready, ev.left = true, math.MaxInt64
	bind := func(b *payload.Bound) *expr.Program {
		if b == nil {
			return nil
		}
		p, err := b.Of(e)
		f.fail(err)
		return p
	}
	ev.where, ev.value = bind(f.where), bind(f.value)
	return ev
}

// load makes x the sample.
func (f *fields) load(r *rows, s *samples.Sample) {
	payload.Fill(&f.x, &s.Sample, &s.Event.Attr)
	if f.comm {
		f.x.Comm = r.tl.Comm(s.State.Name, s.TID)
	}
}

// matches evaluates Options.Where on a sample.
func (f *fields) matches(r *rows, s *samples.Sample) expr.Result {
	if f.opts.Where == nil {
		return expr.Yes
	}
	p := f.of(s.Event).where
	if p == nil {
		return expr.No
	}
	f.load(r, s)
	return p.Match(&f.x)
}

// valueOf evaluates Options.Value on a sample. It is false where the sample has none, as
// one of another event's that carries a counter of this.
func (f *fields) valueOf(r *rows, s *samples.Sample, c samples.Count) (int64, bool) {
	ev := f.of(c.Event)
	if ev.value == nil || c.Event != s.Event {
		ev.valueless++
		return 0, false
	}
	f.load(r, s)
	v, ok := ev.value.Value(&f.x)
	if !ok {
		ev.valueless++
		return 0, false
	}
	n, cut := v.Int64()
	if n, cut = ev.bound(n, cut); cut {
		ev.saturated++
	}
	return n, true
}

// labelsOf returns the number of the list of labels that a sample's fields make, for
// what it counts; a new list goes with the batch.
func (f *fields) labelsOf(r *rows, s *samples.Sample, c samples.Count) uint32 {
	if len(f.labels.keys) == 0 || c.Event != s.Event {
		return noList
	}
	f.start()
	fields := f.labels.of(s.Event, f.all)
	if slices.ContainsFunc(fields, func(l labelField) bool { return l.own != nil }) {
		payload.Fill(&f.x, &s.Sample, &s.Event.Attr)
	} else {
		f.x.Raw = s.Raw
	}
	id, list := f.labels.listOf(fields, &f.x)
	if list != nil {
		r.batch.lists = append(r.batch.lists, list)
	}
	return id
}

// bound cuts a value where sums of it and of those before might not be an int64.
func (ev *eventFields) bound(n int64, cut bool) (int64, bool) {
	if n == math.MinInt64 {
		n, cut = -math.MaxInt64, true
	}
	if n > ev.left {
		n, cut = ev.left, true
	} else if n < -ev.left {
		n, cut = -ev.left, true
	}
	ev.left -= max(n, -n)
	return n, cut
}

// missing returns the names in an expression that an event lacks.
func (f *fields) missing(i int) (where, value []string) {
	if i >= len(f.events) {
		return nil, nil
	}
	if p := f.events[i].where; p != nil {
		where = p.Missing()
	}
	if p := f.events[i].value; p != nil {
		value = p.Missing()
	}
	return where, value
}

// valueType is what the values of an event are and their unit.
func (f *fields) valueType(e *perfdata.Event) stacks.ValueType {
	return stacks.ValueType{Type: f.opts.Value.String(), Unit: f.unit(e)}
}

func (f *fields) unit(e *perfdata.Event) string {
	if f.opts.Unit != "" {
		return f.opts.Unit
	}
	p := f.of(e).value
	if p == nil {
		return "count"
	}
	of, _ := f.value.Format(e)
	unit := p.Unit(func(field *format.Field) string { return format.Unit(of.System+":"+of.Name, field.Name) })
	if unit == "" {
		return "count"
	}
	return unit
}
