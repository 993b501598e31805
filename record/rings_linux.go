package record

import (
	"errors"
	"math/bits"
	"os"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// Sizes of rings, in bytes of each CPU's.
const (
	leastRing    = 2 << 20 // a default, unless less may be locked
	usualRing    = 8 << 20 // a default on few CPUs
	largestRing  = 64 << 20
	smallestRing = 64 << 10 // that a default is halved down to

	usualRings = 64 << 20  // all together, where there are many CPUs
	allRings   = 512 << 20 // all together, where much is to be expected

	// ringTime is for how long a ring is to hold what is expected, in ms: a busy machine
	// may keep the thread that drains it waiting.
	ringTime = 250

	// sampleSize is what a sample takes, in bytes, without the copy of a stack.
	sampleSize = 512

	leastFrequency = 49 // that a default is lowered to, in Hz
)

// rate is how many bytes of samples a second to expect on each CPU, as far as events are
// sampled at a frequency.
func (s *Session) rate() (rate uint64) {
	for _, e := range s.events {
		if e.Attr.Flags&abi.FlagFreq != 0 {
			rate += e.Attr.SamplePeriod * (sampleSize + uint64(e.Attr.SampleStackUser))
		}
	}
	return rate
}

// ringSize is the size of a ring that nobody asked for: what holds ringTime of what is
// expected on each of so many CPUs, within bounds.
func ringSize(cpus int, rate uint64) int {
	size := min(usualRing, max(leastRing, floorPower(usualRings/cpus)))
	most := min(largestRing, max(size, floorPower(allRings/cpus)))
	want := perfevent.RingBytes(int(min(rate*ringTime/1000, largestRing)))
	return min(most, max(size, want))
}

// floorPower is the largest power of two up to n, of at least 1.
func floorPower(n int) int { return 1 << (bits.Len(uint(max(n, 1))) - 1) }

// openRings maps a ring for each CPU. When the default size is more than the
// user may lock, smaller ones are tried.
func (s *Session) openRings() error {
	s.owners = startThread()
	size, given := perfevent.RingBytes(s.opts.RingSize), s.opts.RingSize != 0
	if !given {
		size = ringSize(len(s.cpus), s.rate())
	}
	for {
		err := s.mapRings(size)
		if err == nil {
			return nil
		}
		for _, r := range s.rings {
			err = errors.Join(err, r.close())
		}
		s.rings = nil
		if given || !errors.Is(err, os.ErrPermission) || size <= smallestRing {
			return err
		}
		size /= 2
	}
}

func (s *Session) mapRings(size int) error {
	ringOwner := event.Event{Event: perfevent.RingOwner(s.features, uint32(size/4))}
	for _, cpu := range s.cpus {
		r := &cpuRing{cpu: cpu, size: size}
		s.rings = append(s.rings, r)
		err := s.owners.run(func() (err error) {
			r.owner, err = s.openOne(&ringOwner, perfevent.Where{CPU: cpu})
			return err
		})
		if err != nil {
			return err
		}
		if r.ring, err = perfevent.MapRing(r.owner, size); err != nil {
			return err
		}
	}
	return nil
}

// fitFrequency lowers frequencies that nobody asked for where the rings are too small for
// the copies of stacks that they bring.
func (s *Session) fitFrequency() {
	if !s.opts.copiesStacks() || s.opts.Frequency != 0 || s.opts.Period != 0 || s.opts.DefaultFrequency != 0 {
		return
	}
	holds := uint64(s.RingSize()) * 1000 / ringTime // bytes a second
	rate := s.rate()
	if rate <= holds {
		return
	}
	lowered := uint64(0)
	for _, e := range s.events {
		if e.Attr.Flags&abi.FlagFreq != 0 && e.Frequency == 0 {
			e.Attr.SamplePeriod = max(leastFrequency, e.Attr.SamplePeriod*holds/rate)
			lowered = e.Attr.SamplePeriod
		}
	}
	if lowered > 0 {
		s.note("%d samples a second: rings of %d KiB, all that may be locked, hold no more copies of stacks", lowered, s.RingSize()>>10)
	}
}
