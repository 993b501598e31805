package stacks

import (
	"cmp"
	"slices"
)

// Moment is one sample at its time.
type Moment struct {
	Time   uint64 // ns of the recording's clock, never 0
	Sample uint32 // the row it was added to: see Set.Sample
	Value  int64  // what it added to the weight of the row, the samples' number or the sum of periods
}

// AddMoment keeps the time of a sample. SortMoments is to be called after the
// last.
func (s *Set) AddMoment(m Moment) {
	if len(s.Moments) == cap(s.Moments) {
		s.Moments = slices.Grow(s.Moments, len(s.Moments)+1) // twice, where append would copy at every 1.25
	}
	s.Moments = append(s.Moments, m)
}

// SortMoments brings Moments into the order of their times, those of one time
// into the order of their rows.
func (s *Set) SortMoments() {
	slices.SortFunc(s.Moments, func(a, b Moment) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Sample, b.Sample), cmp.Compare(a.Value, b.Value))
	})
}
