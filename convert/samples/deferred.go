package samples

import (
	"cmp"
	"maps"
	"slices"

	"kprof/convert/timeline"
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
	state timeline.State
}

// heldSample is a sample that waits for the user part of its chain.
type heldSample struct {
	order   uint64 // of arrival
	misc    abi.Misc
	state   timeline.State
	place   uint64
	payload []byte
}

// maxGeneration bounds the bytes of a generation. When it is full the one before
// is given up: its samples go without the rest of their chains. Between a sample and that, there may be
// what all other CPUs have in their rings.
const maxGeneration = 64 << 20

// heldCost is what a sample or the rest of a chain takes beside its bytes.
const heldCost = 100

// deferredCookie returns the cookie that a callchain ends with, if it does.
func deferredCookie(s *abi.Sample) (uint64, bool) {
	n := len(s.Callchain)
	if !s.HasChain || n < 2 || s.Callchain[n-2] != abi.ContextUserDeferred {
		return 0, false
	}
	return s.Callchain[n-1], true
}

// join adds the user part to the chain of the sample at hand if it is there already;
// else it keeps the sample and returns false.
func (x *sampler) join(payload []byte, cookie uint64) bool {
	s, j := &x.sample, &x.joining
	key := joinKey{s.TID, cookie}
	for _, g := range []*generation{&j.now, &j.before} {
		if rest, ok := g.rests[key]; ok {
			rest.joinTo(s)
			return true
		}
	}
	if j.now.samples == nil {
		j.now.samples = map[joinKey][]heldSample{}
	}
	j.now.samples[key] = append(j.now.samples[key], heldSample{j.seen, s.Misc, s.State, s.Place, slices.Clone(payload)})
	j.seen++
	x.hold(len(payload)) // last: it may decode others into s
	return false
}

// joinTo puts the rest of a chain, as user addresses, into the place of its cookie.
func (r *restOfChain) joinTo(s *Sample) {
	s.Callchain = append(append(s.Callchain[:len(s.Callchain)-2], abi.ContextUser), r.chain...)
	s.State.UseAddressesOf(&r.state)
}

// takeDeferred joins the rest of a callchain to the samples that wait for it.
func (x *sampler) takeDeferred(payload []byte, place uint64) {
	e := x.events.OfOther(payload)
	if e == nil {
		x.badRecords++
		return
	}
	d, err := e.Layout.DecodeCallchainDeferred(payload)
	if err != nil {
		x.badRecords++
		return
	}
	t := d.Time
	if x.byPlace {
		t = place
	}
	rest := restOfChain{chain: d.Callchain, state: x.tl.At(d.PID, d.TID, t)}
	j := &x.joining
	key := joinKey{d.TID, d.Cookie}
	for _, g := range []*generation{&j.before, &j.now} {
		samples := g.samples[key]
		delete(g.samples, key)
		for i := range samples {
			g.size -= len(samples[i].payload) + heldCost
			x.release(&samples[i], &rest)
		}
		if _, twice := g.rests[key]; twice { // each event writes its own
			return
		}
	}
	if j.now.rests == nil {
		j.now.rests = map[joinKey]restOfChain{}
	}
	j.now.rests[key] = rest
	x.hold(8 * len(d.Callchain))
}

// release emits a sample that was kept, with the rest of its chain if there is one.
func (x *sampler) release(h *heldSample, rest *restOfChain) {
	e, s := x.events.OfSample(h.payload), &x.sample
	if e == nil || e.Layout.DecodeSample(&s.Sample, h.misc, h.payload) != nil {
		return // cannot be: it was decoded before
	}
	s.Event, s.State, s.Place = e, h.state, h.place
	if rest != nil {
		rest.joinTo(s)
	} else {
		x.missingDeferredChains++
	}
	x.deliver()
}

// hold counts n bytes and makes room when there are too many.
func (x *sampler) hold(n int) {
	j := &x.joining
	if j.now.size += n + heldCost; j.now.size > maxGeneration {
		x.giveUp(j.before)
		j.before, j.now = j.now, generation{}
	}
}

// releaseAll emits the samples that still wait, in the order of their arrival, and
// forgets the rests of chains.
func (x *sampler) releaseAll() {
	j := &x.joining
	x.giveUp(j.before)
	x.giveUp(j.now)
	*j = joining{seen: j.seen}
}

// giveUp emits the samples of a generation without the rest of their chains.
func (x *sampler) giveUp(g generation) {
	var all []heldSample
	for samples := range maps.Values(g.samples) {
		all = append(all, samples...)
	}
	slices.SortFunc(all, func(a, b heldSample) int { return cmp.Compare(a.order, b.order) })
	for i := range all {
		x.release(&all[i], nil)
	}
}
