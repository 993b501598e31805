package trace

import (
	"math"

	"kprof/perfevent/perfdata"
)

// seenRing is what a ring tells of its tasks.
type seenRing struct {
	cpu    int32
	first  uint64 // time of its first event
	last   uint64
	late   bool // events before that one were overwritten
	visits visits
}

// visits counts how often the events of a ring go on with a task, by its tid.
type visits struct {
	counts map[int32]uint32
	tid    int32 // whose the event before is
	most   int   // tasks that are told apart
}

// newVisits returns the visits of one of so many rings.
func newVisits(rings int) visits { return visits{most: max(maxVisitors/rings, minVisitors)} }

// take takes the tid of the next event.
func (v *visits) take(tid int32) {
	if v.counts == nil {
		v.counts, v.tid = map[int32]uint32{}, -1
	}
	if _, known := v.counts[tid]; tid != v.tid && (known || len(v.counts) < v.most) {
		v.tid = tid
		v.counts[tid]++
	}
}

const (
	// maxVisitors bounds how many tasks are told apart in all rings together; in each of them it is
	// minVisitors at least.
	maxVisitors = 1 << 20
	minVisitors = 1 << 12

	// manyVisits is how often a task must have been seen while all rings were there, for CPUs that it
	// was not seen on then to be such that it was hardly on before.
	manyVisits = 10
)

// lateRings says which rings of a buffer begin late, nil for none.
func lateRings(rings []seenRing) *perfdata.LateRings {
	first, last := uint64(math.MaxUint64), uint64(0)
	for i := range rings {
		first, last = min(first, rings[i].first), max(last, rings[i].last)
	}
	l := &perfdata.LateRings{From: map[int32]uint64{}, Tasks: map[int32]uint64{}}
	for i := range rings {
		if g := &rings[i]; g.late && g.first > first {
			l.From[g.cpu] = max(l.From[g.cpu], g.first)
		}
	}
	if len(l.From) == 0 {
		return nil
	}
	_, all := l.Last()
	often := map[int32]float64{} // while all rings were there, if they came as often at all times
	from := map[int32]uint64{}
	for i := range rings {
		g := &rings[i]
		begun := first
		if g.late {
			begun = g.first
		}
		share := float64(last-all) / max(float64(last-begun), 1)
		for tid, n := range g.visits.counts {
			if often[tid] += float64(n) * share; g.late {
				from[tid] = max(from[tid], g.first)
			}
		}
	}
	for tid, n := range often {
		if t := from[tid]; n >= manyVisits && t < all && tid > 0 {
			l.Tasks[tid] = t
		}
	}
	return l
}
