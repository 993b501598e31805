package event

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// inTask is s with the file of its probe as the tasks have it at that path whose probes it is for,
// where their root directory is another than ours, as in a container: the probe of our own file
// of that path would never be hit there. Then task is the one whose it is, otherwise 0.
func (r *Resolver) inTask(s Spec) (_ Spec, task int) {
	p := &s.Probe
	if s.Kind != KindProbe || !p.User || p.Raw != "" || !filepath.IsAbs(p.Path) || strings.HasPrefix(p.Path, "/proc/") {
		return s, 0
	}
	theirs := ""
	for _, tid := range r.Tasks {
		switch path, err := pathInTask(tid, p.Path); {
		case err != nil: // it has none of that path, or is not ours to look into
		case path == p.Path:
			return s, 0
		case task == 0:
			theirs, task = path, tid
		}
	}
	if task != 0 {
		p.Path = theirs
	}
	return s, task
}

// pathInTask is a path from here to the file that a task has at path: path itself, if that is
// the same file. Links are followed as the task would.
func pathInTask(tid int, path string) (string, error) {
	root := fmt.Sprintf("/proc/%d/root", tid)
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return "", err
	}
	there := os.NewFile(uintptr(fd), path)
	defer there.Close() // O_PATH: nothing to lose
	info, err := there.Stat()
	if err != nil {
		return "", err
	}
	if ours, err := os.Stat(path); err == nil && os.SameFile(ours, info) {
		return path, nil
	}
	// Both as they are in the task's namespace of mounts.
	full, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return "", err
	}
	top, err := os.Readlink(root)
	if err != nil {
		return "", err
	}
	return root + strings.TrimPrefix(full, strings.TrimSuffix(top, "/")), nil
}
