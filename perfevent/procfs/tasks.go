package procfs

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Process is one that runs.
type Process struct {
	PID  int
	Comm string // its name, at most 15 bytes
}

// Processes lists the processes below proc, which is /proc, by their ids. Those that
// end meanwhile are left out.
func Processes(proc fs.FS) ([]Process, error) {
	pids, err := taskDirs(proc, ".")
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, pid := range pids {
		if comm, err := Comm(proc, pid); err == nil {
			all = append(all, Process{pid, comm})
		}
	}
	return all, nil
}

// Threads lists the threads of all processes below proc, which is /proc, but for those
// of process except: process by process, in the order of their ids.
func Threads(proc fs.FS, except int) ([]int, error) {
	pids, err := taskDirs(proc, ".")
	if err != nil {
		return nil, err
	}
	var tids []int
	for _, pid := range pids {
		if pid == except {
			continue
		}
		if threads, err := taskDirs(proc, fmt.Sprintf("%d/task", pid)); err == nil { // else it has ended
			tids = append(tids, threads...)
		}
	}
	return tids, nil
}

// Comm reads the name of a process or thread.
func Comm(proc fs.FS, id int) (string, error) {
	b, err := fs.ReadFile(proc, strconv.Itoa(id)+"/comm")
	return strings.TrimSuffix(string(b), "\n"), err
}

// taskDirs are the ids that directories below dir are named by, sorted.
func taskDirs(proc fs.FS, dir string) ([]int, error) {
	entries, err := fs.ReadDir(proc, dir)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil && id > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
