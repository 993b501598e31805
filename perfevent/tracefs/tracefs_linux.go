package tracefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent/internal/errkind"
)

// Options says how Find looks. The zero value looks only.
type Options struct {
	// Mount mounts tracefs on /sys/kernel/tracing when it is nowhere mounted.
	// It needs CAP_SYS_ADMIN, and the mount stays.
	Mount bool
}

// FS is a mounted tracing file system.
type FS struct {
	path string
}

// Emptied reports whether an error of reading a CPU's trace_pipe_raw says that there is nothing
// to be read by now: EAGAIN, or ENODEV of a CPU that was never online since the buffer was made,
// and gets a ring as it comes (kernel/trace/ring_buffer.c, ring_buffer_alloc_read_page and
// trace_rb_cpu_prepare).
func Emptied(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENODEV)
}

// standard places, newest first: tracefs is of its own since Linux 4.1 and
// mounted by debugfs on access to the second.
var standard = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// Find returns the tracing file system: one of the two standard places, or
// wherever /proc/mounts says. Not found is an error that is os.ErrNotExist, not
// readable one that is os.ErrPermission.
func Find(o Options) (*FS, error) {
	path, err := find()
	if errors.Is(err, os.ErrNotExist) && o.Mount {
		if merr := unix.Mount("tracefs", standard[0], "tracefs", 0, ""); merr != nil {
			return nil, fmt.Errorf("mount tracefs on %s: %w", standard[0], merr)
		}
		path, err = find()
	}
	if err != nil {
		return nil, err
	}
	return &FS{path: path}, nil
}

// At returns the tracing file system below path, unchecked: a copy of one, or
// one of a chroot.
func At(path string) *FS { return &FS{path: path} }

func find() (string, error) {
	var denied error
	try := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "events", "header_page"))
		if errors.Is(err, os.ErrPermission) {
			denied = fmt.Errorf("tracefs in %s: %w", dir, err)
		}
		return err == nil
	}
	for _, dir := range standard {
		if try(dir) {
			return dir, nil
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", fmt.Errorf("look for tracefs: %w", err)
	}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		dir := unescape(f[1])
		if f[2] == "debugfs" {
			dir = filepath.Join(dir, "tracing")
		} else if f[2] != "tracefs" {
			continue
		}
		if try(dir) {
			return dir, nil
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", errkind.Errorf(os.ErrNotExist, "tracefs is not mounted (mount -t tracefs tracefs %s)", standard[0])
}

// unescape undoes the octal escapes of /proc/mounts for blanks and backslashes.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// Path is where the file system is mounted, without a slash at its end.
func (t *FS) Path() string { return t.path }

// Tracing reports whether the tracer writes into its rings, what goes into trace_marker
// included: trace-cmd leaves it off. Events of perf do not depend on it.
func (t *FS) Tracing() (bool, error) {
	text, err := t.read("tracing_on")
	return strings.TrimSpace(string(text)) != "0", err
}

// read reads a file below the mount point. Files of tracefs are generated and
// say size 0; os.ReadFile copes.
func (t *FS) read(elem ...string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(append([]string{t.path}, elem...)...))
	if err != nil {
		return nil, fmt.Errorf("tracefs: %w", err)
	}
	return b, nil
}
