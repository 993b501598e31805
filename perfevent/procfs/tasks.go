package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// ThreadsOf lists the threads of a process below proc, which is /proc, in the order of their ids;
// of one that is gone the error is ESRCH.
func ThreadsOf(proc fs.FS, pid int) ([]int, error) {
	tids, err := taskDirs(proc, fmt.Sprintf("%d/task", pid))
	switch {
	case IsGone(err):
		return nil, fmt.Errorf("process %d: %w", pid, syscall.ESRCH)
	case err != nil:
		return nil, fmt.Errorf("threads of process %d: %w", pid, err)
	}
	return tids, nil
}

// ProcessOf returns the process of a thread, below proc, which is /proc; of one that is gone
// the error is ESRCH.
func ProcessOf(proc fs.FS, tid int) (pid int, err error) {
	b, err := fs.ReadFile(proc, fmt.Sprintf("%d/status", tid))
	switch {
	case IsGone(err):
		return 0, fmt.Errorf("thread %d: %w", tid, syscall.ESRCH)
	case err != nil:
		return 0, fmt.Errorf("process of thread %d: %w", tid, err)
	}
	for line := range strings.Lines(string(b)) {
		if id, ok := strings.CutPrefix(line, "Tgid:\t"); ok {
			if pid, err = strconv.Atoi(strings.TrimSuffix(id, "\n")); err != nil {
				return 0, fmt.Errorf("process of thread %d: %w", tid, err)
			}
			return pid, nil
		}
	}
	return 0, fmt.Errorf("process of thread %d: /proc/%d/status does not tell it", tid, tid)
}

// pfExiting is the flag of a task that is about to end (include/linux/sched.h, PF_EXITING).
const pfExiting = 0x4

// Runs reports whether a process or thread, below proc, which is /proc, is there and not about
// to end, nor at its end and waited for.
func Runs(proc fs.FS, id int) bool {
	b, err := fs.ReadFile(proc, fmt.Sprintf("%d/stat", id))
	if err != nil {
		return false
	}
	// pid (comm) state ppid pgrp session tty_nr tpgid flags …
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 32)
	return err == nil && flags&pfExiting == 0
}

// IsGone reports whether err says that a task or its files are not there (any
// more): /proc answers ENOENT, or ESRCH when it went while being read.
func IsGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
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
