package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFind: names are looked for below each mount in turn, files are no cgroups, and
// absolute paths stay so.
func TestFind(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	for _, dir := range []string{first, second + "/a.slice/x", second + "/b.slice", second + "/b.slice/x"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(second+"/c.slice", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	mounts := []string{first, second}
	for pattern, want := range map[string][]string{
		"a.slice":           {"a.slice"},
		"*.slice":           {"a.slice", "b.slice"},
		"?.slice/x":         {"a.slice/x", "b.slice/x"},
		"none*":             {"none*"},
		second + "/*.slice": {second + "/a.slice", second + "/b.slice"},
	} {
		if got := glob(mounts, pattern); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	for path, want := range map[string]string{"b.slice/x": second + "/b.slice/x", first: first, ".": first} {
		f, err := open(mounts, path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() != want {
			t.Errorf("%s opens %s, want %s", path, f.Name(), want)
		}
		f.Close()
	}
	_, err := open(mounts, "none")
	var path *os.PathError
	if !errors.Is(err, os.ErrNotExist) || !errors.As(err, &path) || path.Path != first+"/none" {
		t.Errorf("none: %v", err)
	}
}
