package locate

import (
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Cut are stacks with as many addresses as the kernel takes: the callers of the outermost are
// missing, unless there happened to be none.
type Cut struct {
	Frames int // that each has
	Stacks uint64
}

// defaultDepth is how many addresses the kernel takes where neither the event nor
// kernel.perf_event_max_stack says another number (PERF_MAX_STACK_DEPTH, linux/perf_event.h).
const defaultDepth = 127

// depth is how deep the callchains of an event are.
type depth struct {
	limit    int
	asked    bool // limit is the event's own, else what it most often is
	all      bool // markers count too
	deferred bool // user addresses are taken later, and do not count
	at       uint64
	beyond   bool // there are deeper ones
}

// newDepth: an event says its limit, or has that of the machine then. Before Linux 4.8, which
// made it a field of the event, markers of contexts counted too (perf_callchain_store,
// kernel/events/callchain.c).
func newDepth(a *abi.Attr) depth {
	d := depth{limit: int(a.SampleMaxStack), asked: true, deferred: a.Flags&abi.FlagDeferCallchain != 0}
	if d.limit == 0 {
		d.limit, d.asked, d.all = defaultDepth, false, a.Size < abi.AttrSizeVer5
	}
	return d
}

// seeDepth counts a callchain that may be as deep as it can be.
func (l *Locator) seeDepth(e *perfdata.Event, chain []uint64) {
	for len(l.depths) <= e.Index {
		l.depths = append(l.depths, depth{})
	}
	d := &l.depths[e.Index]
	if d.limit == 0 {
		*d = newDepth(&e.Attr)
	}
	if len(chain) < d.limit {
		return
	}
	n := 0
	for _, addr := range chain {
		if d.deferred && (addr == abi.ContextUser || addr == abi.ContextUserDeferred) {
			break
		}
		if addr < abi.ContextMax {
			n++
		}
	}
	switch {
	case n == d.limit, n < d.limit && d.all && len(chain) == d.limit:
		d.at++
	case n > d.limit:
		d.beyond = true
	}
}

// cut are the stacks that were cut, one entry for each depth. Where an event does not say how deep
// they could be, and some are deeper than is usual, it is not known which were.
func (l *Locator) cut() (all []Cut) {
next:
	for _, d := range l.depths {
		if d.at == 0 || d.beyond && !d.asked {
			continue
		}
		for i := range all {
			if all[i].Frames == d.limit {
				all[i].Stacks += d.at
				continue next
			}
		}
		all = append(all, Cut{Frames: d.limit, Stacks: d.at})
	}
	return all
}
