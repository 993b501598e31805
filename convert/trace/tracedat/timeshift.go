package tracedat

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"
)

// TimeShift makes times of a guest those of its host (option TIME_SHIFT). The zero value leaves them as
// they are.
type TimeShift struct {
	CPUs [][]ClockSample // of the guest's CPUs, by number; in the order of their times
	// Interpolate says that offsets go from one sample to the next in a straight line; else one holds up
	// to the next.
	Interpolate bool
}

// ClockSample is how the clock of the host was ahead of that of a guest.
type ClockSample struct {
	Time     int64 // of the guest's clock
	Offset   int64 // to be added to times of the guest, which are scaled before
	Scale    uint64
	Fraction uint64 // bits of Scale behind the point, below 64
}

// interpolateFlag is TRACECMD_TSYNC_FLAG_INTERPOLATE (trace-cmd-private.h).
const interpolateFlag = 1

// readTimeShift reads the option: "u64 peer, u32 flags, u32 cpus", of each CPU "u32 count" and so many
// times, offsets and scales, u64 each; and since trace-cmd 3.0, of each CPU so many fractions behind all
// (trace-input.c, tsync_cpu_offsets_load).
func readTimeShift(c *cursor) (s TimeShift, err error) {
	c.u64()
	s.Interpolate = c.u32()&interpolateFlag != 0
	cpus := c.u32()
	if cpus > maxCPUs {
		c.fail("%d CPUs", cpus)
	}
	for i := uint32(0); i < cpus && c.err == nil; i++ {
		n := int64(c.u32())
		if n > c.left/24 {
			c.fail("%d corrections of the clock of CPU %d, %d bytes are left", n, i, c.left)
		}
		if c.err != nil {
			break
		}
		samples := make([]ClockSample, n)
		for j := range samples {
			samples[j].Time = int64(c.u64())
		}
		for j := range samples {
			samples[j].Offset = int64(c.u64())
		}
		for j := range samples {
			samples[j].Scale = c.u64()
		}
		s.CPUs = append(s.CPUs, samples)
	}
	if c.err == nil && c.left > 0 {
		for _, samples := range s.CPUs {
			for j := range samples {
				if samples[j].Fraction = c.u64(); samples[j].Fraction > 63 {
					c.fail("a clock with a scale of %d bits behind the point", samples[j].Fraction)
				}
			}
		}
	}
	if c.err != nil {
		return TimeShift{}, fmt.Errorf("times of the guest: %w", c.err)
	}
	for i, samples := range s.CPUs {
		sort.SliceStable(samples, func(a, b int) bool { return samples[a].Time < samples[b].Time })
		s.CPUs[i] = slices.CompactFunc(samples, func(a, b ClockSample) bool { return a.Time == b.Time })
	}
	return s, nil
}

// Host returns the time of the host that is a time of a CPU of the guest, as trace-cmd has it
// (trace-input.c, timestamp_host_sync).
func (s *TimeShift) Host(cpu int32, t uint64) uint64 {
	if cpu < 0 || int(cpu) >= len(s.CPUs) || len(s.CPUs[cpu]) == 0 {
		return t
	}
	samples := s.CPUs[cpu]
	if len(samples) == 1 {
		return t + uint64(samples[0].Offset)
	}
	i := sort.Search(len(samples), func(i int) bool { return uint64(samples[i].Time) > t }) - 1
	a, b := &samples[min(max(i, 0), len(samples)-2)], &samples[min(max(i, 0), len(samples)-2)+1]
	offset := a.Offset
	if s.Interpolate {
		delta := b.Time - a.Time
		offset += (int64(t-uint64(a.Time))*(b.Offset-a.Offset) + delta/2) / delta
	}
	return scaled(t, a.Scale, uint(a.Fraction)) + uint64(offset)
}

// scaled is t times a number with so many bits behind the point, below 64.
func scaled(t, scale uint64, fraction uint) uint64 {
	hi, lo := bits.Mul64(t, scale)
	return lo>>fraction | hi<<(64-fraction)
}

// Nanoseconds returns what makes times of events of times in the pages of a CPU: ns, where Scale is known
// or the clock counts them. It is nil where they are the same.
func (o *Options) Nanoseconds(cpu int32) func(uint64) uint64 {
	shifts := int(cpu) < len(o.TimeShift.CPUs)
	if o.Offset == 0 && o.Scale.Mult == 0 && !shifts {
		return nil
	}
	return func(t uint64) uint64 {
		if shifts {
			t = o.TimeShift.Host(cpu, t)
		}
		if o.Scale.Mult != 0 {
			t = scaled(t, uint64(o.Scale.Mult), uint(o.Scale.Shift))
		}
		return t + uint64(o.Offset)
	}
}
