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
// its samples in time, but can come before them in a file, from another CPU, and
// one rest is for many samples: so both are kept for a while, in two generations.
type joining struct {
	now, before generation
	seen        uint64
}

type generation struct {
	samples map[joinKey][]heldSample
	rests   map[joinKey]restOfChain
	size    int // bytes held, roughly
}

type joinKey struct {
	tid    int32
	cookie uint64
}

// restOfChain is the user part of a chain, with the address space that the task had
// then: an exec may have replaced the one of the sample.
type restOfChain struct {
	chain []uint64
	user  *space
	asOf  uint64
}

// heldSample is a sample that waits for the user part of its chain.
type heldSample struct {
	order   uint64 // of arrival
	misc    abi.Misc
	state   state
	payload []byte
}

// maxGeneration bounds the bytes of a generation. When it is full the one before
// is given up: its samples go without the rest of their chains.
const maxGeneration = 16 << 20

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
func (w *worker) join(s *abi.Sample, st *state, payload []byte, cookie uint64) bool {
	j := &w.joining
	key := joinKey{s.TID, cookie}
	for _, g := range []*generation{&j.now, &j.before} {
		if rest, ok := g.rests[key]; ok {
			rest.joinTo(s, st)
			return true
		}
	}
	if j.now.samples == nil {
		j.now.samples = map[joinKey][]heldSample{}
	}
	j.now.samples[key] = append(j.now.samples[key], heldSample{j.seen, s.Misc, *st, slices.Clone(payload)})
	j.seen++
	w.hold(len(payload)) // last: it may decode others into s
	return false
}

// joinTo puts the rest of a chain, as user addresses, into the place of its cookie.
func (r *restOfChain) joinTo(s *abi.Sample, st *state) {
	s.Callchain = append(append(s.Callchain[:len(s.Callchain)-2], abi.ContextUser), r.chain...)
	st.user, st.asOf = r.user, r.asOf
}

// takeDeferred joins the rest of a callchain to the samples that wait for it.
func (w *worker) takeDeferred(payload []byte, place uint64) {
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
	rest := restOfChain{chain: d.Callchain}
	t := d.Time
	if w.clock.byPlace {
		t = place
	}
	if p := w.task(d.PID, d.TID).process; p != nil {
		rest.user, rest.asOf = p.spaceAt(t)
	}
	j := &w.joining
	key := joinKey{d.TID, d.Cookie}
	for _, g := range []*generation{&j.before, &j.now} {
		samples := g.samples[key]
		delete(g.samples, key)
		for i := range samples {
			w.release(&samples[i], &rest)
		}
		if _, twice := g.rests[key]; twice { // each event writes its own
			return
		}
	}
	if j.now.rests == nil {
		j.now.rests = map[joinKey]restOfChain{}
	}
	j.now.rests[key] = rest
	w.hold(8 * len(d.Callchain))
}

// release emits a sample that was kept, with the rest of its chain if there is one.
func (w *worker) release(h *heldSample, rest *restOfChain) {
	e, s := w.events.OfSample(h.payload), &w.sample
	if e == nil || e.Layout.DecodeSample(s, h.misc, h.payload) != nil {
		return // cannot be: it was decoded before
	}
	if rest != nil {
		rest.joinTo(s, &h.state)
	} else {
		w.stats.halfChains++
	}
	w.rows(e, s, &h.state)
}

// hold counts n bytes and makes room when there are too many.
func (w *worker) hold(n int) {
	const overhead = 100
	j := &w.joining
	if j.now.size += n + overhead; j.now.size > maxGeneration {
		w.giveUp(j.before)
		j.before, j.now = j.now, generation{}
	}
}

// releaseAll emits the samples that still wait, in the order of their arrival, and
// forgets the rests of chains.
func (w *worker) releaseAll() {
	j := &w.joining
	w.giveUp(j.before)
	w.giveUp(j.now)
	*j = joining{seen: j.seen}
}

// giveUp emits the samples of a generation without the rest of their chains.
func (w *worker) giveUp(g generation) {
	var all []heldSample
	for samples := range maps.Values(g.samples) {
		all = append(all, samples...)
	}
	slices.SortFunc(all, func(a, b heldSample) int { return cmp.Compare(a.order, b.order) })
	for i := range all {
		w.release(&all[i], nil)
	}
}
