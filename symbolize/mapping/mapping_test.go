package mapping

import "testing"

// TestDeleted: the kernel says of a file that is gone that it is, behind its path.
func TestDeleted(t *testing.T) {
	for _, c := range []struct {
		file, path string
		deleted    bool
	}{
		{"/bin/sh", "/bin/sh", false},
		{"/bin/sh (deleted)", "/bin/sh", true},
		{"/bin/a (deleted) (deleted)", "/bin/a (deleted)", true},
		{"/bin/sh (deleted).so", "/bin/sh (deleted).so", false},
		{"", "", false},
	} {
		m := Mapping{File: c.file}
		if m.Path() != c.path || m.Deleted() != c.deleted {
			t.Errorf("%q: path %q, deleted %v", c.file, m.Path(), m.Deleted())
		}
	}
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
