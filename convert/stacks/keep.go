package stacks

// Keep drops the rows whose labels are not wanted, with their moments. Rows get other
// numbers; stacks, locations and functions stay, even if no row has them any more.
func (s *Set) Keep(want func(LabelsID) bool) {
	s.KeepRows(func(_ int, l LabelsID) bool { return want(l) })
}

// KeepRows is Keep by the event and the labels of a row.
func (s *Set) KeepRows(want func(event int, l LabelsID) bool) {
	s.rebuild(s.Events, func(event int, l LabelsID) int {
		if !want(event, l) {
			return -1
		}
		return event
	})
}

// rebuild gives the rows other events, or drops those that to returns -1 for.
func (s *Set) rebuild(events []Event, to func(event int, l LabelsID) int) {
	old := s.rows
	s.rows = rowTable{}
	s.rows.init()
	for id := range s.NumStacks() {
		*s.chains.mark(uint32(id)) = 0
	}
	row := make([]uint32, old.n)
	for i := range row {
		r := old.at(i)
		e := to(int(r.event), LabelsID(r.labels))
		if e < 0 {
			row[i] = droppedRow
			continue
		}
		values := old.valuesAt(r.value, len(events[e].Values))
		row[i] = s.rows.add(uint32(e), r.stack, r.labels, values, s.chains.mark(r.stack))
	}
	s.Events = events
	s.moveTimes(row)
}
