package span

// Span is the time between two events.
type Span struct {
	Rule             uint32
	Task, CPU        int32  // where it began
	Row, Owner       uint32 // of the Point that began it
	EndRow, EndOwner uint32 // of the one that ended it
	Start            uint64 // ns
	Time             uint64 // ns that it took, or that had passed at the end of the recording
	Value            int64
	Outcome          Outcome
}

// Outcome is what became of a span.
type Outcome uint8

const (
	Ended     Outcome = iota
	StillOpen         // at the end of the recording
	Lost              // its end may be among records that are missing
	Unended           // its end was not seen: another began in its place, or around it one ended
	Early             // it began before all rings had, see Late
)

// Stats counts, of one rule, the spans by what became of them, and the ends that are none's.
type Stats struct {
	Ended, Open, Lost, Early, Unended uint64 // of those that are taken

	Unbegun uint64 // ends whose start was not seen, nor may be lost: it was before the recording, as a rule
	Refused uint64 // spans that are not taken
}

// Rules say how a Pairs is to pair.
type Rules struct {
	Nested bool // spans of one key lie within each other; else a start replaces the one before
}

// Pairs pairs events by keys. Points come in the order of time; all but Begin, End, Leave, Release,
// Allocate, Allocated, Free, LostFrom and LostTo are ignored. Memory is that of the open spans.
type Pairs struct {
	Stats []Stats // by rule

	emit  func(*Span)
	rules []Rules
	late  Late
	open  open[Key, begun]
	last  uint64
	span  Span
	calls allocations
}

// begun is an open span.
type begun struct {
	row, owner   uint32
	task, cpu    int32
	check, place uint64
	value        int64
	match        Match
}

// NewPairs returns a Pairs of these rules that calls emit with each span that is taken,
// whatever its Outcome, valid until it returns.
func NewPairs(rules []Rules, emit func(*Span)) *Pairs {
	return &Pairs{Stats: make([]Stats, len(rules)), emit: emit, rules: rules, open: newOpen[Key, begun]()}
}

// Begin says that rings begin late. To be called before the first Take.
func (x *Pairs) Begin(l Late) { x.late, x.open.late = l, true }

// hides is Late.hides of a span that ends on a CPU; of one of a CPU all is known since it began.
func (x *Pairs) hides(b *item[Key, begun], ended int32) bool {
	return b.key.CPU < 0 && x.late.hides(b.key.Task, b.since, b.value.cpu, ended)
}

// Take takes the next point. Its rule must be one of those that Pairs was made of.
func (x *Pairs) Take(p *Point) {
	x.last = max(x.last, p.Time)
	switch p.Kind {
	case LostFrom, LostTo:
		x.calls.lose()
		x.open.lose(p.CPU, p.Kind == LostFrom)
	case Begin, Leave:
		x.begin(p)
	case End:
		x.end(p)
	case Allocate, Allocated, Free:
		x.calls.take(p, x.Take)
	case Release:
		if x.begins(p) {
			x.end(p)
		}
	}
}

// stackReach is how far apart two places may be for one to be known to lie below the
// other: the stacks of the kernel are no larger, interrupts have stacks of their own.
const stackReach = 16 << 10

// maxDepth is among how many calls within each other that of a return is looked for. It is
// the latest, but for those whose return was missed.
const maxDepth = 256

// begin takes up a span. Of its key those are over whose place on the stack is now
// another's, and all if they cannot lie within each other.
func (x *Pairs) begin(p *Point) {
	nested := x.rules[p.Key.Rule].Nested && p.Kind == Begin
	for top := x.open.top(p.Key); top != nil; top = x.open.top(p.Key) {
		if place := top.value.place; nested && (place == 0 || p.Place == 0 || place > p.Place || p.Place-place > stackReach) {
			break
		}
		x.giveUp(p.Time)(x.open.pop(p.Key))
	}
	if p.Kind == Begin {
		x.open.push(p.Key, p.Time, p.Key.CPU, begun{p.Row, p.Owner, p.Task, p.CPU, p.Check, p.Place, p.Value, p.Match})
	}
}

// giveUp returns what counts a span whose end was not seen up to now.
func (x *Pairs) giveUp(now uint64) func(item[Key, begun]) {
	return func(b item[Key, begun]) {
		outcome := Unended
		switch {
		case x.hides(&b, unended):
			outcome = Early
		case !x.open.sure(&b):
			outcome = Lost
		}
		x.finish(&b, nil, max(now, b.since), outcome)
	}
}

// end ends the span that an end belongs to: the latest of its key, but with places the one
// at the same place. A call leaves the stack as it was, or without the address to return to
// that the caller put there.
func (x *Pairs) end(p *Point) {
	if !x.begins(p) {
		if !x.open.lost(p.Key.CPU) {
			x.Stats[p.Key.Rule].Unbegun++
		}
		return
	}
	for {
		b := x.open.pop(p.Key)
		switch {
		case !b.value.at(p.Place):
			x.giveUp(p.Time)(b) // a return within this one was missed
			continue
		case b.value.check != p.Check && b.value.check != Unchecked && p.Check != Unchecked:
			x.giveUp(p.Time)(b)
			if !x.open.lost(p.Key.CPU) {
				x.Stats[p.Key.Rule].Unbegun++
			}
		case x.hides(&b, p.CPU):
			x.finish(&b, nil, max(p.Time, b.since), Early)
		case !x.open.sure(&b) || p.Time < b.since: // what comes too late is in no order
			x.finish(&b, nil, max(p.Time, b.since), Lost)
		default:
			x.finish(&b, p, p.Time, Ended)
		}
		return
	}
}

// begins reports whether there is a span that an end belongs to.
func (x *Pairs) begins(p *Point) bool {
	i, ok := x.open.latest[p.Key]
	if !ok {
		return false
	}
	for range maxDepth {
		if x.open.items[i].value.at(p.Place) {
			return true
		}
		if i = x.open.items[i].below; i < 0 {
			break
		}
	}
	return false
}

// at reports whether a return at a place may be that of the call.
func (b *begun) at(place uint64) bool {
	return b.place == 0 || place == 0 || place == b.place || place == b.place+8 || place == b.place+4
}

// finish counts a span, and emits it if it is taken. end is nil where there is none.
func (x *Pairs) finish(b *item[Key, begun], end *Point, now uint64, o Outcome) {
	st, v := &x.Stats[b.key.Rule], &b.value
	match := v.match
	x.span = Span{
		Rule: b.key.Rule, Task: v.task, CPU: v.cpu, Row: v.row, Owner: v.owner, EndRow: v.row, EndOwner: v.owner,
		Start: b.since, Time: now - b.since, Value: v.value, Outcome: o,
	}
	if end != nil {
		x.span.EndRow, x.span.EndOwner = end.Row, end.Owner
		switch {
		case match == MatchNo || end.Match == MatchNo:
			match = MatchNo
		case match == MatchUnknown:
			match = end.Match
		}
	}
	switch {
	case match != MatchYes:
		st.Refused++
		return
	case o == Ended:
		st.Ended++
	case o == StillOpen:
		st.Open++
	case o == Lost:
		st.Lost++
	case o == Early:
		st.Early++
	default:
		st.Unended++
	}
	x.emit(&x.span)
}

// Finish emits the spans that are still open, in no order, as of the last point.
func (x *Pairs) Finish() {
	x.open.all(func(b *item[Key, begun]) {
		o := StillOpen
		switch {
		case x.hides(b, unended):
			o = Early
		case !x.open.sure(b):
			o = Lost
		}
		x.finish(b, nil, max(x.last, b.since), o)
	})
}
