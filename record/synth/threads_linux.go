package synth

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// IsGone reports whether err says that a task or its files are not there (any
// more): /proc answers ENOENT, or ESRCH when it went while being read.
func IsGone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// Threads lists the threads of a process in the order of their ids; of one that is
// gone the error is ESRCH. root is as in Options.
func Threads(root string, pid int) ([]int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("%s/proc/%d/task", root, pid))
	if IsGone(err) {
		return nil, fmt.Errorf("process %d: %w", pid, unix.ESRCH)
	}
	if err != nil {
		return nil, fmt.Errorf("threads of process %d: %w", pid, err)
	}
	tids := make([]int, 0, len(entries))
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, fmt.Errorf("threads of process %d: %w", pid, err)
		}
		tids = append(tids, tid)
	}
	slices.Sort(tids)
	return tids, nil
}
