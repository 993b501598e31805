package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kprof/symbolize/regular"
)

// ErrUntrusted: a perf map or jitdump belongs to someone else than the user of
// the process.
var ErrUntrusted = errors.New("perf map or jitdump of another user")

// Owner says whose the files may be in which a process tells what code it made:
// its user's. Without the process nobody knows who that was; then they must be
// this process's user's or root's, and have one name, since anybody may give a
// file of root's another one.
type Owner struct {
	Known bool
	UID   uint32
	// OrRoot takes files of root's too, which everybody may read and which have one name:
	// perf run by root takes no perf maps but root's, so that they are given to root. It is for
	// places in which no mounts of the process's are.
	OrRoot bool
}

// Check returns ErrUntrusted if a file is of somebody else.
func (o Owner) Check(info fs.FileInfo) error {
	id, ok := regular.Identify(info)
	if !ok {
		return ErrUntrusted
	}
	if o.Known {
		given := o.OrRoot && id.UID == 0 && id.Links == 1 && info.Mode()&0o004 != 0
		if id.UID != o.UID && !given {
			return fmt.Errorf("%w: it is of user %d, the process of %d", ErrUntrusted, id.UID, o.UID)
		}
		return nil
	}
	if !slices.Contains([]uint32{0, uint32(os.Geteuid())}, id.UID) || id.Links > 1 {
		return fmt.Errorf("%w: it is of user %d, and the process is gone", ErrUntrusted, id.UID)
	}
	return nil
}

// IsDumpName reports whether a file may be a jitdump: perf knows them by the name
// jit-PID.dump.
func IsDumpName(path string) bool {
	pid, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(path), ".dump"), "jit-")
	return ok && strings.HasSuffix(path, ".dump") && pid != "" && strings.Trim(pid, "0123456789") == ""
}

// MapFile returns the link through which the kernel gives out a mapped file even
// after it was removed, if it is still what is mapped there, by the path that was recorded. It takes
// CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
func MapFile(pid int, start, limit uint64, recorded string) (path string, ok bool) {
	if start >= limit {
		return "", false
	}
	path = fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, start, limit)
	target, err := os.Readlink(path)
	return path, err == nil && strings.TrimSuffix(target, " (deleted)") == recorded
}
