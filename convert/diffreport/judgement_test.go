package diffreport

import (
	"math"
	"strings"
	"testing"

	"kprof/convert/diff"
	"kprof/convert/stacks"
)

// resultOf is a comparison of samples of one run of each side, each of 30 seconds, that could tell 2 %.
func resultOf(t *testing.T) *diff.Result {
	r := compareFolded(t, diffBase, diffNew)
	r.Base.Seconds, r.New.Seconds, r.Resolution, r.MinEffect, r.PerRun.Significant = 30, 30, 0.02, 0.0025, false
	return r
}

// TestJudgement: each outcome and doubt has its words, with the number that is above the limit.
func TestJudgement(t *testing.T) {
	self := func(name string, self, cum float64) *diff.Function {
		return &diff.Function{Name: name, Self: diff.Difference{Diff: self, Significant: true}, Cum: diff.Difference{Diff: cum, Significant: true}}
	}
	f, g := self("f", 0.03, 0.07), self("g", 0.06, 0.01)
	slower := func(group, what string, ratio float64) diff.SlowerSpans {
		return diff.SlowerSpans{Group: group, What: what, Ratio: ratio}
	}
	for name, x := range map[string]struct {
		j      diff.Judgement
		change func(r *diff.Result)
		want   string
	}{
		"within":                        {diff.Judgement{Upper: 0.031}, nil, "Within the limit: nothing costs over 5% of the total more (at most 3.1%)"},
		"within, by what could be told": {diff.Judgement{Upper: 0.01}, nil, "Within the limit: nothing costs over 5% of the total more (at most 2%)"},
		"one":                           {diff.Judgement{Outcome: diff.Changed, Functions: []*diff.Function{f}}, nil, "Over the limit: f costs 7% of the base's total more, over 5%"},
		"two":                           {diff.Judgement{Outcome: diff.Changed, Functions: []*diff.Function{g, f}}, nil, "Over the limit: g costs 6% of the base's total more, over 5%; so does another"},
		"three":                         {diff.Judgement{Outcome: diff.Changed, Functions: []*diff.Function{g, f, f}}, nil, "Over the limit: g costs 6% of the base's total more, over 5%; so do 2 others"},
		"calls and functions": {diff.Judgement{Outcome: diff.Changed, Slower: []diff.SlowerSpans{slower("", "mean", 1.5), slower("read", "median", 1.2)}, Functions: []*diff.Function{g}}, nil,
			"Over the limit: the mean of all calls takes 50% more, over 5%; so do 2 others"},
		"calls":     {diff.Judgement{Outcome: diff.Changed, Slower: []diff.SlowerSpans{slower("read", "median", 1.2)}}, nil, "Over the limit: the median of the calls of read takes 20% more, over 5%"},
		"the total": {diff.Judgement{Outcome: diff.Changed, Total: true}, func(r *diff.Result) { r.Total = diff.Difference{Base: 50, Diff: 10} }, "Over the limit: the total costs 20% more than the base, over 5%"},
		"the total of a run": {diff.Judgement{Outcome: diff.Changed, Total: true}, func(r *diff.Result) {
			r.Total, r.PerRun = diff.Difference{Base: 1}, diff.Difference{Base: 50, Diff: 20, Significant: true}
		}, "Over the limit: the total costs 40% more than the base, over 5%"},
		// For 5 % by 1.5 it takes the square of 0.6 as much: these would do, and three runs of each side.
		"maybe":     {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.MaybeUp}, Upper: 0.06, UpperOf: "g"}, nil, "Not decided: g may cost up to 6% more, over 5%; record 30 s, or 3 runs of each side"},
		"maybe all": {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.MaybeUp}, Upper: 0.06}, nil, "Not decided: the total may cost up to 6% more, over 5%; record 30 s, or 3 runs of each side"},
		"coarse":    {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.Coarse}, Limit: 0.015}, nil, "Not decided: the limit of 1.5% is below what could have been told, 2%; record 2 minutes, or 4 runs of each side"},
		"not known": {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.NotKnown}}, func(r *diff.Result) { r.Resolution, r.Per = math.Inf(1), diff.PerOps },
			"Not decided: one run of each side does not tell how much runs differ per operation; record 3 runs of each side"},
		"below the effect": {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.BelowEffect}}, func(r *diff.Result) { r.MinEffect = 0.08 },
			"Not decided: the limit of 5% is below the least difference that was looked for, 8%"},
		"slower, maybe": {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.MaybeSlower}, MaybeSlower: slower("read", "mean", 1.3)}, nil, "Not decided: the mean of the calls of read may take up to 30% more, over 5%; record 30 s, or 3 runs of each side"},
		"slower, not tested": {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.SlowerUntested}, Untested: slower("", "mean", 1.3)}, nil,
			"Not decided: the mean of all calls is 30% more, over 5%, which what was recorded of these does not tell from chance; record 30 s, or 3 runs of each side"},
		// What is over the limit is what f costs with what it calls.
		"programs":   {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.ProgramsUp}, Unclear: []*diff.Function{f, g}}, nil, "Not decided: f costs 7% more, over 5%, as other programs ran, or ran more or less; record 30 s, or 3 runs of each side"},
		"interrupts": {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.InterruptsUp}, Interrupts: []*diff.Function{f}}, nil, "Not decided: f costs 7% more in interrupts, over 5%, which differ from run to run; record 30 s, or 3 runs of each side"},
		"total of one": {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.TotalUp, diff.MaybeUp}, Upper: 0.06, UpperOf: "g"}, func(r *diff.Result) { r.PerRun.Base, r.PerRun.New = 100, 150 },
			"Not decided: the total of a run is ×1.50, which one run of each side does not tell from chance; g may cost up to 6% more, over 5%; record 30 s, or 3 runs of each side"},
		"without times": {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.MaybeUp}, Upper: 0.06, UpperOf: "g"}, func(r *diff.Result) { r.Base.Seconds, r.New.Seconds = 0, 0 }, "Not decided: g may cost up to 6% more, over 5%; record 3 runs of each side"},
		"several runs":  {diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.MaybeUp}, Upper: 0.06, UpperOf: "g"}, func(r *diff.Result) { r.Base.Runs = []string{"a", "b"} }, "Not decided: g may cost up to 6% more, over 5%; record 3 runs of each side"},
	} {
		r := resultOf(t)
		if x.change != nil {
			x.change(r)
		}
		if x.j.Limit == 0 {
			x.j.Limit = 0.05
		}
		if got := Judgement(r, &x.j); got != x.want {
			t.Errorf("%s: %s\nwant %s", name, got, x.want)
		}
	}
	if got := Judgement(resultOf(t), &diff.Judgement{Outcome: diff.Inconclusive, Doubts: []diff.Doubt{diff.Coarse}}); !strings.HasSuffix(got, "below what could have been told, 2%; no recording tells that nothing costs any more: it takes a limit above 0") {
		t.Errorf("no limit: %s", got)
	}
}

// TestResolutionWords: what could have been told, and what more would take.
func TestResolutionWords(t *testing.T) {
	for name, x := range map[string]struct {
		change func(r *diff.Result)
		want   string
	}{
		"coarse":          {func(r *diff.Result) {}, "differences under 2% of the total could not be told; for 1% record 2 minutes or 4 runs of each side"},
		"two runs":        {func(r *diff.Result) { r.New.Runs = []string{"a", "b"} }, "differences under 2% of the total could not be told; for 1% record 4 runs of each side"},
		"without times":   {func(r *diff.Result) { r.Base.Seconds, r.New.Seconds = 0, 0 }, "differences under 2% of the total could not be told; for 1% record 4 runs of each side"},
		"good":            {func(r *diff.Result) { r.Resolution = 0.01 }, "differences under 1% of the total could not be told"},
		"very coarse":     {func(r *diff.Result) { r.Resolution = 0.9 }, "differences under 90% of the total could not be told"}, // 810 runs
		"as far as asked": {func(r *diff.Result) { r.MinEffect = 0.02 }, "differences under 2% of the total could not be told"},
		"not looked for":  {func(r *diff.Result) { r.MinEffect = 0.03 }, "differences under 3% of the total were not looked for"},
		"counted":         {func(r *diff.Result) { r.Resolution = 0 }, "every difference was counted"},
		"not known":       {func(r *diff.Result) { r.Resolution = math.Inf(1) }, "record at least 3 runs of each side"},
		"no number":       {func(r *diff.Result) { r.Resolution = math.NaN() }, "record at least 3 runs of each side"},
	} {
		r := resultOf(t)
		x.change(r)
		if got := (words{r: r}).resolution(); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}

// TestTotals: what a run costs in all, in CPU time where that is known.
func TestTotals(t *testing.T) {
	inf := math.Inf(1)
	for name, x := range map[string]struct {
		change func(r *diff.Result)
		want   string
	}{
		"samples":        {func(r *diff.Result) {}, "total 10000 samples → 12000 samples a run (×1.20, of one run a side)"},
		"CPU":            {func(r *diff.Result) { r.Base.CPU, r.New.CPU = 2, 3 }, "CPU 2s → 3s a run (×1.50, of one run a side)"},
		"one side's CPU": {func(r *diff.Result) { r.New.CPU = 3 }, "total 10000 samples → 12000 samples a run (×1.20, of one run a side)"},
		"runs": {func(r *diff.Result) {
			r.Base.CPU, r.New.CPU, r.Base.Runs, r.New.Runs = 2, 9, []string{"a", "b"}, []string{"a", "b", "c"}
			r.PerRun.Low, r.PerRun.High = -1000, 4000
		}, "CPU 1s → 3s a run (×3.00, ×0.90 to ×1.40 with 95%)"},
		"a rate":            {func(r *diff.Result) { r.Per = diff.PerSecond }, "total 10000 samples → 12000 samples a run (×1.20)"},
		"a rate of one run": {func(r *diff.Result) { r.Per, r.Resolution = diff.PerSecond, inf }, "total 10000 samples → 12000 samples a run (×1.20, of one run a side)"},
		"not known":         {func(r *diff.Result) { r.PerRunKnown = false }, ""},
	} {
		r := resultOf(t)
		r.Base.CPU, r.New.CPU = 0, 0
		r.PerRun, r.PerRunKnown = diff.Difference{Base: 10_000, New: 12_000, Diff: 2000, Low: -inf, High: inf}, true
		r.Value = stacks.ValueType{Type: "samples", Unit: "count"}
		x.change(r)
		if got := (words{r: r}).totals(); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}

// TestBuildsWords: which kernels were compared, as far as the recordings say.
func TestBuildsWords(t *testing.T) {
	id, other := strings.Repeat("ab", 20), strings.Repeat("cd", 20)
	for _, x := range []struct {
		base, new diff.Machine
		want      string
	}{
		{diff.Machine{}, diff.Machine{Kernel: "6.1"}, ""},
		{diff.Machine{Kernel: "6.1"}, diff.Machine{}, ""},
		{diff.Machine{Kernel: "6.1"}, diff.Machine{Kernel: "6.1"}, "both sides are kernel 6.1"},
		{diff.Machine{Kernel: "6.1"}, diff.Machine{Kernel: "6.1", BuildID: id}, "both sides are kernel 6.1"},
		{diff.Machine{Kernel: "6.1"}, diff.Machine{Kernel: "6.2"}, "kernel 6.1 → 6.2"},
		{diff.Machine{Kernel: "6.1", BuildID: id}, diff.Machine{Kernel: "6.1", BuildID: id}, "both sides are the same build of the kernel (6.1 build id abababababab)"},
		{diff.Machine{BuildID: id}, diff.Machine{BuildID: id}, "both sides are the same build of the kernel (build id abababababab)"},
		{diff.Machine{Kernel: "6.1", BuildID: id}, diff.Machine{Kernel: "6.1", BuildID: other}, "kernel 6.1 build id abababababab → 6.1 build id cdcdcdcdcdcd"},
		{diff.Machine{BuildID: id}, diff.Machine{Kernel: "6.2"}, "kernel build id abababababab → 6.2"},
	} {
		if got := (words{r: &diff.Result{Base: diff.Side{Machine: x.base}, New: diff.Side{Machine: x.new}}}).builds(); got != x.want {
			t.Errorf("%+v and %+v: %s, want %s", x.base, x.new, got, x.want)
		}
	}
}

// TestSuspicions: what chance explains only among so many, and how many times as much would tell: for half
// the interval four times as many.
func TestSuspicions(t *testing.T) {
	r := resultOf(t)
	r.Base.Total, r.MinEffect, r.Alpha = 1, 0.01, 0.05
	d := func(diff_, p, upper float64) diff.Difference { return diff.Difference{Diff: diff_, P: p, Upper: upper} }
	f := func(name string, self, cum diff.Difference) diff.Function {
		return diff.Function{Name: name, Self: self, Cum: cum}
	}
	noise := []diff.Function{
		f("likely", d(0.02, 0.06, 0.05), d(0.02, 0.06, 0.05)),
		f("small", d(0.009, 0.01, 0.02), d(0.009, 0.01, 0.02)),
		f("not tested", d(0.02, 0.01, 0), d(0.02, 0.01, 0)),
		f("a", d(0.02, 0.012, 0.06), d(0.02, 0.5, 0.06)),
		f("b", d(0.02, 0.5, 0.06), d(-0.01, 0.034, 0.002)),
		f("c", d(0.01, 0.05, 0.015), d(0.01, 0.05, 0.015)),
		f("d", d(0.02, 0.01, 0.06), d(0.02, 0.01, 0.06)),
	}
	const want = "Suspicious, but not more than chance among so many: a +2.00% (p=0.012 alone; 4 times as many samples would tell), " +
		"b -1.00% (p=0.034 alone; 1.4 times as many samples would tell), c +1.00% (p=0.05 alone; 1 times as many samples would tell)."
	same := func(s string) string { return s }
	if got := (words{r: r}).suspicions(noise, same); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := (words{r: r}).suspicions(noise[:3], same); got != "" {
		t.Errorf("%s", got)
	}
	a, b := noise[3], noise[4]
	a.Suspect, b.Suspect, a.Self.Significant, a.Verdict = true, true, true, diff.More
	a.Self.Low, a.Self.High, b.Cum.High = 0.01, 0.03, math.Inf(1)
	r.Functions = []diff.Function{noise[0], a, b}
	if got := (words{r: r}).suspects(same); got != "Suspected: a +2.00% ±1.00% (p=0.012): more; b -1.00% not known (p=0.034): not told from chance." {
		t.Errorf("%s", got)
	}
}
