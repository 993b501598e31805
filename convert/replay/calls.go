package replay

import (
	"cmp"
	"slices"

	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/perfevent/abi"
)

// Calls is the distribution of the times that calls of one function took, with what it called.
type Calls struct {
	Event    int    // of the Set
	Location uint32 // of the function, in the Set
	*span.Histogram
}

// batchCall is the time that a row's call took.
type batchCall struct {
	row  int
	took uint64
}

// callKey is what one distribution of calls is of.
type callKey struct {
	event    int
	location uint32
}

// noteCall notes how long the call took that is the batch's next row: samples of events whose
// periods are times have it as weight, beside the period that was the function's own.
func (r *rows) noteCall(s *samples.Sample, c samples.Count) {
	if c.Event.Attr.SampleType&abi.SampleWeight != 0 && r.measuresTime(c.Event) {
		r.batch.calls = append(r.batch.calls, batchCall{len(r.batch.rows), s.Weight})
	}
}

// addCalls counts the calls of a batch by their functions.
func (b *batch) addCalls(r *rows) {
	for _, c := range b.calls {
		x := &b.rows[c.row]
		start := 0
		if x.stack > 0 {
			start = b.ends[x.stack-1]
		}
		if start == b.ends[x.stack] {
			continue
		}
		key := callKey{x.event, b.locs[start]}
		h := r.calls[key]
		if h == nil {
			if r.calls == nil {
				r.calls = map[callKey]*span.Histogram{}
			}
			h = &span.Histogram{}
			r.calls[key] = h
		}
		h.Add(c.took)
	}
	b.calls = b.calls[:0]
}

// callStats are all calls, once all rows have been added.
func (r *rows) callStats() []Calls {
	var all []Calls
	for key, h := range r.calls {
		all = append(all, Calls{key.event, key.location, h})
	}
	slices.SortFunc(all, func(a, b Calls) int {
		return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.Location, b.Location))
	})
	return all
}
