package stacks

// Extend puts locations before the leaf and behind the root of the stack of each row, by
// its labels. What is beyond MaxDepth is cut from the root of the stack itself. Rows get
// other numbers; the stacks that there were stay, even if no row has them any more.
func (s *Set) Extend(by func(LabelsID) (leaf, root []uint32)) {
	old := s.rows
	s.rows = rowTable{}
	s.rows.init()
	for id := range s.NumStacks() {
		*s.chains.mark(uint32(id)) = 0
	}
	var stack []uint32
	row := make([]uint32, old.n)
	for i := range row {
		r := old.at(i)
		leaf, root := by(LabelsID(r.labels))
		own := s.Stack(StackID(r.stack))
		own = own[:max(min(len(own), MaxDepth-len(leaf)-len(root)), 0)]
		stack = append(append(append(stack[:0], leaf...), own...), root...)
		id := uint32(s.Intern(stack[:min(len(stack), MaxDepth)]))
		values := old.valuesAt(r.value, len(s.Events[r.event].Values))
		row[i] = s.rows.add(r.event, id, r.labels, values, s.chains.mark(id))
	}
	s.moveTimes(row)
}
