// Package diff compares two profiles, or two groups of them, function by function.
//
// Functions are matched by name, with what differs between builds folded away
// (Names). Each has a cost of its own (self) and with all it calls (cum), as a
// share of the total or per second, operation or event. Differences have an
// interval and a p-value:
//
//   - two runs with the times of their samples: from the variance between blocks
//     of time, since samples that follow each other are not independent;
//   - two runs without times: from their number, with an over-dispersion that is
//     estimated from all functions together;
//   - repeated runs: from the variance between runs.
//
// One run of each side does not tell a rate: per second, operation or run. Counts of what
// was recorded every time are compared as they are, up to what was lost. What only one side has samples of is
// tested exactly. P-values are corrected for the number of functions looked at, those that
// were named as suspects apart.
//
// The answer is one of three (Outcome), with the smallest difference that could have been
// told (Result.Resolution). Samples of idle CPUs are left out.
package diff

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"kprof/convert/stacks"
)

// Verdict says what became of a function.
type Verdict uint8

const (
	Noise Verdict = iota // not more than chance, or less than the minimum effect
	More
	Less
	New   // more, and the base did not have it
	Gone  // less, and there is no more of it
	Moved // between a function and what it is inlined into, or others below one caller: together they cost the same
	// ShareOnly: only its share changed, with those of most functions alike, since
	// something else costs more or less.
	ShareOnly
	// Renamed: it costs what a function of the base does that is called alike, and does
	// not exist on the new side; see Function.Pair.
	Renamed
	// Unclear: it differs by more than chance, and what explains it is not known to be the build:
	// that programs ran more or less (Result.Programs), or interrupts (Result.Interrupts).
	Unclear
)

func (v Verdict) String() string {
	return [...]string{"noise", "more", "less", "new", "gone", "moved", "share only", "renamed", "unclear"}[v]
}

// Difference is a cost on both sides: shares, or values per second, operation or
// event; of repeated runs, their means.
type Difference struct {
	Base, New, Diff float64
	Low, High       float64 // interval of Diff at the level 1-Alpha
	P               float64 // of this difference alone
	Adjusted        float64 // corrected for all that were tested; 1 if it was not
	Significant     bool    // Adjusted at most Alpha, or known from the builds, and at least the minimum effect
	// Upper is what Diff is at most: the upper end of an interval that is corrected for
	// all that were tested, as Adjusted is. 0 if it was not tested.
	Upper float64
	// ShareOnly says that only the share changed, with most others alike, since something
	// else costs more or less.
	ShareOnly bool

	deviation, freedom float64
	tested             bool
}

// Ratio is what the new side costs in terms of the base: 1 if it is the same, +Inf if
// only the new side has it, NaN if neither does.
func (d *Difference) Ratio() float64 { return d.New / d.Base }

// Function is what both sides have of a function.
type Function struct {
	Name      string
	Verdict   Verdict
	Self, Cum Difference
	// Values as they are in the profiles, summed over runs.
	BaseSelf, NewSelf, BaseCum, NewCum int64
	// With are the functions that cost moved from or to, for Moved; or Within is a
	// caller that costs what it did, below which other functions now do it; or Around is
	// the function below that has most of the cost, and has it on the other side too.
	With           []string
	Within, Around string
	// Pair is the name that stands for this function on the base, where it has none of
	// this one; "" otherwise. Rewritten says that these names have little in common.
	Pair      string
	Rewritten bool
	Suspect   bool // one of Options.Suspects
	// Built says that New or Gone is known from the builds, and what it costs is not more
	// than chance: that is no change of cost.
	Built bool

	// Paths are stacks with this function as leaf or, if only its cum differs,
	// the ways to it; those that differ most first. OtherPaths is the sum of
	// those not listed, NumPaths the number of all.
	Paths      []Path
	OtherPaths Path
	NumPaths   int
}

// Path is a cost by call path.
type Path struct {
	Stack     []string // the outermost function first
	Base, New float64  // as in Difference
}

// Side is one of the two groups of runs.
type Side struct {
	Runs    []string
	Samples float64 // as many equal samples as the runs are worth
	Counted int64   // how many samples they have, 0 if not known
	Value   int64   // total of all runs
	Total   float64 // in the unit of Difference; the mean of the runs
	Idle    int64   // values that were left out, but for Result.Interrupts
	CPU     float64 // seconds that the samples stand for, of all runs; 0 if not known
	Seconds float64 // that all runs took, 0 if not known
	Machine Machine // of the first run
}

// Result is a comparison.
type Result struct {
	Options
	Event     string
	Value     stacks.ValueType
	Base, New Side
	Total     Difference // for shares all is 1
	// PerRun is the total of a run in units of Value, idle left out; with an interval where
	// there are repeated runs. PerRunKnown is false where the sides count different things.
	PerRun      Difference
	PerRunKnown bool
	Functions   []Function // those that changed first: see Function.class
	Outcome     Outcome
	// Resolution is the smallest difference that would have been told for every function,
	// as a share of the base's total; +Inf if none is.
	Resolution float64
	// Interrupts is what of interrupts was left out of one run of each side; nil for nothing.
	Interrupts *Interrupts
	// Programs are those that ran, the one first of which the share changed most, if that explains
	// what changed: see Unclear. Else there are none.
	Programs []Program
	// CommonFactor is by what most shares changed alike, for PerShare.
	CommonFactor float64
	Merged       []Merged // by name
	Method       string   // a clause on where intervals come from
	Tests        int      // number of differences that p-values are corrected for
	Notes        []string // sentences that a reader must know

	table *nameTable
	runs  [2][]Run
	whole [2][]Run    // with what of Interrupts was left out
	left  [2][]uint32 // which that is, see interruptsOf
	// inside is what functions cost in interrupts, nil for nothing.
	inside [2][]*cost
	names  [2][]*frames
	// weights are what the values of each run are multiplied with by Means.
	weights [2][]float64
	pairs   []pair
	lossy   bool // nothing is uncertain but for what was lost
	// untested says that functions below half the minimum effect were not tested.
	untested bool
}

// Compare compares runs of a base with runs of something new.
func Compare(base, new []Run, o Options) (*Result, error) {
	r, c, err := prepare(base, new, o)
	if err != nil {
		return nil, err
	}
	r.inside = r.interruptCosts()
	r.pairUp(r.renamed(c), c)
	r.compare(c)
	r.merged()
	return r, nil
}

// prepare checks that runs can be compared, finds out by which names, and sums up costs.
func prepare(base, new []Run, o Options) (r *Result, c [2][]*cost, err error) {
	runs := [2][]Run{base, new}
	o.Alpha = cmp.Or(o.Alpha, Defaults.Alpha)
	if o.Alpha <= 0 || o.Alpha >= 1 {
		return nil, c, fmt.Errorf("alpha is %v: it must be between 0 and 1", o.Alpha)
	}
	if o.MinEffect < 0 {
		return nil, c, fmt.Errorf("the minimum effect is %v: it must not be negative", o.MinEffect)
	}
	runs = copied(runs)
	notes, err := comparable(runs, &o)
	if err != nil {
		return nil, c, err
	}
	o.Names = o.Names.Of(runs)
	first := &base[0]
	r = &Result{
		Options: o, Notes: notes, runs: runs,
		Event: first.Set.Events[first.Event].Name,
		Value: first.Set.Events[first.Event].Values[first.Column],
	}
	notes, err = leaveIdle(runs, &o)
	if err != nil {
		return nil, c, err
	}
	r.Notes = append(r.Notes, notes...)
	r.whole = copied(runs)
	if r.Interrupts, r.left = leaveInterrupts(runs, &r.Options); r.Interrupts != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("what ran in interrupts, and in threads that go on with their work, is left out, since one run of each side does not tell how much that differs from run to run: %.1f%% of the base, %.1f%% of the new side",
			100*r.Interrupts.Base, 100*r.Interrupts.New))
	}
	var onlyInline int
	r.table, r.names, onlyInline = align(runs, &o.Names, r.collapse())
	if onlyInline >= 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("only %s has inlined functions: those that are no functions of their own on the other side count for their callers",
			sideText[onlyInline]))
	}
	if c, err = r.costs(); err == nil {
		err = r.symbols(c)
	}
	return r, c, err
}

// costs sums up all runs, both sides at once.
func (r *Result) costs() (c [2][]*cost, err error) {
	var wg sync.WaitGroup
	for side := range r.runs {
		c[side] = make([]*cost, len(r.runs[side]))
		wg.Go(func() {
			for i := range r.runs[side] {
				c[side][i] = costs(&r.runs[side][i], r.names[side][i], r.Per, nil)
			}
		})
	}
	wg.Wait()
	for side := range c {
		var sum int64
		for i, x := range c[side] {
			if x.total <= 0 {
				err = errors.Join(err, fmt.Errorf("%s: event %s has no samples to compare", r.runs[side][i].Name, r.Event))
				continue
			}
			if x.total > math.MaxInt64-sum {
				return c, fmt.Errorf("%s: with the runs before it, %w", r.runs[side][i].Name, &stacks.TooLargeSumError{Event: r.Event, Column: r.Value.Type})
			}
			sum += x.total
		}
	}
	return c, err
}

// compare fills in the functions and the total.
func (r *Result) compare(c [2][]*cost) {
	d := newData(r.runs, c, r.Per)
	m := newModel(d, r)
	r.Method, r.lossy = m.method(), m.missing > 0
	r.sides(d)
	scale := r.Base.Total // a difference of this much is 100 %

	n := len(r.table.functions)
	r.Functions = make([]Function, n)
	var tests, suspected []test
	add := func(diff *Difference, middle float64, suspect bool) {
		// What is large neither way cannot be reported; to judge by both sides
		// together leaves the p-values of the others as they are.
		switch {
		case suspect:
			diff.tested = true
			suspected = append(suspected, test{diff: diff})
		case middle > 0 && (middle >= r.MinEffect/2 || r.Measured()):
			diff.tested = true
			tests = append(tests, test{diff: diff})
		case middle > 0:
			r.untested = true
		}
	}
	suspects := r.suspects()
	for fn := range uint32(n) {
		f := &r.Functions[fn]
		f.Name, f.Suspect = r.table.functions[fn], suspects[fn]
		for side := range c {
			self, cum := &f.BaseSelf, &f.BaseCum
			if side == 1 {
				self, cum = &f.NewSelf, &f.NewCum
			}
			for _, x := range c[side] {
				*self += x.self[fn]
				*cum += x.cum[fn]
			}
		}
		f.Self = m.difference(d.function(fn, false))
		f.Cum = f.Self
		add(&f.Self, f.Self.middle()/scale, f.Suspect)
		if f.BaseCum != f.BaseSelf || f.NewCum != f.NewSelf {
			f.Cum = m.difference(d.function(fn, true))
			add(&f.Cum, f.Cum.middle()/scale, f.Suspect)
		}
	}
	if !r.Measured() {
		r.Total = m.difference(d.totals())
	}
	if r.Per != PerShare && !r.Measured() {
		add(&r.Total, 1, false)
	}
	bounded := append(append([]test(nil), tests...), suspected...)
	if r.perRun(c); r.PerRun.tested {
		tests = append(tests, test{diff: &r.PerRun})
	}
	holm(tests)
	holm(suspected)
	for _, t := range tests {
		least := r.MinEffect * scale
		if t.diff == &r.PerRun {
			least = r.MinEffect * r.PerRun.Base
		}
		t.diff.Significant = t.diff.Adjusted <= r.Alpha && abs(t.diff.Diff) >= least
	}
	for _, t := range suspected {
		t.diff.Significant = t.diff.Adjusted <= r.Alpha
	}
	if r.Measured() { // which is not to be told by how much single ones differ
		r.Total = r.PerRun
	}
	r.resolve(m, bounded)
	r.builds(scale)
	for i := range r.Functions {
		f := &r.Functions[i]
		if f.BaseCum == f.BaseSelf && f.NewCum == f.NewSelf {
			f.Cum = f.Self
		}
		f.Verdict = f.verdict()
	}
	r.name()
	r.moved(m, d)
	r.movedWithin()
	r.movedAround()
	r.shareOnly()
	r.otherPrograms()
	r.order()
	r.interrupts()
	r.Outcome = r.outcome()
	r.paths(d)
}

// builds calls significant what is large enough of functions that one build does
// not have.
func (r *Result) builds(scale float64) {
	if r.Builds == nil {
		return
	}
	var names []string
	for i := range r.Functions {
		f := &r.Functions[i]
		if f.doubtful(r.MinEffect*scale) && !strings.HasPrefix(f.Name, "[") {
			names = append(names, f.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	known := r.Builds(names)
	for i := range r.Functions {
		f := &r.Functions[i]
		side, ok := known[f.Name].onlyIn()
		if !ok || !f.doubtful(r.MinEffect*scale) || (f.BaseCum == 0) != (side == 1) {
			continue
		}
		f.Built = true
		for _, d := range []*Difference{&f.Self, &f.Cum} {
			d.Significant = abs(d.Diff) >= r.MinEffect*scale
		}
	}
}

// doubtful tells a function that only one side has samples of, enough to be
// reported if they were no chance.
func (f *Function) doubtful(least float64) bool {
	return (f.BaseCum == 0) != (f.NewCum == 0) && !f.Self.Significant && !f.Cum.Significant &&
		max(abs(f.Self.Diff), abs(f.Cum.Diff)) >= least
}

func abs(x float64) float64 { return max(x, -x) }

func (f *Function) verdict() Verdict {
	d := f.Changed()
	switch {
	case !d.Significant || d.ShareOnly:
		return Noise
	case d.Diff > 0 && f.BaseCum == 0:
		return New
	case d.Diff > 0:
		return More
	case f.NewCum == 0:
		return Gone
	}
	return Less
}

// Changed is the difference that a verdict is about: that of self, if it is
// significant and not only one of shares, else that of cum.
func (f *Function) Changed() *Difference {
	if f.Self.Significant && (!f.Self.ShareOnly || !f.Cum.Significant || f.Cum.ShareOnly) {
		return &f.Self
	}
	return &f.Cum
}

// grew is the direction of what changed of a function.
func (f *Function) grew() bool { return f.Changed().Diff > 0 }

// class is the group in which a function stands: those whose self cost grew, those
// whose self cost shrank, the same for those of which only what they call changed,
// those that only one build has, those whose cost moved or was renamed, those of which only the share changed or
// that are unclear, and noise, of which the least likely comes first.
func (f *Function) class() int {
	switch {
	case f.Verdict == Moved || f.Verdict == Renamed:
		return 5
	case f.Verdict == ShareOnly || f.Verdict == Unclear:
		return 6
	case f.Verdict == Noise:
		return noiseClass
	case f.Built:
		return 4
	case f.Changed() == &f.Self && f.grew():
		return 0
	case f.Changed() == &f.Self:
		return 1
	case f.grew():
		return 2
	}
	return 3
}

const noiseClass = 7

// leastP is the smaller of a function's p-values.
func (f *Function) leastP() float64 {
	p := 1.0
	for _, d := range [...]*Difference{&f.Self, &f.Cum} {
		if d.tested {
			p = min(p, d.P)
		}
	}
	return p
}

// order sorts functions by class, then by the size of the difference. Functions
// without any samples are left out.
func (r *Result) order() {
	r.Functions = slices.DeleteFunc(r.Functions, func(f Function) bool { return f.BaseCum == 0 && f.NewCum == 0 })
	slices.SortFunc(r.Functions, func(a, b Function) int {
		self := cmp.Compare(abs(b.Self.Diff), abs(a.Self.Diff))
		cum := cmp.Compare(abs(b.Cum.Diff), abs(a.Cum.Diff))
		if c := a.class(); c == 2 || c == 3 {
			self, cum = cum, self
		}
		unlikely := 0
		if a.Built && b.Built && a.class() == b.class() {
			unlikely = cmp.Compare(a.Verdict, b.Verdict)
		}
		if a.class() == noiseClass && b.class() == noiseClass {
			unlikely = cmp.Compare(a.leastP(), b.leastP())
		}
		return cmp.Or(cmp.Compare(a.class(), b.class()), unlikely, self, cum, strings.Compare(a.Name, b.Name))
	})
}

func (d *Difference) middle() float64 { return (d.Base + d.New) / 2 }
