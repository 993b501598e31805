package tracefs

import (
	"errors"
	"path"
	"testing"
)

func TestMatchName(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"clock", "cpu-clock", true},
		{"clock", "cycles", false},
		{"", "anything", true},
		{"sched:*", "sched:sched_switch", true},
		{"sched:*", "xsched:sched_switch", false},
		{"*/event=*", "cpu/event=0x3c/", true}, // a slash is no border
		{"sched:sched_[sw]*", "sched:sched_wakeup", true},
		{"?", "ab", false},
		{`a\*`, "a*", true},
		{`a\*`, "ab", false},
	} {
		match, err := MatchName(c.glob)
		if err != nil {
			t.Errorf("%q: %v", c.glob, err)
			continue
		}
		if match(c.name) != c.want {
			t.Errorf("%q matches %q: %v", c.glob, c.name, !c.want)
		}
	}
	if _, err := MatchName("a["); !errors.Is(err, path.ErrBadPattern) {
		t.Errorf("a[: %v", err)
	}
}
