// Package cgroup finds the directories of cgroups, and says by their paths what runs in them.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mounts are where cgroups are found: version 2, the hierarchy of perf events of version 1, and
// version 2 beside version 1 (Documentation/admin-guide/cgroup-v2.rst). Where the second is, no
// event opens in the third (css_tryget_online_from_dir in kernel/cgroup/cgroup.c).
var mounts = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified"}

// places are the directories that the path of a cgroup, or a pattern, may mean: itself if it is
// absolute, then below each place where cgroups are mounted, as /proc/PID/cgroup and the labels of
// samples have it, and as perf takes it.
func places(mounts []string, path string) (all []place) {
	if filepath.IsAbs(path) {
		all = append(all, place{dir: path})
	}
	for _, m := range mounts {
		all = append(all, place{mount: m, dir: filepath.Join(m, path)})
	}
	return all
}

// place is a directory, and the mount below which it is called by a relative path, if any.
type place struct{ mount, dir string }

// is reports whether a directory is that of a cgroup: /sys/fs/cgroup itself is none where it
// has the hierarchies of version 1, nor is the root of all files.
func is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.procs"))
	return err == nil
}

// open opens the directory of a cgroup, for its events to be opened by: the first of its places
// that is one. The error is that of the first place.
func open(mounts []string, path string) (*os.File, error) {
	var first error
	for _, p := range places(mounts, path) {
		f, err := os.Open(p.dir)
		if err == nil && is(p.dir) {
			return f, nil
		}
		if err == nil {
			err = errors.Join(&os.PathError{Op: "open", Path: filepath.Join(p.dir, "cgroup.procs"), Err: os.ErrNotExist}, f.Close())
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("no cgroup %q: %w", path, first)
}

// glob returns the paths of the cgroups that a pattern of filepath.Match matches, for
// open to take, sorted: of the first of its places that has any, absolute ones or those below
// where cgroups are mounted. What is no pattern, or matches none, is itself.
func glob(mounts []string, pattern string) []string {
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}
	}
	for _, p := range places(mounts, pattern) {
		found, _ := filepath.Glob(p.dir)
		found = slices.DeleteFunc(found, func(dir string) bool { return !is(dir) })
		for i := range found {
			if p.mount != "" {
				found[i] = strings.TrimPrefix(strings.TrimPrefix(found[i], p.mount), "/")
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return []string{pattern}
}

// OpenAll opens the directories of the cgroups that patterns of filepath.Match match, which are
// absolute, or below the first place where cgroups are mounted that has any, with or without a
// slash before them: each once, and none that lies in another one of them, whose events are the
// other's as well. paths are what they are called: the pattern, or what it matches, absolute or
// below that place. That there is none is an os.ErrNotExist.
func OpenAll(patterns []string) (dirs []*os.File, paths []string, err error) {
	return openAll(mounts, patterns, lies)
}

// OpenEach is OpenAll with those that lie in another one.
func OpenEach(patterns []string) (dirs []*os.File, paths []string, err error) {
	return openAll(mounts, patterns, same)
}

func same(a, b string) bool { return a == b }

// lies reports whether the directory a is b or lies in it.
func lies(a, b string) bool {
	return a == b || strings.HasPrefix(a, strings.TrimSuffix(b, "/")+"/")
}

// openAll leaves out what is in another one by in, and of those which are in one another all but
// the first.
func openAll(mounts, patterns []string, in func(a, b string) bool) (dirs []*os.File, paths []string, err error) {
	defer func() {
		if err != nil {
			for _, d := range dirs {
				err = errors.Join(err, d.Close())
			}
			dirs, paths = nil, nil
		}
	}()
	for _, pattern := range patterns {
		for _, path := range glob(mounts, pattern) {
			d, err := open(mounts, path)
			if err != nil {
				return dirs, nil, err
			}
			dirs, paths = append(dirs, d), append(paths, path)
		}
	}
	within := func(d, other *os.File) bool { return in(filepath.Clean(d.Name()), filepath.Clean(other.Name())) }
	var kept []*os.File
	var called []string
	for i, d := range dirs {
		if slices.ContainsFunc(dirs[:i], func(o *os.File) bool { return within(d, o) }) ||
			slices.ContainsFunc(dirs[i+1:], func(o *os.File) bool { return within(d, o) && !within(o, d) }) {
			err = errors.Join(err, d.Close())
			continue
		}
		kept, called = append(kept, d), append(called, paths[i])
	}
	return kept, called, err
}
