package trace

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"

	"kprof/perfevent/ringpage"
)

// surveyReadahead is how much of a ring is read at once to see what is in it.
const surveyReadahead = 256 << 10

// survey walks all rings, to know which events there are and which of them have stacks.
func (r *recording) survey(ctx context.Context) error {
	for i := range r.trace.Rings {
		r.rings = append(r.rings, &ring{Ring: &r.trace.Rings[i]})
	}
	r.told, r.wrapped = toldNames{}, slices.ContainsFunc(r.rings, (*ring).wrapped)
	results := make([]ringSurvey, len(r.rings))
	var next sync.Mutex
	var all sync.WaitGroup
	at := 0
	for range min(runtime.GOMAXPROCS(0), len(r.rings)) {
		all.Go(func() {
			for ctx.Err() == nil {
				next.Lock()
				i := at
				at++
				next.Unlock()
				if i >= len(r.rings) {
					return
				}
				results[i].walk(ctx, r, r.rings[i])
			}
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range results {
		s := &results[i]
		r.rings[i].seen, r.rings[i].losses = s.seen, s.losses
		r.damaged += s.damaged
		if r.failed == nil {
			r.failed = s.failed
		}
		if s.any && (r.first == 0 || s.first < r.first) {
			r.first = s.first
		}
		r.last = max(r.last, s.last)
		r.told.merge(s.told)
		for id := range s.seen {
			r.kind(id)
		}
	}
	if r.wrapped {
		r.findLate(results)
	}
	return nil
}

// findLate notes which rings begin late.
func (r *recording) findLate(results []ringSurvey) {
	buffers := map[string][]seenRing{}
	for i := range results {
		if s, g := &results[i], r.rings[i]; s.any {
			buffers[g.Buffer] = append(buffers[g.Buffer], seenRing{g.CPU, s.first, s.last, s.late, s.visits})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(buffers)) {
		if l := lateRings(buffers[name]); l != nil {
			l.Buffer = name
			r.late = append(r.late, l)
		}
	}
}

// wrapped reports whether events were lost before the first page of a ring: overwritten, as a rule.
func (g *ring) wrapped() bool {
	var p ringpage.Page
	page, err := g.Open(1).Next()
	return err == nil && p.Load(&g.Layout, page) == nil && p.Lost != 0
}

// ringSurvey is what is in a ring.
type ringSurvey struct {
	seen        map[uint64]*seen
	losses      []loss
	any         bool
	first, last uint64
	damaged     uint64
	failed      error
	told        toldNames
	late        bool // events before the first one were lost
	visits      visits
}

func (s *ringSurvey) walk(ctx context.Context, r *recording, g *ring) {
	s.seen, s.told, s.visits = map[uint64]*seen{}, toldNames{}, newVisits(len(r.rings))
	c := cursor{r: r, ring: g, pages: g.Open(surveyReadahead)}
	defer func() { s.damaged, s.failed = c.damaged, c.failed }()
	var before *seen
	var recent [64]struct {
		id   uint64
		seen *seen
	}
	var o owner // before
	for n := 0; ; n++ {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return
		}
		c.readNext()
		if !c.nextOK {
			return
		}
		e := &c.next
		if !s.any {
			s.any, s.first = true, e.time
			s.late = c.nextLost > 0
		}
		if r.wrapped && e.tid != s.visits.tid {
			s.visits.take(e.tid)
		}
		s.first, s.last = min(s.first, e.time), max(s.last, e.time)
		if before != nil {
			stack := c.stackOf(&o)
			for stack == &c.apart {
				before.chains = true
				stack = c.stackOf(&o)
			}
			if stack != nil {
				before.chains = true
				continue
			}
		}
		if c.nextLost > 0 {
			s.losses = append(s.losses, loss{e.time, c.nextLost, c.nextAtLeast})
			c.nextLost, c.nextAtLeast = 0, false
		}
		if x := &recent[e.id%uint64(len(recent))]; x.seen == nil || x.id != e.id {
			if before = s.seen[e.id]; before == nil {
				before = &seen{}
				s.seen[e.id] = before
			}
			x.id, x.seen = e.id, before
		} else {
			before = x.seen
		}
		before.count++
		if e.kind != nil && e.kind.names != nil {
			s.told.note(e.kind.names, e.time, e.data)
		}
		o = ownerOf(e)
	}
}
