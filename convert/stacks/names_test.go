package stacks

import "testing"

// TestNamesOfTheUnnamed tells what kind of code is at places that nothing maps.
func TestNamesOfTheUnnamed(t *testing.T) {
	for kind, want := range map[Kind]string{
		KindUnknown: "[unknown]", KindKernel: "[unknown]", KindGuest: "[guest]", KindHypervisor: "[hypervisor]",
	} {
		s := New()
		loc := s.AddLocation(NoMapping, 0x10, kind)
		n := s.Names()
		if got := n.Names[n.Of(loc)[0]]; got != want {
			t.Errorf("kind %d is called %q, want %q", kind, got, want)
		}
	}
}
