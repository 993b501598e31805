package mapping

import (
	"testing"

	"kprof/perfevent/livetest"
)

// TestDeleted: the kernel says of a file that is gone that it is, behind its path.
func TestDeleted(t *testing.T) {
	type said struct {
		path    string
		deleted bool
	}
	livetest.Table(t, func(file string) said {
		m := Mapping{File: file}
		return said{m.Path(), m.Deleted()}
	}, map[string]said{
		"/bin/sh":                    {"/bin/sh", false},
		"/bin/sh (deleted)":          {"/bin/sh", true},
		"/bin/a (deleted) (deleted)": {"/bin/a (deleted)", true},
		"/bin/sh (deleted).so":       {"/bin/sh (deleted).so", false},
		"":                           {"", false},
	})
}

// TestKindNames: each kind has a name.
func TestKindNames(t *testing.T) {
	seen := map[string]bool{}
	for k := Unknown; k <= Hypervisor; k++ {
		if k.String() == "" || seen[k.String()] {
			t.Errorf("kind %d is called %q", uint8(k), k)
		}
		seen[k.String()] = true
	}
	if got := (Hypervisor + 1).String(); got != "kind 9" {
		t.Errorf("a kind that there is not is called %q", got)
	}
}
