package trace

import (
	"maps"
	"slices"
	"strings"

	"kprof/convert/trace/ftracetext"
	"kprof/perfevent/perfdata"
)

// textRing is the ring of a CPU, as far as a text tells of it.
type textRing struct {
	events uint64
	first  uint64   // time of the first
	late   lateness // before which earlier ones were overwritten
	visits visits
}

// lateness says whether events were overwritten before the first one of a ring.
type lateness uint8

const (
	notLate lateness = iota
	maybeLate
	surelyLate
)

// maxTextRings is among how many CPUs the tasks that are told apart are shared out.
const maxTextRings = 1 << 6

// fullRing is how many times the events of a ring that is full may be those of another one, whose
// events are larger. All rings have the same size.
const fullRing = 8

// begins takes the line that a ring begins: "##### CPU 2 buffer started ####". The kernel writes it
// of each but the first where events of any were overwritten (kernel/trace/trace.c,
// test_cpu_buff_start).
func (w *textWalk) begins(line string) {
	cpu, rest, _ := strings.Cut(strings.TrimPrefix(line, "##### CPU "), " ")
	if n, ok := ftracetext.CPU(cpu); ok && strings.HasPrefix(rest, "buffer started") {
		w.t.annotated = true
		w.late(n, maybeLate)
	}
}

// ring returns that of a CPU.
func (t *textTrace) ring(cpu int32) *textRing {
	g := t.rings[cpu]
	if g == nil {
		if t.rings == nil {
			t.rings = map[int32]*textRing{}
		}
		g = &textRing{visits: newVisits(maxTextRings)}
		t.rings[cpu] = g
	}
	return g
}

// late notes that events of a CPU may have been overwritten, if there was none before.
func (w *textWalk) late(cpu int32, l lateness) {
	if _, seen := w.tasks[cpu]; seen {
		return
	}
	if g := w.t.ring(cpu); l > g.late {
		g.late = l
	}
}

// note takes an event.
func (g *textRing) note(e *textEvent) {
	if g.events++; g.events == 1 {
		g.first = e.time
	}
	g.visits.take(e.tid)
}

// findLate says which rings begin late. Where events were overwritten and the kernel tells of no ring that it begins,
// as with its option noannotate, all may.
func (t *textTrace) findLate() []*perfdata.LateRings {
	var fullest uint64
	for _, g := range t.rings {
		fullest = max(fullest, g.events)
	}
	var rings []seenRing
	for _, cpu := range slices.Sorted(maps.Keys(t.rings)) {
		g := t.rings[cpu]
		maybe := g.late == maybeLate || t.overwritten && !t.annotated
		late := g.late == surelyLate || maybe && g.events >= fullest/fullRing
		rings = append(rings, seenRing{cpu, g.first, t.last, late, g.visits})
	}
	l := lateRings(rings)
	if l == nil {
		return nil
	}
	l.Any = true
	return []*perfdata.LateRings{l}
}
