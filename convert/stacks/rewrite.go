package stacks

import "kprof/convert/intern"

// Rewrite calls f with each stack, leaf first. f may put other locations in the place
// of a stack's, and returns whether it did. Stacks that differed still have to.
func (s *Set) Rewrite(f func(stack []uint32) bool) {
	changed := false
	for id := range s.chains.pos {
		if f(s.chains.at(uint32(id))) {
			changed = true
		}
	}
	if changed {
		s.chains.rehash()
	}
}

// rehash finds the slots of all chains again.
func (t *chainTable) rehash() {
	t.index.Clear()
	for id := range t.pos {
		t.index.Add(intern.Words(t.seed, t.at(uint32(id))), uint32(id))
	}
}
