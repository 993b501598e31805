// Package spandiff compares how long things took on two sides: how often, what a call
// costs, and how its times are distributed.
//
// Spans that follow each other are not independent, and the times of calls have long tails.
// So a run is divided into blocks of equal time, and what is judged are shares and means over
// blocks: whether calls are above the median, or the 99th percentile, of both sides together
// is a question of a share, which a t test answers whatever the distribution is. The
// intervals that are shown are those of a bootstrap of the blocks. With several runs of a side
// it is the runs that differ.
package spandiff

import (
	"cmp"
	"math"
	"slices"

	"kprof/convert/diff"
	"kprof/convert/stacks"
)

// Options say how to compare.
type Options struct {
	Alpha float64 // probability that anything is told where nothing has changed. Default: 0.05
	// By are the labels by whose values spans are grouped. Default: those of the rule, or the
	// comm of times off the CPU.
	By []string

	noIntervals bool // of a bootstrap
	any         bool // no change is too small
}

// Verdict says what became of the times of a group.
type Verdict uint8

const (
	Noise     Verdict = iota
	Slower            // a call costs more, by its mean, median or 99th percentile
	Faster            // it costs less
	Spread            // some of the three are more, others less
	MoreCalls         // what a call costs has not changed, their number has
	FewerCalls
)

func (v Verdict) String() string {
	return [...]string{"noise", "slower", "faster", "spread", "more calls", "fewer calls"}[v]
}

// Interval is where a number is.
type Interval struct{ Low, High float64 }

// Change is a number on both sides. It is 0 where a side has no calls.
type Change struct {
	Base, New float64
	// Of is where it is on each side, Ratio where New/Base is, at the level 0.95, by the bootstrap or
	// the spread between runs; zero where that is not known.
	Of    [2]Interval
	Ratio Interval
	// Tested says that there were enough calls, with their times, to judge by.
	Tested      bool
	P           float64 // of this change alone, 1 if it was not tested
	Adjusted    float64 // corrected for all that were tested
	Least       float64 // share by which it must change at least, to be told
	Significant bool    // Adjusted at most Alpha, and by at least Least
}

// Group is what both sides have of a group.
type Group struct {
	Name   string // values of the labels, "" for all spans
	Calls  Change // per run
	Rate   Change // calls per second of a run
	Mean   Change // ns per call
	Median Change // ns
	P99    Change // ns
}

// Verdict says what became of the group.
func (g *Group) Verdict() Verdict {
	up, down := false, false
	for _, c := range []*Change{&g.Mean, &g.Median, &g.P99} {
		if c.Significant {
			up = up || c.New > c.Base
			down = down || c.New < c.Base
		}
	}
	switch {
	case up && down:
		return Spread
	case up:
		return Slower
	case down:
		return Faster
	case g.Rate.Significant && g.Rate.New > g.Rate.Base:
		return MoreCalls
	case g.Rate.Significant:
		return FewerCalls
	}
	return Noise
}

// Time is what the calls of a run take together, in ns, on the side where that is more.
func (g *Group) Time() float64 {
	return max(g.Calls.Base*g.Mean.Base, g.Calls.New*g.Mean.New)
}

// Tested reports whether anything of the group was judged.
func (g *Group) Tested() bool {
	return slices.ContainsFunc(g.judged(), func(c *Change) bool { return c.Tested })
}

// Result is a comparison.
type Result struct {
	By     []string // labels
	Groups []Group  // those that changed first, then those with the most time
	// More is how many groups with less time are only part of the group of all spans.
	More  int
	Alpha float64
	Least float64 // the smallest Change.Least
	Tests int     // number of changes that p-values are corrected for
	// Blocks are the blocks of time of each run that intervals are made from, 0 if it is the
	// runs.
	Blocks int
	// Sums says that the runs have sums of times only: how the times are distributed is not
	// known.
	Sums bool
}

// Changed reports whether any group changed.
func (r *Result) Changed() bool {
	return slices.ContainsFunc(r.Groups, func(g Group) bool { return g.Verdict() != Noise })
}

// Slower reports whether the calls of any group take longer; those of nil do not.
func (r *Result) Slower() bool {
	return r != nil && slices.ContainsFunc(r.Groups, func(g Group) bool { v := g.Verdict(); return v == Slower || v == Spread })
}

const (
	// maxGroups are compared at most, those with the most time.
	maxGroups = 100
	// leastRuns is by how much several runs of each side must differ for it to be told.
	leastRuns = 0.01
	// leastOne is that of one run of each side, and mostOne what it is at most: runs of one
	// build differ in ways that do not show within a run, such as by the clock of the CPU,
	// or by what else the machine did. It is outstanding times what half of the groups
	// differ by, where there are so many.
	leastOne, mostOne, outstanding, manyGroups = 0.1, 0.5, 4, 4
	// leastCalls of both sides together are judged, and of those beyond a quantile.
	leastCalls, leastBeyond = 40, 20
)

// level is that of intervals, whatever differences are tested at.
const level = 0.95

// Is reports whether an event of a Set is of spans that are times.
func Is(e *stacks.Event) bool {
	return e.IsSpans()
}

// Compare compares the spans of runs, at least one of each side, whose events are of spans
// (Is). It is nil where neither side has any that ended.
func Compare(base, new []diff.Run, o Options) *Result {
	r := &Result{By: o.By, Alpha: o.Alpha, Least: leastRuns}
	if r.Alpha == 0 {
		r.Alpha = diff.Defaults.Alpha
	}
	runs := [2][]diff.Run{base, new}
	if r.By == nil {
		r.By = labelKeys(runs)
	}
	t, more := read(runs, r.By)
	if len(t.groups) == 0 {
		return nil
	}
	r.More = more
	for side := range t.runs {
		for _, x := range t.runs[side] {
			r.Sums = r.Sums || !x.timed
		}
	}
	if len(base) == 1 && len(new) == 1 {
		r.Least, r.Blocks = leastOne, blocks
	}
	var tests []*Change
	for i, name := range t.groups {
		g := Group{Name: name}
		if r.Blocks > 0 {
			g.ofBlocks(t.runs[0][0], t.runs[1][0], i)
			if !o.noIntervals {
				g.bootstrap([2]*group{&t.runs[0][0].groups[i], &t.runs[1][0].groups[i]})
			}
		} else {
			g.ofRuns(t.runs, i)
		}
		r.Groups = append(r.Groups, g)
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		for _, c := range g.judged() {
			if c.Adjusted = 1; c.Tested {
				tests = append(tests, c)
			} else {
				c.P = 1
			}
		}
	}
	for i := range (&Group{}).judged() {
		if o.any {
			break
		}
		r.leastOf(i)
	}
	r.judge(tests)
	for i := range r.Groups {
		g := &r.Groups[i]
		g.Rate.Significant = g.Rate.Significant && g.Calls.by(g.Rate.Least) && (g.Calls.New > g.Calls.Base) == (g.Rate.New > g.Rate.Base)
	}
	slices.SortStableFunc(r.Groups, func(a, b Group) int {
		return cmp.Compare(b2i(a.Verdict() == Noise), b2i(b.Verdict() == Noise))
	})
	return r
}

// judged are the numbers that a verdict is made of. The one of calls is their rate, where
// their number has changed with it: work that is done faster has more calls in a second and
// no more of them, a recording that took longer has more of them and no more in a second.
func (g *Group) judged() []*Change { return []*Change{&g.Rate, &g.Mean, &g.Median, &g.P99} }

// leastOf finds by how much one of the judged numbers must change.
func (r *Result) leastOf(i int) {
	least := r.Least
	var all []float64
	for j := range r.Groups {
		if c := r.Groups[j].judged()[i]; c.Tested && c.Base > 0 && c.New > 0 {
			all = append(all, math.Abs(math.Log(c.New/c.Base)))
		}
	}
	if slices.Sort(all); r.Blocks > 0 && len(all) >= manyGroups {
		least = min(max(least, math.Exp(outstanding*all[(len(all)-1)/2])-1), mostOne)
	}
	for j := range r.Groups {
		r.Groups[j].judged()[i].Least = least
	}
}

// by reports whether a number changed by at least a share.
func (c *Change) by(least float64) bool {
	return max(c.Base, c.New) >= (1+least)*min(c.Base, c.New) && c.Base != c.New
}

// judge corrects p-values for their number, by Holm's procedure.
func (r *Result) judge(tests []*Change) {
	r.Tests = len(tests)
	slices.SortStableFunc(tests, func(a, b *Change) int { return cmp.Compare(a.P, b.P) })
	var largest float64
	for i, c := range tests {
		largest = max(largest, min(1, c.P*float64(len(tests)-i)))
		c.Adjusted = largest
		c.Significant = c.Adjusted <= r.Alpha && c.by(c.Least) && !math.IsNaN(c.P)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
