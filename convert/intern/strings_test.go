package intern

import (
	"slices"
	"testing"
)

func TestStrings(t *testing.T) {
	var s Strings
	for i, c := range []struct {
		text string
		want uint32
	}{{"b", 0}, {"", 1}, {"a", 2}, {"b", 0}, {"a", 2}, {"", 1}, {"c", 3}} {
		if id := s.ID(c.text); id != c.want {
			t.Errorf("%d: %q is %d, want %d", i, c.text, id, c.want)
		}
	}
	if want := []string{"b", "", "a", "c"}; !slices.Equal(s.All, want) {
		t.Errorf("%q, want %q", s.All, want)
	}
}
