package tracer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent/tracecmd"
)

// File describes what was recorded, with the pages that s has, as a trace.dat file. It is
// called after Run and before Close, which makes the kernel forget names of tasks.
func (t *Tracer) File(s *Spool, stats *Stats) (*tracecmd.File, error) {
	f := &tracecmd.File{PageSize: t.size, Clock: t.clock, Stats: stats.Rings, NumCPUs: len(t.rings), Uname: uname(), HeaderPage: t.headerPage}
	text := func(name string) string {
		b, err := os.ReadFile(filepath.Join(t.fs.Path(), name))
		if err != nil {
			return ""
		}
		return string(b)
	}
	f.HeaderEvent, f.Printk = text("events/header_event"), text("printk_formats")
	formats, err := filepath.Glob(filepath.Join(t.fs.Path(), "events/ftrace/*/format"))
	if err != nil {
		return nil, err
	}
	for _, path := range formats {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f.Ftrace = append(f.Ftrace, string(b))
	}
	if t.attached {
		if f.Systems, err = t.systems(); err != nil {
			return nil, err
		}
	}
	if f.Kallsyms, err = os.ReadFile("/proc/kallsyms"); err != nil {
		return nil, err
	}
	f.Cmdlines = cmdlines(text("saved_cmdlines"))
	for _, r := range t.rings {
		pages, size, err := s.CPU(r.cpu)
		if err != nil {
			return nil, err
		}
		if size > 0 {
			f.CPUs = append(f.CPUs, tracecmd.CPU{ID: r.cpu, Pages: pages, Size: size})
		}
		f.NumCPUs = max(f.NumCPUs, r.cpu+1)
	}
	if len(f.Ftrace) == 0 {
		return nil, errors.New("tracefs does not say what the pages of its rings hold")
	}
	return f, nil
}

// cmdlines adds to the names that the kernel has kept, of which it has few, those of the
// tasks that are there.
func cmdlines(saved string) string {
	known := map[string]bool{}
	var b strings.Builder
	for line := range strings.Lines(saved) {
		pid, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if known[pid] || name == "<...>" {
			continue
		}
		known[pid] = true
		fmt.Fprintf(&b, "%s %s\n", pid, name)
	}
	tasks, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/comm")
	for _, path := range tasks {
		tid := filepath.Base(filepath.Dir(path))
		if known[tid] {
			continue
		}
		if name, err := os.ReadFile(path); err == nil {
			fmt.Fprintf(&b, "%s %s\n", tid, strings.TrimSuffix(string(name), "\n"))
		}
	}
	return b.String()
}

func uname() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "Linux - - " + runtime.GOARCH
	}
	return fmt.Sprintf("Linux %s %s %s", unix.ByteSliceToString(u.Nodename[:]), unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:]))
}

// Threads are the threads of processes.
func Threads(pids []int) (tids []int, err error) {
	for _, pid := range pids {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return nil, fmt.Errorf("threads of process %d: %w", pid, err)
		}
		for _, e := range entries {
			if tid, err := strconv.Atoi(e.Name()); err == nil {
				tids = append(tids, tid)
			}
		}
	}
	return tids, nil
}
