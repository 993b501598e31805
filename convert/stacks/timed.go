package stacks

import (
	"cmp"
	"slices"
)

// TimedSample is one sample with its time.
type TimedSample struct {
	Time   uint64 // ns of the recording's clock, never 0
	Sample uint32 // the row it was added to: see Set.Sample
	Value  int64  // what it added to the weight of the row, the samples' number or the sum of periods
}

// manyTimed samples take some MB.
const manyTimed = 1 << 18

// AddTimedSample keeps the time of a sample. SortTimedSamples is to be called after the
// last.
func (s *Set) AddTimedSample(m TimedSample) {
	s.TimedSamples = append(withRoom(s.TimedSamples), m)
}

// withRoom returns a list in which there is room for one more: it grows to twice its
// length, where append would copy it at every 1.25.
func withRoom[T any](list []T) []T {
	if len(list) < cap(list) {
		return list
	}
	more := len(list) + 1
	if len(list) >= manyTimed {
		more /= 2 // while they move there are both
	}
	return slices.Grow(list, more)
}

// Wake is when a task off the CPU was woken, by another.
type Wake struct {
	Time      uint64   // ns of the recording's clock
	By, Woken LabelsID // of a sample of who woke it, and of the time that it was off the CPU
}

// SortTimedSamples brings TimedSamples into the order of their times, those of one time
// into the order of their rows. There is no room for more of them then.
func (s *Set) SortTimedSamples() {
	if cap(s.TimedSamples) > len(s.TimedSamples)+len(s.TimedSamples)/8 {
		s.TimedSamples = append(make([]TimedSample, 0, len(s.TimedSamples)), s.TimedSamples...)
	}
	slices.SortFunc(s.TimedSamples, func(a, b TimedSample) int {
		switch {
		case a.Time != b.Time:
			return cmp.Compare(a.Time, b.Time)
		case a.Sample != b.Sample:
			return cmp.Compare(a.Sample, b.Sample)
		}
		return cmp.Compare(a.Value, b.Value)
	})
}
