//go:build !portable

package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"kprof/convert/printable"
)

// cost is what the recorder takes of the machine since its start.
type cost struct {
	begun time.Time
	cpu   time.Duration
}

func startCost() cost {
	cpu, _ := used()
	return cost{time.Now(), cpu}
}

// used is the CPU time of this process, of all its threads, and the most memory that it had,
// in bytes.
func used() (cpu time.Duration, memory int64) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), int64(u.Maxrss) << 10
}

func (c cost) String() string {
	cpu, memory := used()
	return costText(cpu-c.cpu, time.Since(c.begun), memory)
}

func costText(cpu, elapsed time.Duration, memory int64) string {
	share := 100 * cpu.Seconds() / max(elapsed.Seconds(), 1e-9)
	return fmt.Sprintf("the recorder took %.1f%% of one CPU, and at most %s of memory", share, printable.Bytes(memory))
}
