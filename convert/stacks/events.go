package stacks

// DropLastColumn removes the last column of an event. Add must not be called for
// the event any more.
func (s *Set) DropLastColumn(event int) {
	e := &s.Events[event]
	e.Values = e.Values[:len(e.Values)-1]
}
