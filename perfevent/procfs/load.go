package procfs

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// CPUTimes is how long all CPUs together have done what since the machine began.
type CPUTimes struct {
	Busy   time.Duration // ran tasks and interrupts
	Idle   time.Duration
	Stolen time.Duration // a hypervisor let others run
}

// userHZ is the unit of /proc/stat, sysconf(_SC_CLK_TCK), which is 100 on all architectures
// that Go runs on.
const userHZ = 100

// ReadCPUTimes reads the line "cpu" of /proc/stat (proc_stat(5)).
func ReadCPUTimes(proc fs.FS) (t CPUTimes, err error) {
	b, err := fs.ReadFile(proc, "stat")
	if err != nil {
		return t, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return t, fmt.Errorf("/proc/stat begins with %q: no times of CPUs", line)
	}
	for i, f := range fields[1:9] {
		n, err := strconv.ParseUint(f, 10, 53)
		if err != nil {
			return t, fmt.Errorf("/proc/stat: %q: %w", line, err)
		}
		d := time.Duration(n) * (time.Second / userHZ)
		switch i {
		case 3, 4: // idle, iowait
			t.Idle += d
		case 7:
			t.Stolen = d
		default: // user, nice, system, irq, softirq; guests are in the first two
			t.Busy += d
		}
	}
	return t, nil
}

// ReadFrequency returns the mean of the frequencies that the CPUs have now, in kHz, 0 where the
// kernel does not tell, as in virtual machines.
func ReadFrequency(sysfs fs.FS) (kHz float64, err error) {
	sum, n, err := sumOf(sysfs, "devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
	if n == 0 || err != nil {
		return 0, err
	}
	return float64(sum) / float64(n), nil
}

// ReadThrottled returns how often the CPUs were slowed down, since they were too hot, since
// the machine began; 0 where the kernel does not tell.
func ReadThrottled(sysfs fs.FS) (times uint64, err error) {
	times, _, err = sumOf(sysfs, "devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
	return times, err
}

// sumOf adds up the numbers in all files that match a pattern and can be read. Those of a CPU
// that is offline are gone, or fail: with EBUSY in cpufreq (drivers/cpufreq/cpufreq.c, show).
func sumOf(fsys fs.FS, pattern string) (sum uint64, n int, err error) {
	files, err := fs.Glob(fsys, pattern)
	if err != nil {
		return 0, 0, err
	}
	for _, name := range files {
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			continue
		}
		x, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 53)
		if err != nil {
			continue // "<unknown>"
		}
		sum += x
		n++
	}
	return sum, n, nil
}
