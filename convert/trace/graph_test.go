package trace

import (
	"fmt"
	"testing"
)

// TestGraphInterrupts: functions of an interrupt have their time once, and all that is in a
// function adds up to what it took, also where the interrupt comes before the begin of a function
// is written, or after the time of its end was taken.
func TestGraphInterrupts(t *testing.T) {
	type step struct {
		depth      int
		fn         uint64
		begin, end uint64 // 0, 0 for a begin
	}
	const outer, inner, irq, irqs = 1, 2, 3, 4
	for name, steps := range map[string][]step{
		"within":    {{0, outer, 0, 0}, {1, inner, 0, 0}, {2, irq, 0, 0}, {2, irq, 115, 125}, {1, inner, 110, 130}, {0, outer, 100, 200}},
		"before":    {{0, outer, 0, 0}, {2, irq, 0, 0}, {2, irq, 111, 121}, {1, inner, 0, 0}, {1, inner, 110, 130}, {0, outer, 100, 200}},
		"after":     {{0, outer, 0, 0}, {1, inner, 0, 0}, {2, irq, 0, 0}, {2, irq, 131, 141}, {1, inner, 110, 130}, {0, outer, 100, 200}},
		"several":   {{0, outer, 0, 0}, {1, inner, 0, 0}, {2, irq, 0, 0}, {3, irqs, 0, 0}, {3, irqs, 132, 137}, {2, irq, 131, 141}, {2, irqs, 142, 152}, {1, inner, 110, 130}, {0, outer, 100, 200}},
		"no begin":  {{0, outer, 0, 0}, {2, irq, 111, 121}, {1, inner, 110, 130}, {0, outer, 100, 200}},
		"no end":    {{0, outer, 0, 0}, {1, inner, 0, 0}, {2, irq, 0, 0}, {2, irq, 111, 121}, {1, irqs, 0, 0}, {1, irqs, 140, 150}, {0, outer, 100, 200}},
		"another's": {{0, outer, 0, 0}, {1, irqs, 0, 0}, {2, irq, 0, 0}, {2, irq, 111, 121}, {1, inner, 110, 130}, {0, outer, 100, 200}},
	} {
		var g graph
		own := map[uint64]uint64{}
		var sum uint64
		for _, s := range steps {
			if s.end == 0 {
				g.enter(7, 0, s.depth, callFrame{fn: s.fn})
				continue
			}
			c := g.leave(7, 0, s.depth, ending{fn: s.fn, timed: true, took: s.end - s.begin, begin: s.begin, end: s.end})
			own[s.fn] += c.self
			sum += c.self
		}
		want := map[string]string{
			"within": "map[1:80 2:10 3:10]", "before": "map[1:80 2:10 3:10]", "after": "map[1:70 2:20 3:10]", "several": "map[1:60 2:20 3:5 4:15]",
			"no begin": "map[1:80 2:10 3:10]", "no end": "map[1:80 3:10 4:10]", "another's": "map[1:80 2:10 3:10]",
		}[name]
		if got := fmt.Sprint(own); got != want || sum != 100 {
			t.Errorf("%s: %s, %d in all, want %s", name, got, sum, want)
		}
	}
}

// TestGraphBounded: what is kept of a task does not grow, whatever begins without an end.
func TestGraphBounded(t *testing.T) {
	var g graph
	g.enter(7, 0, 0, callFrame{fn: 1})
	var took uint64
	for i := range uint64(1000) {
		g.enter(7, 0, 1, callFrame{fn: 2})
		g.enter(7, 0, 2, callFrame{fn: 3})
		g.leave(7, 0, 2, ending{fn: 3, timed: true, took: 1, begin: 10 * i, end: 10*i + 1})
		took++
		g.leave(7, 0, 3, ending{fn: 4, timed: true, took: 2, begin: 10*i + 2, end: 10*i + 4})
		took += 2
	}
	if n := len(g.tasks[7].ended); n > 4*maxEnded {
		t.Errorf("%d functions kept", n)
	}
	if c := g.leave(7, 0, 0, ending{fn: 1, timed: true, took: 20000, begin: 0, end: 20000}); c.self != 20000-took {
		t.Errorf("%d ns of its own, want %d", c.self, 20000-took)
	}
}
