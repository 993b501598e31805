package record

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// gone reports whether err says that a task or its files are not there (any
// more): /proc answers ENOENT, or ESRCH when it went while being read.
func gone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// threads lists the threads of a process in the order of their ids.
func threads(pid int) ([]int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if gone(err) {
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
