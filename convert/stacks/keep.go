package stacks

import "slices"

// Keep drops the rows of other events, unless event is -1, and those whose labels
// are not wanted, with their moments. Rows get other numbers; stacks, locations
// and functions stay, even if no row has them any more.
func (s *Set) Keep(event int, want func(LabelsID) bool) {
	old := s.rows
	s.rows = rowTable{}
	s.rows.init()
	for id := range s.NumStacks() {
		*s.chains.mark(uint32(id)) = 0
	}
	const dropped = ^uint32(0)
	row := make([]uint32, old.n)
	for i := range row {
		r := old.at(i)
		if event >= 0 && int(r.event) != event || !want(LabelsID(r.labels)) {
			row[i] = dropped
			continue
		}
		values := old.valuesAt(r.value, len(s.Events[r.event].Values))
		to := r.event
		if event >= 0 {
			to = 0
		}
		row[i] = s.rows.add(to, r.stack, r.labels, values, s.chains.mark(r.stack))
	}
	if event >= 0 {
		s.Events = s.Events[event : event+1 : event+1]
	}
	s.Moments = slices.DeleteFunc(s.Moments, func(m Moment) bool { return row[m.Sample] == dropped })
	for i := range s.Moments {
		s.Moments[i].Sample = row[s.Moments[i].Sample]
	}
}
