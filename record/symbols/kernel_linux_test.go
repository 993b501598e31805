package symbols

import (
	"strings"
	"testing"
)

// TestParse: the same table again as long as nothing has changed, where somebody says so.
func TestParse(t *testing.T) {
	const text = "1000 T a\n2000 T b\n"
	k := &Kernel{}
	first, err := k.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := k.Parse(strings.NewReader(text)); again == first {
		t.Error("nobody would have said that it changed")
	}
	k.Follow()
	last, _ := k.Parse(strings.NewReader(text))
	for i, change := range []func(){k.Changed, func() { k.history.readings++ }} {
		if again, err := k.Parse(strings.NewReader("3000 T c\n")); again != last || err != nil {
			t.Errorf("%d: it has not changed, and is read again: %v", i, err)
		}
		change()
		next, err := k.Parse(strings.NewReader(text))
		if next == last || err != nil {
			t.Errorf("%d: it has changed, and is not read again: %v", i, err)
		}
		last = next
	}
	k.Changed()
	if table, err := k.Parse(strings.NewReader("nothing")); table != nil || err == nil {
		t.Errorf("%v, %v", table, err)
	}
	if table, err := k.Parse(strings.NewReader(text)); table == nil || err != nil {
		t.Errorf("after a failure: %v", err)
	}
}
