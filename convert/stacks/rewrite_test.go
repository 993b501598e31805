package stacks

import (
	"slices"
	"testing"
)

// TestRewrite changes some of many stacks in place. Each is then found under what it
// has become, and no other.
func TestRewrite(t *testing.T) {
	s := New()
	const n = 2000
	for i := range uint32(n) {
		s.Intern([]uint32{i, 1, i % 7})
	}
	s.Rewrite(func(stack []uint32) bool {
		if stack[0]%3 != 0 {
			return false
		}
		stack[1] = 2
		return true
	})
	for i := range uint32(n) {
		want := []uint32{i, 1, i % 7}
		if i%3 == 0 {
			want[1] = 2
		}
		if !slices.Equal(s.Stack(StackID(i)), want) {
			t.Fatalf("stack %d is %v, want %v", i, s.Stack(StackID(i)), want)
		}
		if id := s.Intern(want); id != StackID(i) {
			t.Fatalf("%v is stack %d, want %d", want, id, i)
		}
	}
	if id := s.Intern([]uint32{3, 1, 3}); id != n {
		t.Errorf("what stack 3 was is stack %d, want a new one", id)
	}
}
