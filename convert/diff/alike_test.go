package diff

import (
	"math"
	"testing"
)

// TestAlike: what two functions must have in common to be one, at the borders of each rule. Function 10
// calls both, 20 to 22 are called, and many is what they cost themselves.
func TestAlike(t *testing.T) {
	type around = map[uint32]float64
	of := func(callers, callees around) *neighbours {
		return &neighbours{callers: callers, callees: callees, beyond: callers, below: callees, cum: 10, samples: 100, expected: 100}
	}
	leaf := func() *neighbours { return of(around{10: 1}, around{many: 1}) }
	elsewhere := func(share float64) func(a, b *neighbours) { // called by the same for this share
		return func(a, b *neighbours) { b.callers = around{10: share, 11: 1 - share}; b.beyond = b.callers }
	}
	costs := func(cum float64) func(a, b *neighbours) { return func(a, b *neighbours) { b.cum = cum } }
	calls := func(share float64) func(a, b *neighbours) { // the same for this share
		return func(a, b *neighbours) {
			a.callees, b.callees = around{20: share, many: 1 - share}, around{20: share, many: 1 - share}
			a.below, b.below = a.callees, b.callees
		}
	}
	others := func(share float64) func(a, b *neighbours) { // each something else
		return func(a, b *neighbours) {
			a.callees, b.callees = around{20: share, many: 1 - share}, around{21: share, many: 1 - share}
			a.below, b.below = a.callees, b.callees
		}
	}
	samples := func(n float64) func(a, b *neighbours) { return func(a, b *neighbours) { a.samples = n } }
	notByChance := func(a, b *neighbours) { a.expected, b.samples = 36, 64 }
	stayed := func(a, b *neighbours) { a.stayed = true }
	known := func(a, b *neighbours) { a.known, b.known = true, true }
	no := math.NaN() // code is not known
	for _, x := range []struct {
		rule   string
		name   float64
		code   float64
		change []func(a, b *neighbours)
		want   bool
	}{
		{"called elsewhere, by much of its name", 0.7, no, []func(a, b *neighbours){elsewhere(0)}, true},
		{"called elsewhere, by less", 0.69, no, []func(a, b *neighbours){elsewhere(0)}, false},
		{"called alike enough", 0.4, no, []func(a, b *neighbours){elsewhere(0.4)}, true},
		{"not enough", 0.4, no, []func(a, b *neighbours){elsewhere(0.39)}, false},
		{"seldom", 0.7, no, []func(a, b *neighbours){samples(2.9)}, true},
		{"seldom, by less of its name", 0.69, no, []func(a, b *neighbours){samples(2.9)}, false},
		{"often enough", 0.69, no, []func(a, b *neighbours){samples(3)}, true},
		{"one stayed, and costs alike", 0.8, no, []func(a, b *neighbours){stayed, costs(6)}, true},
		{"one stayed, and does not", 0.8, no, []func(a, b *neighbours){stayed, costs(5.9)}, false},
		{"one stayed, and is called elsewhere", 0.8, no, []func(a, b *neighbours){stayed, elsewhere(0.39)}, false},
		{"both stayed", 1, no, []func(a, b *neighbours){stayed, func(a, b *neighbours) { b.stayed = true }}, false},

		// Called elsewhere, and not by chance at other cost.
		{"a tenth", 0.8, no, []func(a, b *neighbours){elsewhere(0), notByChance, costs(1)}, true},
		{"less than a tenth", 0.8, no, []func(a, b *neighbours){elsewhere(0), notByChance, costs(0.9)}, false},
		{"less than a tenth, of the same words", 0.95, no, []func(a, b *neighbours){elsewhere(0), notByChance, costs(0.9)}, true},
		{"nearly the same name", 0.75, no, []func(a, b *neighbours){elsewhere(0), notByChance, costs(5)}, true},
		{"less of a name", 0.74, no, []func(a, b *neighbours){elsewhere(0), notByChance, costs(5)}, false},
		{"less of a name, of like cost", 0.74, no, []func(a, b *neighbours){elsewhere(0), notByChance, costs(6)}, true},
		{"at chance's border", 0.74, no, []func(a, b *neighbours){elsewhere(0), func(a, b *neighbours) { a.expected, b.samples = 40, 60 }, costs(5)}, true}, // 20 of twice 10
		{"beyond it", 0.74, no, []func(a, b *neighbours){elsewhere(0), func(a, b *neighbours) { a.expected, b.samples = 39.9, 60.1 }, costs(5)}, false},

		// What speaks for a pair.
		{"a name at some cost", 0.4, no, []func(a, b *neighbours){costs(3)}, true},
		{"at less", 0.4, no, []func(a, b *neighbours){costs(2.9)}, false},
		{"less of a name at any", 0.39, no, []func(a, b *neighbours){costs(10)}, false},
		{"what it calls", 0.1, no, []func(a, b *neighbours){calls(0.31), costs(6)}, true},
		{"at another cost", 0.1, no, []func(a, b *neighbours){calls(0.31), costs(5.9)}, false},
		{"less of what it calls", 0.1, no, []func(a, b *neighbours){calls(0.29), costs(6)}, false},
		{"all around it, at half the cost", 0.1, no, []func(a, b *neighbours){calls(1), costs(5)}, true},
		{"at less than half", 0.1, no, []func(a, b *neighbours){calls(1), costs(4.9)}, false},
		{"less around it", 0.1, no, []func(a, b *neighbours){calls(0.89), costs(5)}, false},
		{"its code", 0.1, 0.8, nil, true},
		{"less of its code", 0.1, 0.79, nil, false},
		{"code of unlike size", 0.5, 0.34, nil, false},
		{"of like size", 0.5, 0.35, nil, true},
		{"of unlike size, by its name", 0.7, 0.34, nil, true},

		// What calls other things, from the same place.
		{"alone", 0.1, 0.5, []func(a, b *neighbours){others(0.5)}, true},
		{"it costs more itself", 0.1, 0.5, []func(a, b *neighbours){others(0.49)}, false},
		{"of few samples", 0.1, 0.5, []func(a, b *neighbours){others(0.5), samples(8)}, true},
		{"of fewer", 0.1, 0.5, []func(a, b *neighbours){others(0.5), samples(7.9)}, false},
		{"from nearly the same", 0.1, 0.5, []func(a, b *neighbours){others(0.5), elsewhere(0.9)}, true},
		{"from less", 0.1, 0.5, []func(a, b *neighbours){others(0.5), elsewhere(0.89)}, false},
		{"at like cost", 0.1, 0.5, []func(a, b *neighbours){others(0.5), costs(6)}, true},
		{"at unlike cost", 0.1, 0.5, []func(a, b *neighbours){others(0.5), costs(5.9)}, false},
		{"without its code", 0.1, no, []func(a, b *neighbours){others(0.5)}, false},

		// Where each build is known to have one of them, nearly the same name needs less.
		{"known", 0.84, no, []func(a, b *neighbours){known, others(1), elsewhere(0)}, true},           // 0.15 and 0.252
		{"known, of less", 0.83, no, []func(a, b *neighbours){known, others(1), elsewhere(0)}, false}, // 0.15 and 0.249
		{"not known", 0.84, no, []func(a, b *neighbours){others(1), elsewhere(0)}, false},
		{"known, seldom", 0.86, no, []func(a, b *neighbours){known, others(1), elsewhere(0), samples(2)}, true},
		{"known, seldom, of less", 0.84, no, []func(a, b *neighbours){known, others(1), elsewhere(0), samples(2)}, false},
	} {
		a, b := leaf(), leaf()
		for _, change := range x.change {
			change(a, b)
		}
		r := &Result{table: &nameTable{functions: []string{"old", "new"}}, runs: [2][]Run{make([]Run, 1), make([]Run, 1)}}
		r.SimilarCode = func(base, new string) (float64, bool) {
			return x.code, !math.IsNaN(x.code) && base == "old" && new == "new"
		}
		p, ok := r.alike(0, 1, map[uint32]*neighbours{0: a, 1: b}, x.name, nil)
		if ok != x.want || ok && (p.base != 0 || p.new != 1 || p.rewritten != (x.name < 0.4)) {
			t.Errorf("%s: %v, %+v", x.rule, ok, p)
		}
	}
	// Of measurements both names and callers must be like.
	for _, x := range []struct {
		name, callers float64
		want          bool
	}{{0.7, 0.4, true}, {0.69, 0.4, false}, {0.7, 0.39, false}} {
		a, b := leaf(), leaf()
		elsewhere(x.callers)(a, b)
		r := &Result{runs: [2][]Run{{{Measured: true}}, {{Measured: true}}}}
		if _, ok := r.alike(0, 1, map[uint32]*neighbours{0: a, 1: b}, x.name, nil); ok != x.want {
			t.Errorf("measured, %v of the name and %v of callers: %v", x.name, x.callers, ok)
		}
	}
	// What was found to be one is one to the others.
	if got := common(around{1: 0.6, 2: 0.4}, around{3: 0.5, 2: 0.3, 4: 0.2}, map[uint32]uint32{3: 1}); !near(got, 0.8) {
		t.Errorf("in common: %v", got)
	}
}

// TestOnlyIn: that only one build has a function is known if both are.
func TestOnlyIn(t *testing.T) {
	for _, x := range []struct {
		p    Presence
		side int
		ok   bool
	}{
		{Presence{In: [2]bool{true, false}, Known: [2]bool{true, true}}, 0, true},
		{Presence{In: [2]bool{false, true}, Known: [2]bool{true, true}}, 1, true},
		{Presence{In: [2]bool{true, true}, Known: [2]bool{true, true}}, 0, false},
		{Presence{In: [2]bool{false, false}, Known: [2]bool{true, true}}, 0, false},
		{Presence{In: [2]bool{true, false}, Known: [2]bool{true, false}}, 0, false},
		{Presence{In: [2]bool{false, true}, Known: [2]bool{false, true}}, 0, false},
	} {
		if side, ok := x.p.onlyIn(); side != x.side || ok != x.ok {
			t.Errorf("%+v: %d, %v", x.p, side, ok)
		}
	}
}

// TestReasons: each has its words, and those of no function names their share.
func TestReasons(t *testing.T) {
	for r := range Reason(NoNames + 2) {
		if got := r.String(); (got == "Reason(0)") != (r == 0) || (got == "Reason(8)") != (r == NoNames+1) || got == "" {
			t.Errorf("%d: %q", r, got)
		}
	}
	if got := (&RunError{Run: "a", Reason: NoNames, Share: 0.93}).Error(); got != "a has no function names for 93 % of its samples, which the other side has" {
		t.Error(got)
	}
}
