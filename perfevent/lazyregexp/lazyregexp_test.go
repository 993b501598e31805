package lazyregexp

import "testing"

func TestNew(t *testing.T) {
	word := New(`^\w+$`)
	if re := word(); !re.MatchString("word") || re.MatchString("two words") || word() != re {
		t.Errorf("%v, then %v; want the same expression twice", re, word())
	}
	bad := New(`(`) // not compiled yet
	defer func() {
		if recover() == nil {
			t.Error("an expression that cannot be compiled does not panic")
		}
	}()
	bad()
}
