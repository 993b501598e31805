package convert

import (
	"cmp"
	"maps"
	"slices"

	"kprof/perfevent/abi"
)

// Since Linux 6.19 the kernel may put off the user part of a callchain until the
// task returns from the kernel. The sample's chain then ends with a marker and a
// cookie, and a CALLCHAIN_DEFERRED record of the same thread brings the rest under
// that cookie, for all samples taken since the thread entered the kernel.

// joining holds what waits for its other half. The rest of a chain comes after
// its samples in time, but can come before them in a file, from another CPU.
type joining struct {
	samples map[joinKey][]heldSample
	chains  map[joinKey][]uint64
	size    int // bytes held, roughly
	seen    uint64
}

type joinKey struct {
	tid    int32
	cookie uint64
}

// heldSample is a sample that waits for the user part of its chain.
type heldSample struct {
	order   uint64 // of arrival
	misc    abi.Misc
	state   state
	payload []byte
}

// maxJoining bounds the bytes that wait. Beyond it samples go without the rest of
// their chains.
const maxJoining = 32 << 20

// deferredCookie returns the cookie that a callchain ends with, if it does.
func deferredCookie(s *abi.Sample) (uint64, bool) {
	n := len(s.Callchain)
	if !s.HasChain || n < 2 || s.Callchain[n-2] != abi.ContextUserDeferred {
		return 0, false
	}
	return s.Callchain[n-1], true
}

// join adds the user part to a sample's chain if it is there already; else it
// keeps the sample and returns false.
func (w *worker) join(s *abi.Sample, st state, payload []byte, cookie uint64) bool {
	j := &w.joining
	key := joinKey{s.TID, cookie}
	if rest, ok := j.chains[key]; ok {
		s.Callchain = append(s.Callchain[:len(s.Callchain)-2], rest...)
		return true
	}
	if j.samples == nil {
		j.samples = map[joinKey][]heldSample{}
	}
	j.samples[key] = append(j.samples[key], heldSample{j.seen, s.Misc, st, slices.Clone(payload)})
	j.seen++
	w.hold(len(payload))
	return false
}

// takeDeferred joins the rest of a callchain to the samples that wait for it.
func (w *worker) takeDeferred(payload []byte) {
	e := w.events.OfOther(payload)
	if e == nil {
		w.stats.badRecords++
		return
	}
	d, err := e.Layout.DecodeCallchainDeferred(payload)
	if err != nil {
		w.stats.badRecords++
		return
	}
	j := &w.joining
	key := joinKey{d.TID, d.Cookie}
	samples := j.samples[key]
	delete(j.samples, key)
	for i := range samples {
		j.size -= len(samples[i].payload)
		w.release(&samples[i], d.Callchain)
	}
	if j.chains == nil {
		j.chains = map[joinKey][]uint64{}
	}
	if _, twice := j.chains[key]; !twice { // each event writes its own
		j.chains[key] = d.Callchain
		w.hold(8 * len(d.Callchain))
	}
}

// release emits a sample that was kept, with the rest of its chain.
func (w *worker) release(h *heldSample, rest []uint64) {
	e, s := w.events.OfSample(h.payload), &w.sample
	if e == nil || e.Layout.DecodeSample(s, h.misc, h.payload) != nil {
		return // cannot be: it was decoded before
	}
	if rest != nil {
		s.Callchain = append(s.Callchain[:len(s.Callchain)-2], rest...)
	} else {
		w.stats.halfChains++
	}
	w.rows(e, s, &h.state)
}

// hold counts n bytes and makes room when there are too many.
func (w *worker) hold(n int) {
	const overhead = 100
	if w.joining.size += n + overhead; w.joining.size > maxJoining {
		w.releaseAll()
	}
}

// releaseAll emits the samples that still wait, in the order of their arrival, and
// forgets the rests of chains.
func (w *worker) releaseAll() {
	j := &w.joining
	var all []heldSample
	for samples := range maps.Values(j.samples) {
		all = append(all, samples...)
	}
	slices.SortFunc(all, func(a, b heldSample) int { return cmp.Compare(a.order, b.order) })
	*j = joining{seen: j.seen}
	for i := range all {
		w.release(&all[i], nil)
	}
}
