package stacks

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// mergedEvent is an event of a sum. An event that was recorded alone and one of several
// have their columns named differently, and where every period was 1 there is no column
// of periods. So the columns of the sum have names of their own until the end.
type mergedEvent struct {
	name    string
	columns []ValueType // as bare has them
	raw     []ValueType // as the first Set has them
	derived bool        // the name was made of the last column: see derivedName
	alike   bool        // the last column was the number of samples in all Sets
	unknown bool        // Event.UnknownPeriods, in one of them
	sums    []uint64    // without signs
}

// bare returns the columns of an event by names that do not depend on whether it is alone:
// "samples", and "" for what it is the event of. One of samples alone gets a second one,
// which is then alike. columns are those of e that they are, nil for the same.
func bare(e *Event) (bare []ValueType, columns []int, alike bool) {
	bare = slices.Clone(e.Values)
	for i := range bare {
		t := &bare[i].Type
		switch rest, own := strings.CutPrefix(*t, e.Name+"."); {
		case *t == e.Name, i > 0 && *t == "cpu" && bare[i].Unit == "nanoseconds":
			*t = ""
		case own:
			*t = rest
		}
	}
	// A profile of folded stacks or of another tool may be called by that column.
	if count := (ValueType{"samples", "count"}); len(bare) == 1 && (bare[0] == count || e.Values[0] == count) {
		return []ValueType{count, {Unit: "count"}}, []int{0, 0}, true
	}
	return bare, nil, false
}

// derivedName reports whether an event is called by its last column, as that of a pprof
// profile is, which does not keep the name.
func derivedName(e *Event) bool {
	return len(e.Values) > 0 && e.Name == e.Values[len(e.Values)-1].Type
}

// find returns the event of the sum that e is, -1 for none. Of pprof profiles the same
// event may have another name.
func (m *Merger) find(e *Event, columns []ValueType, equal func(x, y []ValueType) bool) int {
	i := slices.IndexFunc(m.merged, func(o mergedEvent) bool { return o.name == e.Name && equal(o.columns, columns) })
	if i >= 0 {
		return i
	}
	derived := derivedName(e)
	return slices.IndexFunc(m.merged, func(o mergedEvent) bool {
		return (derived || o.derived) && equal(o.columns, columns) && equal(o.raw, e.Values)
	})
}

// findInUnits is find where columns have other units in the sum, and returns what becomes of the
// event: of both the finer unit. What one profile has in two units stays two.
func (a *addition) findInUnits(e *Event, columns []ValueType) (t target, found bool) {
	t.event = a.find(e, columns, sameUnits)
	if t.event < 0 || slices.ContainsFunc(a.events, func(o target) bool { return o.event == t.event }) {
		return target{}, false
	}
	for c, had := range a.merged[t.event].columns {
		by, finer := UnitRatio(columns[c].Unit, had.Unit)
		t.units, t.finer = append(t.units, by), append(t.finer, finer)
	}
	return t, true
}

// matchEvents finds or adds the event of the sum for each event of the Set, unless the
// sum of a column would be too large.
func (a *addition) matchEvents() error {
	m := a.Merger
	had := len(m.merged)
	columns := map[int]int{}
	alike := make([]bool, len(a.src.Events))
	for i := range a.src.Events {
		e := &a.src.Events[i]
		bareColumns, from, one := bare(e)
		t, found := target{event: m.find(e, bareColumns, slices.Equal)}, true
		if t.event < 0 {
			t, found = a.findInUnits(e, bareColumns)
		}
		if t.columns = from; !found {
			t.event = len(m.merged)
			m.merged = append(m.merged, mergedEvent{
				name: e.Name, columns: bareColumns, raw: e.Values, derived: derivedName(e), alike: one,
				sums: make([]uint64, len(bareColumns)),
			})
		}
		if known := &m.merged[t.event]; e.UnknownPeriods && !known.alike || known.unknown && !one {
			name := known.name
			m.merged = m.merged[:had]
			return &UnknownPeriodsError{name}
		}
		alike[i] = one
		columns[t.event] = len(bareColumns)
		a.events = append(a.events, t)
	}
	sums := a.sums(columns)
	for _, t := range a.events {
		e, add := &m.merged[t.event], sums[t.event]
		for c, sum := range e.sums {
			fit := true
			if t.finer != nil {
				sum, fit = product(sum, uint64(t.finer[c]))
			}
			if add != nil {
				sum += add[c]
			}
			if !fit || sum > math.MaxInt64 {
				err := &TooLargeSumError{e.name, e.raw[min(c, len(e.raw)-1)].Type}
				m.merged = m.merged[:had]
				return err
			}
		}
	}
	for i, t := range a.events {
		if t.finer != nil {
			m.toFiner(t, a.src.Events[i].Values)
		}
	}
	for to, add := range sums {
		for c, v := range add {
			m.merged[to].sums[c] += v
		}
	}
	for i, t := range a.events {
		e := &m.merged[t.event]
		e.alike = e.alike && alike[i]
		e.unknown = e.unknown || a.src.Events[i].UnknownPeriods
		if t.event == len(m.set.Events) {
			m.set.AddEvent(Event{Name: e.name, Values: e.columns, Instants: a.src.Events[i].Instants})
		}
		d := &m.set.Events[t.event]
		d.Instants = d.Instants && a.src.Events[i].Instants
		d.UnknownPeriods = e.unknown
		if e.derived && !derivedName(&a.src.Events[i]) { // somebody knows its name
			e.name, e.derived = a.src.Events[i].Name, false
			e.raw = a.src.Events[i].Values
			d.Name = e.name
		}
	}
	return nil
}

// nameApart is what tells the event from those before it, whose names are there: its name, with
// what it is counted in where another one has that. A pprof profile with two columns of a name is
// not read by go tool pprof.
func (e *mergedEvent) nameApart(names map[string]bool) string {
	name := e.name
	if n := len(e.columns); names[name] && n > 0 && e.columns[n-1].Unit != "" {
		name += "." + e.columns[n-1].Unit
	}
	for i, one := 2, name; names[name]; i++ {
		name = fmt.Sprint(one, ".", i)
	}
	names[name] = true
	return name
}

// toFiner gives an event of the sum the units of columns that are added to it, where those are
// finer.
func (m *Merger) toFiner(t target, columns []ValueType) {
	e := &m.merged[t.event]
	e.columns, e.raw = slices.Clone(e.columns), slices.Clone(e.raw)
	for c, by := range t.finer {
		e.sums[c] *= uint64(by)
		if by != 1 { // so that neither has a column that the other has not
			e.columns[c].Unit, e.raw[c].Unit = columns[c].Unit, columns[c].Unit
		}
	}
	m.set.multiplyColumns(t.event, t.finer)
	m.rest.of(t.event).multiply(t.finer)
}

// nameColumns gives the columns of the sum the names that outputs show: those of an event
// alone, or of one of several.
func (m *Merger) nameColumns() {
	several := len(m.merged) > 1
	if several {
		m.set.DefaultType = "" // a column's name, which may be another now
	}
	names := map[string]bool{}
	for i := range m.merged {
		e, d := &m.merged[i], &m.set.Events[i]
		d.Name = e.nameApart(names)
		if e.alike && len(d.Values) == 2 {
			m.set.DropLastColumn(i)
		}
		e.alike = false
		d.Values = slices.Clone(d.Values)
		for c := range d.Values {
			v := &d.Values[c]
			*v = e.columns[c]
			switch {
			case v.Type == "" && !several && c < len(e.raw):
				v.Type = strings.TrimPrefix(e.raw[c].Type, e.name+".")
			case v.Type == "":
				v.Type = d.Name
			case several:
				v.Type = d.Name + "." + v.Type
			}
		}
	}
}
