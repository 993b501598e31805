package bench

import (
	"io/fs"
	"time"

	"kprof/perfevent/procfs"
)

// conditions are those of the machine at a time.
type conditions struct {
	at        time.Time
	cpus      procfs.CPUTimes
	kHz       float64
	throttled uint64
}

// conditionsOf reads them from /proc and /sys.
func conditionsOf(proc, sysfs fs.FS, now time.Time) (c conditions, err error) {
	c.at = now
	if c.cpus, err = procfs.ReadCPUTimes(proc); err != nil {
		return c, err
	}
	if c.kHz, err = procfs.ReadFrequency(sysfs); err != nil {
		return c, err
	}
	c.throttled, err = procfs.ReadThrottled(sysfs)
	return c, err
}

// noise is what disturbed a run that took cpu of the CPUs' time between two conditions. What
// the kernel counts in hundredths of seconds is off by some of them.
func noise(before, after conditions, cpu time.Duration) (n []Noise) {
	const coarse = 50 * time.Millisecond
	wall := after.at.Sub(before.at)
	if wall <= 0 {
		return nil
	}
	stolen := after.cpus.Stolen - before.cpus.Stolen
	all := stolen + after.cpus.Busy - before.cpus.Busy + after.cpus.Idle - before.cpus.Idle
	other := after.cpus.Busy - before.cpus.Busy - cpu
	// What is always going on, daemons and the kernel's own work, grows with the machine.
	much := max(leastLoad, muchLoad*all.Seconds()/wall.Seconds())
	if load := other.Seconds() / wall.Seconds(); load > much && other > coarse {
		n = append(n, Noise{OtherLoad, load})
	}
	if all > 0 && float64(stolen)/float64(all) > muchStolen && stolen > coarse {
		n = append(n, Noise{Stolen, float64(stolen) / float64(all)})
	}
	if before.kHz > 0 && after.kHz > 0 {
		if ratio := after.kHz / before.kHz; ratio > 1+muchFrequency || ratio < 1-muchFrequency {
			n = append(n, Noise{Frequency, ratio})
		}
	}
	if after.throttled > before.throttled {
		n = append(n, Noise{Throttled, float64(after.throttled - before.throttled)})
	}
	return n
}
