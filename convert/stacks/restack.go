package stacks

import "slices"

// Restack gives each row the stack that to makes of its own, leaf first, or drops it where to
// returns false. The slice that to returns is copied; it has MaxDepth locations at most. Rows get
// other numbers and stacks too, of which only those that rows have stay.
func (s *Set) Restack(to func(stack []uint32) ([]uint32, bool)) {
	s.regroup(func(_ uint32, stack []uint32) ([]uint32, bool) { return to(stack) }, nil)
}

// regroup is Restack where to gets the number of the stack too, and rows get the labels that are
// at the number of theirs, unless labels is nil.
func (s *Set) regroup(to func(id uint32, stack []uint32) ([]uint32, bool), labels []LabelsID) {
	old, rows := s.chains, s.rows
	s.chains, s.rows = chainTable{}, rowTable{}
	s.chains.init()
	s.rows.init()
	const unknown, dropped = droppedRow - 1, droppedRow
	stack := slices.Repeat([]uint32{unknown}, len(old.pos)) // new ones by old
	row := make([]uint32, rows.n)
	for i := range row {
		r := rows.at(i)
		id := &stack[r.stack]
		if *id == unknown {
			*id = dropped
			if locs, keep := to(r.stack, old.at(r.stack)); keep {
				*id = s.chains.intern(locs)
			}
		}
		if row[i] = dropped; *id != dropped {
			values := rows.valuesAt(r.value, len(s.Events[r.event].Values))
			l := r.labels
			if labels != nil {
				l = uint32(labels[l])
			}
			row[i] = s.rows.add(r.event, *id, l, values, s.chains.mark(*id))
		}
	}
	s.moveTimes(row)
}
