package stacktext

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"

	"kprof/convert/stacks"
)

// Since Linux 6.19 the user part of a callchain may come later. perf script --no-merge-callchains
// prints a sample's as a frame that is a cookie, and the rest behind a header of its own, for all
// samples of that cookie (tools/perf/builtin-script.c, process_deferred_sample_event):
//
//	b00000006 (cookie) ([unknown])
//
//	pwd    2312   121.163447: DEFERRED CALLCHAIN [cookie: b00000006]
//
// Without the option it prints the cookies of those alone whose rest the recording does not have.
var (
	cookieFrame    = []byte("(cookie)")
	deferredHeader = []byte(" DEFERRED CALLCHAIN [cookie: ")
)

// maxWaiting bounds the samples that wait for the rest of their callchain: of twice as many, those
// that came first go without.
const maxWaiting = 1 << 16

// waiting is the samples that wait, by their cookies, the newest in a generation of their own.
type waiting struct {
	now, before map[uint64][]sample
	n           int    // in now
	seen        uint64 // so far
}

// sample is what is kept of one.
type sample struct {
	order   uint64 // of arrival
	event   int
	labels  stacks.LabelsID
	time    uint64 // ns
	hasTime bool
	period  uint64
	chain   []uint32 // the frames that it has
}

// deferredCookie returns the cookie in the header of the rest of a callchain.
func deferredCookie(line []byte) (cookie uint64, ok bool) {
	_, s, ok := bytes.Cut(line, deferredHeader)
	if !ok {
		return 0, false
	}
	s, _, ok = bytes.Cut(s, []byte("]"))
	cookie, err := strconv.ParseUint(string(s), 16, 64)
	return cookie, ok && err == nil
}

// wait keeps the sample at hand until the rest of its callchain comes.
func (p *perfScript) wait(cookie uint64, s sample) {
	w := &p.waiting
	if w.n >= maxWaiting {
		p.giveUp(w.before)
		w.before, w.now, w.n = w.now, nil, 0
	}
	if w.now == nil {
		w.now = map[uint64][]sample{}
	}
	s.order, s.chain = w.seen, slices.Clone(s.chain)
	w.now[cookie] = append(w.now[cookie], s)
	w.n, w.seen = w.n+1, w.seen+1
}

// takeDeferred adds the samples that have waited for the rest of a callchain. Each event writes
// its own: nothing waits for the second.
func (p *perfScript) takeDeferred(cookie uint64, rest []uint32) {
	for _, g := range [...]map[uint64][]sample{p.waiting.before, p.waiting.now} {
		for _, s := range g[cookie] {
			s.chain = append(s.chain, rest...)
			if len(s.chain) > stacks.MaxDepth {
				s.chain = s.chain[:stacks.MaxDepth]
				p.stats.ShortenedStacks++
			}
			p.add(&s)
		}
		delete(g, cookie)
	}
}

// giveUp adds samples without the rest of their callchains.
func (p *perfScript) giveUp(g map[uint64][]sample) {
	var all []sample
	for samples := range maps.Values(g) {
		all = append(all, samples...)
	}
	slices.SortFunc(all, func(a, b sample) int { return cmp.Compare(a.order, b.order) })
	for i := range all {
		p.stats.MissingDeferredChains++
		p.add(&all[i])
	}
}
