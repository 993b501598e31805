package record

import (
	"fmt"

	"kprof/perfevent/event"
	"kprof/perfevent/tracefs"
)

// ledger has what the kernel counted of probes in tracefs (kprobe_profile) at three
// times: before their counters were opened, when sampling was enabled, and when it was
// disabled. The kernel counts the hits of a probe, in whatever task, while somebody has
// it open. The zero value is of events that are not counted so.
type ledger struct {
	resolver               *event.Resolver
	opened, started, ended map[tracefs.Event]tracefs.Counts
	err                    error
}

// newLedger looks for the first time, if there may be a probe among events.
func newLedger(r *event.Resolver, events []*recordedEvent) ledger {
	l := ledger{resolver: r}
	var all map[tracefs.Event]tracefs.Counts
	for _, e := range events {
		if e.Tracepoint == (tracefs.Event{}) {
			continue
		}
		if all == nil {
			if all, l.err = r.AllProbeCounts(); l.err != nil {
				break
			}
		}
		if all[e.Tracepoint].MissesKnown {
			l.opened = all
		}
	}
	return l
}

// start looks when sampling is enabled.
func (l *ledger) start() {
	if l.opened != nil {
		l.started, l.err = l.resolver.AllProbeCounts()
	}
}

// end looks when sampling is disabled, once.
func (l *ledger) end() {
	if l.opened != nil && l.ended == nil {
		l.ended, l.err = l.resolver.AllProbeCounts()
	}
}

// fill adds to es what the kernel counted of e's probe. What cannot be read of another
// one's probe is not known, and no error.
func (l *ledger) fill(e *event.Event, es *EventStats) error {
	was, known := l.opened[e.Tracepoint]
	now, there := l.ended[e.Tracepoint]
	own := e.Source.Kind == event.KindProbe && e.Tracepoint != tracefs.Event{}
	switch {
	case own && l.err != nil:
		return l.err
	case own && known && !there:
		return fmt.Errorf("probe %s is gone", e.Tracepoint)
	}
	k := KernelHits{Hits: now.Hits - was.Hits}
	if !known || !there || !was.MissesKnown || now.Hits < was.Hits || now.Misses < was.Misses || k.Hits < es.Hits {
		return nil
	}
	k.Filtered = k.Hits - es.Hits
	if c, ok := l.started[e.Tracepoint]; ok && c.Hits >= was.Hits {
		k.Before = min(c.Hits-was.Hits, k.Filtered)
	}
	es.Missed, es.MissedKnown, es.Kernel = now.Misses-was.Misses, true, k
	return nil
}
