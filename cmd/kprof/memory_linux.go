//go:build !portable

package main

import (
	"math"
	"os"
	"runtime/debug"

	"kprof/convert/export"
	"kprof/perfevent/procfs"
)

// leastMemory is what --max-memory may be at least: the kernel's symbols take some tens of
// megabytes while they are read.
const leastMemory = 64 << 20

// checkMemory refuses --max-memory where nothing grows that it could bound.
func (f *recordFlags) checkMemory(out output) error {
	if f.maxMemory == "" {
		return nil
	}
	if out.format == export.Data && f.push.to == "" {
		return usagef("--max-memory is for profiles that are made while recording: what becomes a perf.data does not stay in memory")
	}
	_, err := f.memory()
	return err
}

// memory is what a profile that is made while recording may take: what --max-memory says, or a
// quarter of what the machine has, or half of what the cgroup allows; 0 where none is known.
func (f *recordFlags) memory() (int64, error) {
	most, err := parseSize("--max-memory", f.maxMemory, min(1<<40, math.MaxInt))
	if err == nil && f.maxMemory != "" && most < leastMemory {
		err = usagef("--max-memory %s: wants at least %dM", f.maxMemory, leastMemory>>20)
	}
	if err != nil {
		return 0, err
	}
	if most > 0 {
		return int64(most), nil
	}
	machine, limit := procfs.Memory(os.DirFS("/"))
	if limit > 0 && limit/2 < machine/4 {
		return limit / 2, nil
	}
	return machine / 4, nil
}

// tableMemory returns what of that tables may take, and sets the limit that the garbage collector
// keeps: a third, as tables are copied when they become smaller, and some of what was there before
// has not been collected yet.
func (f *recordFlags) tableMemory() (int64, error) {
	most, err := f.memory()
	if most > 0 {
		debug.SetMemoryLimit(most)
	}
	return most / 3, err
}
