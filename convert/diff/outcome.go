package diff

import (
	"math"
	"slices"
)

// Outcome is the answer of a comparison.
type Outcome uint8

const (
	Unchanged    Outcome = iota // nothing changed by more than the Resolution
	Changed                     // something costs more, or less
	Inconclusive                // what was recorded does not tell
)

func (o Outcome) String() string {
	return [...]string{"not changed", "changed", "inconclusive"}[o]
}

// coarse is a resolution, as a share of the base's total, at which nothing can be said.
const coarse = 0.25

// resolve finds out how small a difference could have been told: that of the function
// that is known least well, corrected for all that were tested.
func (r *Result) resolve(m *uncertain, tests []test) {
	r.Tests = len(tests)
	alpha := r.Alpha / float64(max(len(tests), 1))
	r.Resolution = 0
	bound := func(d *Difference) {
		half := quantile(alpha, d.freedom) * d.deviation
		if d.deviation == 0 {
			half = m.missing
		}
		d.Upper = d.Diff + half
		r.Resolution = max(r.Resolution, half/r.Base.Total)
	}
	for _, t := range tests {
		bound(t.diff)
	}
	if m.measured != nil {
		r.Resolution = m.measured.resolution(alpha) / r.Base.Total
		return
	}
	// What neither side has a sample of may still be there, below this.
	if unseen := m.unseen(alpha); unseen > 0 {
		r.Resolution = max(r.Resolution, unseen)
	}
}

// unseen is how large the share may be of a function that no sample is in.
func (u *uncertain) unseen(alpha float64) float64 {
	if u.exact {
		return 0
	}
	return -math.Log(alpha) / u.least
}

// TooCoarse reports whether nothing can be said, for the Resolution.
func (r *Result) TooCoarse() bool { return r.Resolution > coarse || math.IsNaN(r.Resolution) }

// outcome is the answer without a limit.
func (r *Result) outcome() Outcome {
	for i := range r.Functions {
		if r.Functions[i].changed() {
			return Changed
		}
	}
	if r.Total.Significant || r.PerRun.Significant {
		return Changed
	}
	if len(r.Programs) > 0 {
		return Inconclusive
	}
	if r.TooCoarse() {
		return Inconclusive
	}
	if in := r.Interrupts; in != nil && slices.ContainsFunc(in.Functions, func(f Function) bool { return abs(f.Changed().Diff) > coarse }) {
		return Inconclusive
	}
	return Unchanged
}

// changed tells whether a function costs more or less.
func (f *Function) changed() bool {
	switch f.Verdict {
	case More, Less, New, Gone:
		return !f.Built
	}
	return false
}

// Reason why a limit is not decided.
type Doubt uint8

const (
	Coarse      Doubt = iota + 1 // the limit is below the resolution
	MaybeUp                      // a function, or the total, may cost more than the limit
	TotalUp                      // the total of one run of each side grew by more than is told by it
	NotKnown                     // one run of each side does not tell how much rates, or durations, differ
	MaybeSlower                  // calls of spans may take longer by over the limit
	// SlowerUntested: calls took longer by over the limit, and they are too few, or their times
	// are not known one by one, so that it may be chance.
	SlowerUntested
	// ProgramsUp: what costs more by over the limit does so as programs ran more, which may be the
	// machine's doing.
	ProgramsUp
	// BelowEffect: the limit is below Options.MinEffect, and functions that cost less than half of that
	// were not tested.
	BelowEffect
	InterruptsUp // interrupts cost more by over the limit, which one run of each side does not tell from chance
)

func (d Doubt) String() string {
	return [...]string{"", "limit below resolution", "upper bound above limit", "total of one run", "one run does not tell", "calls may take longer", "calls took longer, too little to judge by", "other programs ran", "limit below the minimum effect", "interrupts differ from run to run"}[d]
}

// Judgement is what a comparison says of a limit.
type Judgement struct {
	Limit     float64     // a share of the base's total
	Outcome   Outcome     // Unchanged: nothing costs more by over the limit; Changed: something does
	Functions []*Function // that cost more by over the limit
	Total     bool        // whether the total does
	Doubts    []Doubt     // of Inconclusive
	// Upper is the largest upper bound of a difference, and UpperOf the function, "" for
	// the total.
	Upper   float64
	UpperOf string
	// Slower are the times of spans that are longer by over the limit, a share of what they
	// were, MaybeSlower the one that may be longest in terms of it, and Untested the one that
	// was and is not known well enough to judge, if there are none.
	Slower      []SlowerSpans
	MaybeSlower SlowerSpans
	Untested    SlowerSpans
	Unclear     []*Function // that cost more by over the limit, which other programs explain
	// Interrupts are the functions that cost more by over the limit in interrupts, which may be
	// chance: see Result.Interrupts.
	Interrupts []*Function
}

// SlowerSpans says how much longer calls of spans take.
type SlowerSpans struct {
	Group string  // "" for all
	What  string  // "mean", "median" or "99th percentile"
	Ratio float64 // to what it was; of those that may be, the upper bound
}

// totalUp is a ratio of totals that needs an explanation.
const totalUp = 1.25

// Judge holds a comparison against a limit, a share of the base's total: it passes
// (Unchanged) only if no upper bound is above it, and nothing that costs as much was left untested.
func (r *Result) Judge(limit float64) Judgement {
	j := Judgement{Limit: limit}
	scale := r.Base.Total
	over := func(d *Difference) bool { return d.Significant && !d.ShareOnly && d.Diff > limit*scale }
	upper := func(d *Difference, of string) {
		if d.tested && d.Upper/scale > j.Upper {
			j.Upper, j.UpperOf = d.Upper/scale, of
		}
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		switch f.Verdict { // Less may be of self alone, with more in what it calls
		case Moved, ShareOnly, Gone, Renamed:
			continue
		case Unclear:
			if max(f.Self.Diff, f.Cum.Diff) > limit*scale {
				j.Unclear = append(j.Unclear, f)
			}
			continue
		}
		if !f.Built && (over(&f.Self) || over(&f.Cum)) {
			j.Functions = append(j.Functions, f)
		}
		upper(&f.Self, f.Name)
		upper(&f.Cum, f.Name)
	}
	j.Total = over(&r.Total) || r.PerRun.Significant && r.PerRun.Diff > limit*r.PerRun.Base
	if r.Per != PerShare {
		upper(&r.Total, "")
	}
	if in := r.Interrupts; in != nil {
		if x := in.upper / scale; x > j.Upper {
			j.Upper, j.UpperOf = x, in.upperOf
		}
		for i := range in.Functions {
			if f := &in.Functions[i]; max(f.Self.Diff, f.Cum.Diff) > limit*scale {
				j.Interrupts = append(j.Interrupts, f)
			}
		}
	}
	if j.Total || len(j.Functions) > 0 {
		j.Outcome, j.Unclear, j.Interrupts = Changed, nil, nil
		return j
	}
	doubt := func(d Doubt) { j.Outcome, j.Doubts = Inconclusive, append(j.Doubts, d) }
	switch {
	case math.IsInf(r.Resolution, 1):
		doubt(NotKnown)
	case limit < r.Resolution || math.IsNaN(r.Resolution):
		doubt(Coarse)
	case j.Upper > limit:
		doubt(MaybeUp)
	case limit < r.MinEffect && r.untested:
		doubt(BelowEffect)
	}
	if len(j.Unclear) > 0 {
		doubt(ProgramsUp)
	}
	if len(j.Interrupts) > 0 {
		doubt(InterruptsUp)
	}
	if (r.Per == PerShare || r.Measured()) && r.PerRunKnown && !r.PerRun.tested && r.PerRun.New > r.PerRun.Base*max(totalUp, 1+limit) {
		doubt(TotalUp)
	}
	return j
}

// Exceeds returns the functions that cost more by over limit, a share of the
// base's total, and whether the total does.
func (r *Result) Exceeds(limit float64) (functions []*Function, total bool) {
	j := r.Judge(limit)
	return j.Functions, j.Total
}

// Advice is how much more to record for a resolution, a share of the base's total: the
// factor by which the samples of both sides would have to be more, and with it how many
// seconds a run takes (0 if that is not known) or how many runs as long as these.
func (r *Result) Advice(resolution float64) (factor, seconds float64, runs int) {
	if !(resolution > 0) || math.IsInf(r.Resolution, 1) || math.IsNaN(r.Resolution) {
		return math.Inf(1), 0, leastRuns
	}
	if r.lossy { // more of the same would lose as much
		return math.Inf(1), 0, leastRuns
	}
	factor = max(1, r.Resolution*r.Resolution/resolution/resolution)
	n := max(len(r.runs[0]), len(r.runs[1]))
	if s := max(r.Base.Seconds/float64(len(r.runs[0])), r.New.Seconds/float64(len(r.runs[1]))); s > 0 {
		seconds = s * factor
	}
	return factor, seconds, max(leastRuns, int(math.Ceil(factor*float64(n))))
}

// leastRuns show how much runs differ.
const leastRuns = 3
