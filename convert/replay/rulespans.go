package replay

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"kprof/convert/payload"
	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/spanrule"
)

// SpanLabel is the label of spans that had not ended with the recording.
const SpanLabel = "unended"

// spanValues are the columns of the event of a rule. The last is the time of the spans that
// ended; the others had not by the end of the recording.
func spanValues(name string) []stacks.ValueType {
	return []stacks.ValueType{
		{Type: "spans", Unit: "count"},
		{Type: "open", Unit: "count"},
		{Type: SpanLabel, Unit: nanoseconds},
		{Type: name, Unit: nanoseconds},
	}
}

// NoSpanEventsError says that a recording has not both a start and an end of a rule.
type NoSpanEventsError struct {
	Rule    string
	Missing []string // events, one of each family's side that is missing
	Sampled string   // an event of which not each hit is a sample; then nothing is Missing
	Whole   []string // events of the recording that Missing has without their system
}

func (e *NoSpanEventsError) Error() string {
	if e.Sampled != "" {
		return fmt.Sprintf("its samples of %s are not all of them, but each so many: the times of %s cannot be told", e.Sampled, e.Rule)
	}
	return fmt.Sprintf("it is no recording of %s, of which %s is made", strings.Join(e.Missing, ", "), e.Rule)
}

// SpanStats counts what became of the spans of a rule.
type SpanStats struct {
	Name string
	span.Stats
}

// ruleSpans makes rows of the times between two events of a rule.
type ruleSpans struct {
	x       *pairing
	rules   []*spanrule.Rule
	known   int      // events for which sides were made
	sides   [][]side // by index of event
	varying map[string]uint32
	errs    []error // by rule: why it has no spans
	err     error   // of an expression

	pageSize uint32
	slots    map[int32]slot // by thread: the latest call that puts the address there

	// Behind the batches.
	events []int // of the Set, by rule
	pairs  *span.Pairs
	labels map[spanLabels]stacks.LabelsID
}

// side is what an event is to a rule.
type side struct {
	rule    uint32
	kind    span.Kind
	varying uint32
	side    *spanrule.Side
	task    *format.Field // common_pid, nil without
	cond    *expr.Program
	keys    []*expr.Program
	check   *expr.Program
	place   *expr.Program
	value   *expr.Program // of a start of what is held
	held    bool
	unit    uint64 // bytes of one of value
	memory  spanrule.Memory
	slot    *format.Field   // of an entry: where the address goes
	stack   []*format.Field // of a return: the caller's stack
	calls   *callNames      // of a rule of system calls, else nil
}

// slot is where a call puts the address of what it gives.
type slot struct{ place, addr uint64 }

type spanLabels struct {
	labels stacks.LabelsID
	end    uint32 // number of a list of labels of the end
	open   bool
	took   took
}

func newRuleSpans(x *pairing) *ruleSpans {
	o := &ruleSpans{x: x, rules: x.r.opts.Spans, known: -1, varying: map[string]uint32{"": 0}, labels: map[spanLabels]stacks.LabelsID{}}
	var rules []span.Rules
	for _, r := range o.rules {
		e := stacks.Event{Name: r.Name, Values: spanValues(r.Name)}
		if r.Value != nil {
			e.Values = heldValues
		}
		o.events = append(o.events, x.r.set.AddEvent(e))
		rules = append(rules, span.Rules{Nested: r.Nested})
	}
	o.errs = make([]error, len(o.rules))
	o.pairs = span.NewPairs(rules, o.count)
	return o
}

// bind finds the events of the rules among those that there are by now.
func (o *ruleSpans) bind() {
	events := o.x.r.events.Events
	if o.known == len(events) {
		return
	}
	o.known = len(events)
	o.sides = make([][]side, len(events))
	formats, err := o.x.formats()
	o.fail(err)
	if formats == nil {
		formats = payload.New(nil)
	}
	o.pageSize = formats.PageSize
	for i, r := range o.rules {
		o.errs[i] = nil
		err := &NoSpanEventsError{Rule: r.Name}
		bound := false
		for f := range r.Families {
			if bound = o.bindFamily(uint32(i), &r.Families[f], formats, err); bound {
				break
			}
		}
		if !bound {
			o.errs[i] = err
		}
	}
}

func (o *ruleSpans) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

// bindFamily finds the events of a family. It is false where it lacks starts or ends, and
// then says so.
func (o *ruleSpans) bindFamily(rule uint32, f *spanrule.Family, formats *payload.Formats, why *NoSpanEventsError) bool {
	found := make([][]side, len(o.sides))
	named, any := [2]bool{}, [2]bool{}
	for end, sides := range [][]spanrule.Side{f.Starts, f.Ends} {
		for i := range sides {
			kind := []span.Kind{span.Begin, span.End}[end]
			if sides[i].Loose || sides[i].Again {
				kind = span.Release
			}
			for _, e := range o.x.r.events.Events {
				of, err := formats.Of(&e.Attr)
				o.fail(err)
				name := eventName(e, of)
				varying, ok := sides[i].Matches(name)
				if !ok && strings.HasSuffix(name, ":"+sides[i].Event) && !slices.Contains(why.Whole, name) {
					why.Whole = append(why.Whole, name)
				}
				named[end] = named[end] || ok && !sides[i].Loose
				if !ok || !hasCheck(&sides[i], of) {
					continue
				}
				if e.Attr.Flags&abi.FlagFreq != 0 || e.Attr.SamplePeriod > 1 {
					why.Sampled = e.Name
					return false
				}
				any[end] = any[end] || !sides[i].Loose
				found[e.Index] = append(found[e.Index], o.newSide(rule, kind, varying, &sides[i], e, of))
			}
		}
		if !named[end] && why.Sampled == "" && !slices.Contains(why.Missing, sides[0].Event) {
			why.Missing = append(why.Missing, sides[0].Event)
		}
	}
	if !any[0] || !any[1] {
		return false
	}
	for i := range found {
		slices.SortStableFunc(found[i], endFirst)
		o.sides[i] = append(o.sides[i], found[i]...)
	}
	return true
}

// endFirst has an event that is both end one span before it begins the next.
func endFirst(a, b side) int {
	begins := func(s *side) int {
		if s.kind == span.Begin {
			return 1
		}
		return 0
	}
	return cmp.Compare(begins(&a), begins(&b))
}

// hasCheck reports whether an event has the field by which its ends are checked: of some
// events that differs between kernels.
func hasCheck(s *spanrule.Side, of *format.Format) bool {
	return s.Check == nil || of == nil || of.Field(s.Check.String()) != nil
}

// eventName is what an event is called in rules.
func eventName(e *perfdata.Event, of *format.Format) string {
	name := payload.EventName(e.Name, of)
	name, _, _ = strings.Cut(name, " ")
	return name
}

func (o *ruleSpans) newSide(rule uint32, kind span.Kind, varying string, s *spanrule.Side, e *perfdata.Event, of *format.Format) side {
	id, ok := o.varying[varying]
	if !ok {
		id = uint32(len(o.varying))
		o.varying[varying] = id
	}
	name := payload.EventName(e.Name, of)
	compile := func(x *expr.Expr) *expr.Program {
		if x == nil {
			return nil
		}
		if of != nil && slices.Contains(payload.Own, x.String()) && of.Field(x.String()) != nil {
			x, _ = expr.Parse("field." + x.String()) // see spanrule.Side
		}
		p, err := x.Compile(name, of)
		if err == nil {
			err = x.Check([]*expr.Program{p}, ownFields(of))
		}
		o.fail(err)
		return p
	}
	b := side{rule: rule, kind: kind, varying: id, side: s}
	if of != nil {
		b.task = of.Field("common_pid")
	}
	for _, k := range s.Key {
		b.keys = append(b.keys, compile(k))
	}
	b.cond, b.check = compile(s.If), compile(s.Check)
	if r := o.rules[rule]; r.Value != nil {
		if b.held = s.Memory == spanrule.NotMemory; b.held && kind == span.Begin {
			b.value, b.unit = compile(r.Value), 1
			if r.Pages {
				b.unit = uint64(cmp.Or(o.pageSize, 4096))
			}
		}
	}
	b.memory = s.Memory
	if s.Bytes != nil {
		b.value, b.unit = compile(s.Bytes), 1
	}
	if of != nil && s.Memory != spanrule.NotMemory {
		b.slot = of.Field(spanrule.SlotField)
		for i := range spanrule.StackSlots {
			if f := of.Field(fmt.Sprint(spanrule.StackFields, i)); f != nil {
				b.stack = append(b.stack, f)
			}
		}
	}
	if s.Place != nil && of != nil && of.Field(s.Place.String()) != nil {
		b.place = compile(s.Place)
	}
	b.calls = o.callNames(o.rules[rule], s, varying)
	return b
}

func ownFields(of *format.Format) (names []string) {
	if of == nil {
		return payload.Own
	}
	for _, f := range of.Own() {
		names = append(names, f.Name)
	}
	return append(names, payload.Own...)
}

// take makes points of a sample, one for each rule that it is an event of.
func (o *ruleSpans) take(s *samples.Sample) bool {
	o.bind()
	sides := o.sides[s.Event.Index]
	if len(sides) == 0 || o.err != nil {
		return len(sides) > 0
	}
	located := false
	var at batchPoint
	for i := range sides {
		b := &sides[i]
		p, ok := o.point(b, s)
		if !ok {
			continue
		}
		begins := p.Kind == span.Begin || p.Kind == span.Allocated
		switch {
		case p.Kind == span.End || p.Kind == span.Release:
			p.Owner = o.x.r.fields.labelsOf(o.x.r, s, s.Counts[0])
		case begins && p.Match != span.MatchNo:
			if !located {
				located = true
				o.x.locate(&at, s)
			}
			p.Row, p.task = at.Row, at.task
		case begins:
			o.x.r.census.add(o.x.r, s)
		}
		o.x.add(p)
		if located && len(o.x.r.batch.points) == 0 { // it has been passed on with its stacks
			located, at = false, batchPoint{}
		}
	}
	return true
}

// point makes a point of a sample for a rule. It is false where the sample has no key.
func (o *ruleSpans) point(b *side, s *samples.Sample) (p batchPoint, ok bool) {
	r := o.x.r
	p.Point = span.Point{Time: s.Time, Kind: b.kind, CPU: s.CPU, Task: s.TID, Row: noRow, Check: span.Unchecked}
	p.Key = span.Key{Rule: b.rule, Varying: b.varying, CPU: -1}
	f := &r.fields
	f.load(r, s)
	if b.cond != nil && b.cond.Match(&f.x) != expr.Yes {
		return p, false
	}
	if b.side.Task {
		if p.Key.Task, ok = b.taskOf(s); !ok {
			return p, false
		}
		if p.Key.Task == 0 { // one on each CPU
			p.Key.CPU = s.CPU
		}
	}
	if b.side.CPU {
		p.Key.CPU = s.CPU
	}
	for i, k := range b.keys {
		v, ok := k.Value(&f.x)
		if !ok {
			return p, false
		}
		p.Key.Values[i] = v.Bits
	}
	if b.held && (p.Key.Values == [3]uint64{} || p.Key.Values[0] == math.MaxUint64) {
		return p, false // nothing: there was no memory
	}
	if b.value != nil {
		v, ok := b.value.Value(&f.x)
		if !ok {
			return p, false
		}
		p.Value = math.MaxInt64
		if over, bytes := bits.Mul64(v.Bits, b.unit); over == 0 && bytes < math.MaxInt64 {
			p.Value = int64(bytes)
		}
	}
	if b.check != nil {
		if v, ok := b.check.Value(&f.x); ok {
			p.Check = v.Bits
		}
	}
	if b.place != nil {
		if v, ok := b.place.Value(&f.x); ok {
			p.Place = v.Bits
		}
	}
	if b.memory != spanrule.NotMemory {
		o.memory(b, &p, s)
	}
	switch r.fields.matches(r, s) {
	case expr.Yes:
		p.Match = span.MatchYes
	case expr.Unknown:
		p.Match = span.MatchUnknown
	}
	if (p.Kind == span.Begin || p.Kind == span.Allocated) && r.opts.selects() && !r.selected(s) {
		p.Match = span.MatchNo
	}
	if b.calls != nil && p.Kind == span.Begin {
		switch call := b.calls.of(p.Check); {
		case spanrule.Never(call):
			p.Kind = span.Leave
		case !o.rules[b.rule].Takes(call):
			p.Match = span.MatchNo
		}
	}
	return p, true
}

// taskOf is the number of the task that a sample was taken in, as the kernel has it in its
// own namespace, where the event says so: that of a sample is -1 of a task that has ended.
func (b *side) taskOf(s *samples.Sample) (int32, bool) {
	if b.task != nil {
		v, ok := b.task.Uint(s.Raw)
		return int32(v), ok
	}
	return s.TID, s.Event.Attr.SampleType&abi.SampleTID != 0
}

// count adds a span to the Set.
func (o *ruleSpans) count(s *span.Span) {
	x := o.x
	if o.rules[s.Rule].Value != nil {
		o.countHeld(s)
		return
	}
	if s.Row == noRow || s.Outcome != span.Ended && s.Outcome != span.StillOpen {
		return
	}
	if x.leavesOut(s.Time) {
		return
	}
	key := spanLabels{labels: stacks.LabelsID(s.Owner), open: s.Outcome == span.StillOpen, took: x.r.took(s.Time)}
	if !key.open {
		key.end = s.EndOwner
	}
	id, ok := o.labels[key]
	if !ok {
		id = o.intern(key)
		o.labels[key] = id
	}
	event := o.events[s.Rule]
	values := [4]int64{1, 0, 0, int64(s.Time)}
	if key.open {
		values = [4]int64{0, 1, int64(s.Time), 0}
	} else {
		x.measure(event, id, s.Time)
	}
	n := x.r.set.Add(event, stacks.StackID(s.Row), id, values[:]...)
	if x.r.opts.Times {
		x.r.set.AddTimedSample(stacks.TimedSample{Time: s.Start, Sample: uint32(n), Value: int64(s.Time)})
	}
}

// intern makes one list of the labels of both ends of a span.
func (o *ruleSpans) intern(key spanLabels) stacks.LabelsID {
	r := o.x.r
	list := slices.Clone(r.set.Labels(key.labels))
	for _, l := range r.labels.lists[key.end] {
		if !slices.ContainsFunc(list, func(have stacks.Label) bool { return have.Key == l.Key }) {
			list = append(list, l)
		}
	}
	if key.open {
		list = append(list, stacks.Label{Key: SpanLabel, Str: "yes"})
	}
	return r.set.InternLabels(key.took.appendTo(list))
}

// check returns an error where a rule has no events.
func (o *ruleSpans) check() error {
	o.bind()
	if o.err != nil {
		return o.err
	}
	for _, err := range o.errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *ruleSpans) stats() (all []SpanStats) {
	for i, r := range o.rules {
		st := o.pairs.Stats[i]
		if r.Value != nil {
			st.Open = 0 // what is held: the answer, not what it lacks
		}
		all = append(all, SpanStats{Name: r.Name, Stats: st})
	}
	return all
}
