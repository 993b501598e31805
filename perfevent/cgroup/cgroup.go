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

// Open opens the directory of a cgroup, for its events to be opened by: an absolute
// path, or one below the first place where cgroups are mounted that has it. The error
// is that of the first place.
func Open(path string) (*os.File, error) { return open(mounts, path) }

func open(mounts []string, path string) (*os.File, error) {
	dirs := []string{path}
	if !filepath.IsAbs(path) {
		dirs = dirs[:0]
		for _, m := range mounts {
			dirs = append(dirs, filepath.Join(m, path))
		}
	}
	var first error
	for _, d := range dirs {
		f, err := os.Open(d)
		if err == nil {
			return f, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("no cgroup %q: %w", path, first)
}

// Glob returns the paths of the cgroups that a pattern of filepath.Match matches, for
// Open to take, sorted: absolute ones, or those below the first place where cgroups
// are mounted that has any. What is no pattern, or matches none, is itself.
func Glob(pattern string) []string { return glob(mounts, pattern) }

func glob(mounts []string, pattern string) []string {
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}
	}
	absolute := filepath.IsAbs(pattern)
	if absolute {
		mounts = []string{""}
	}
	for _, m := range mounts {
		full := pattern
		if !absolute {
			full = filepath.Join(m, pattern)
		}
		found, _ := filepath.Glob(full)
		found = slices.DeleteFunc(found, func(path string) bool {
			st, err := os.Stat(path)
			return err != nil || !st.IsDir()
		})
		for i := range found {
			if !absolute {
				found[i] = strings.TrimPrefix(strings.TrimPrefix(found[i], m), "/")
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return []string{pattern}
}

// OpenAll opens the directories of the cgroups that patterns match, as Glob and Open find them:
// each once, and none that lies in another one of them, whose events are the other's as well.
func OpenAll(patterns []string) ([]*os.File, error) { return openAll(mounts, patterns) }

func openAll(mounts, patterns []string) (dirs []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, d := range dirs {
				err = errors.Join(err, d.Close())
			}
			dirs = nil
		}
	}()
	for _, pattern := range patterns {
		for _, path := range glob(mounts, pattern) {
			d, err := open(mounts, path)
			if err != nil {
				return dirs, err
			}
			dirs = append(dirs, d)
		}
	}
	in := func(d, other *os.File) bool {
		a, b := filepath.Clean(d.Name()), filepath.Clean(other.Name())
		return a == b || strings.HasPrefix(a, strings.TrimSuffix(b, "/")+"/")
	}
	var kept []*os.File
	for i, d := range dirs {
		if slices.ContainsFunc(dirs[:i], func(o *os.File) bool { return in(d, o) }) ||
			slices.ContainsFunc(dirs[i+1:], func(o *os.File) bool { return in(d, o) && !in(o, d) }) {
			err = errors.Join(err, d.Close())
			continue
		}
		kept = append(kept, d)
	}
	return kept, err
}
