package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"kprof/perfevent/procfs"
)

// A filter can tell our own hits by the name of the task alone: common_pid is
// a thread id, of which a Go program has many and more to come. So all our
// threads get a name of their own, which new ones inherit.

// selfName is that name: at most 13 bytes, as pids end at 4194304.
func selfName() string { return fmt.Sprintf("kprof-%d", os.Getpid()) }

// selfFilter matches what is not ours, and interrupts that hit while we run:
// 24 is TRACE_FLAG_HARDIRQ | TRACE_FLAG_SOFTIRQ
// (include/linux/trace_events.h).
func selfFilter() string {
	return fmt.Sprintf("COMM != %q || common_flags & 24", selfName())
}

// joinFilters returns a filter for what both match; either may be empty.
func joinFilters(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return fmt.Sprintf("(%s) && (%s)", a, b)
}

// nameThreads gives every thread of this process the name, until two passes in
// a row found nothing to change: a thread that was there unnamed, or was
// started by an unnamed one, would have been seen.
func nameThreads(name string) error {
	const tries = 1000
	for clean, try := 0, 0; clean < 2; try++ {
		changed, err := nameThreadsOnce(name)
		if err != nil {
			return err
		}
		clean++
		if changed {
			clean = 0
		}
		if try == tries {
			return fmt.Errorf("name own threads: new ones keep coming after %d passes", tries)
		}
	}
	return nil
}

func nameThreadsOnce(name string) (changed bool, err error) {
	const dir = "/proc/self/task"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("name own threads: %w", err)
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name(), "comm")
		had, err := os.ReadFile(file)
		if procfs.IsGone(err) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("name own threads: %w", err)
		}
		if string(bytes.TrimSpace(had)) == name {
			continue
		}
		changed = true
		if err := os.WriteFile(file, []byte(name), 0); err != nil && !procfs.IsGone(err) {
			return false, fmt.Errorf("name own threads: %w", err)
		}
	}
	return changed, nil
}
