package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// makeCgroups makes directories with the file that each cgroup has, of either version
// (cgroup1_base_files and cgroup_base_files in kernel/cgroup).
func makeCgroups(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, filepath.Join(dir, "cgroup.procs"), "")
	}
}

// TestFind: names are looked for below each mount in turn, with or without a slash before them,
// files are no cgroups, and absolute paths stay so.
func TestFind(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	makeCgroups(t, first, second, second+"/a.slice", second+"/a.slice/x", second+"/b.slice", second+"/b.slice/x")
	livetest.WriteFile(t, second+"/c.slice", "")
	mounts := []string{first, second}
	livetest.Table(t, func(pattern string) []string { return glob(mounts, pattern) }, map[string][]string{
		"a.slice":           {"a.slice"},
		"*.slice":           {"a.slice", "b.slice"},
		"?.slice/x":         {"a.slice/x", "b.slice/x"},
		"none*":             {"none*"},
		"/?.slice":          {"a.slice", "b.slice"},
		"/none*":            {"/none*"},
		second + "/*.slice": {second + "/a.slice", second + "/b.slice"},
	})
	for path, want := range map[string]string{
		"b.slice/x": second + "/b.slice/x", first: first, ".": first,
		"/b.slice/x": second + "/b.slice/x", "/": first, second + "/a.slice": second + "/a.slice",
	} {
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

// TestFindHybrid: of a cgroup that is in both hierarchies, the one of perf events is taken.
func TestFindHybrid(t *testing.T) {
	root := t.TempDir()
	makeCgroups(t, root+"/unified", root+"/unified/docker/x", root+"/perf_event", root+"/perf_event/docker/x")
	var here []string
	for _, m := range mounts {
		here = append(here, filepath.Join(root, strings.TrimPrefix(m, "/sys/fs/cgroup")))
	}
	for path, want := range map[string]string{
		"docker/x":  "/perf_event/docker/x",
		"/docker/x": "/perf_event/docker/x", // as /proc/PID/cgroup has it
		"/":         "/perf_event",
		".":         "/perf_event", // and not the file system that the hierarchies are mounted in
	} {
		f, err := open(here, path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() != root+want {
			t.Errorf("%s opens %s, want %s", path, f.Name(), root+want)
		}
		f.Close()
	}
}

// TestOpenAll: each cgroup is opened once, and what lies in another one only where it is wanted.
func TestOpenAll(t *testing.T) {
	mount := t.TempDir()
	for _, dir := range []string{"", "a.slice", "a.slice/x", "a.slice/x/y", "a.slice/z", "a.slice2", "b.slice"} {
		makeCgroups(t, filepath.Join(mount, dir))
	}
	for _, x := range []struct {
		in                    func(a, b string) bool
		patterns, want, paths []string
	}{
		{lies, []string{"*.slice"}, []string{"a.slice", "b.slice"}, []string{"a.slice", "b.slice"}},
		{lies, []string{"a.slice/*", "b.slice"}, []string{"a.slice/x", "a.slice/z", "b.slice"}, []string{"a.slice/x", "a.slice/z", "b.slice"}},
		{lies, []string{"a.slice/x/y", "a.slice/x", "a.slice", "a.slice2", "a.slice/"}, []string{"a.slice", "a.slice2"}, []string{"a.slice", "a.slice2"}},
		{lies, []string{"b.slice", mount + "/b.slice", "."}, []string{""}, []string{"."}},
		{same, []string{"a.slice/x", "a.slice/", "a.slice", "a.slice/*", mount + "/b.slice", "b.slice"}, []string{"a.slice/x", "a.slice", "a.slice/z", "b.slice"}, []string{"a.slice/x", "a.slice/", "a.slice/z", mount + "/b.slice"}},
	} {
		dirs, paths, err := openAll([]string{mount}, x.patterns, x.in)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(paths, x.paths) {
			t.Errorf("%q: called %q, want %q", x.patterns, paths, x.paths)
		}
		var got []string
		for _, d := range dirs {
			name, _ := filepath.Rel(mount, d.Name())
			if name == "." {
				name = ""
			}
			got = append(got, name)
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%q: %q, want %q", x.patterns, got, x.want)
		}
	}
	if dirs, paths, err := openAll([]string{mount}, []string{"a.slice", "none/*"}, lies); !errors.Is(err, os.ErrNotExist) || dirs != nil || paths != nil {
		t.Errorf("%v, %q, %v", dirs, paths, err)
	}
}
