package diff

import (
	"math"
	"slices"
	"testing"
)

// TestLimitBelowMinEffect: what was not looked for is not within a limit. All of f is below half the
// minimum effect, so that it is not tested.
func TestLimitBelowMinEffect(t *testing.T) {
	const base, new = "main;f 1000\nmain;g 999000\n", "main;f 40000\nmain;g 999000\n"
	for effect, want := range map[float64]Outcome{0.0025: Changed, 0.05: Inconclusive, 10: Inconclusive} {
		o := Defaults
		o.MinEffect = effect
		r := compareLines(t, base, new, o)
		if j := r.Judge(0.03); j.Outcome != want || slices.Contains(j.Doubts, BelowEffect) != (want == Inconclusive) {
			t.Errorf("minimum effect %v: %v, %v", effect, j.Outcome, j.Doubts)
		}
	}
	o := Defaults
	o.MinEffect = 0.05
	if j := compareLines(t, base, "main;f 1001\nmain;g 999000\n", o).Judge(0.05); j.Outcome != Unchanged {
		t.Errorf("a limit that was looked for: %v, %v", j.Outcome, j.Doubts)
	}
}

// TestResolution: the widest interval of a difference, corrected for all, is the resolution; or what may be
// there although none of so many samples is in it (for one test at 0.05, 3 of n: the "rule of three").
func TestResolution(t *testing.T) {
	inf := math.Inf(1)
	const z = 2.2414027 // of 0.05/2
	for _, x := range []struct {
		name  string
		least float64
		diffs []Difference
		want  float64
	}{
		{"the widest", 1e9, []Difference{{Diff: 0.1, deviation: 0.01, freedom: inf}, {Diff: -0.2, deviation: 0.02, freedom: inf}}, z * 0.02 / 0.5},
		{"the first", 1e9, []Difference{{Diff: 0.1, deviation: 0.03, freedom: inf}, {Diff: -0.2, deviation: 0.02, freedom: inf}}, z * 0.03 / 0.5},
		{"the unseen", 50, []Difference{{Diff: 0.1, deviation: 0.01, freedom: inf}, {Diff: -0.2, deviation: 0.001, freedom: inf}}, math.Log(40) / 50},
		{"one that is lost", 1e9, []Difference{{Diff: 0.1, freedom: inf}, {Diff: 0.2, freedom: inf}}, 0.07 / 0.5},
		{"rule of three", 300, []Difference{{freedom: inf}}, 2.995732 / 300},
		{"none", 300, nil, 2.995732 / 300},
	} {
		r := &Result{Options: Options{Alpha: 0.05}, Base: Side{Total: 0.5}}
		u := &uncertain{model: known{}, least: x.least}
		if x.name == "one that is lost" {
			u.missing, u.exact = 0.07, true
		}
		var tests []test
		for i := range x.diffs {
			tests = append(tests, test{&x.diffs[i]})
		}
		r.resolve(u, tests)
		if math.Abs(r.Resolution/x.want-1) > 1e-6 || r.Tests != len(tests) {
			t.Errorf("%s: %v, want %v", x.name, r.Resolution, x.want)
		}
		for _, d := range x.diffs {
			if want := d.Diff + z*d.deviation + u.missing; len(x.diffs) == 2 && math.Abs(d.Upper-want) > 1e-7 {
				t.Errorf("%s: at most %v, want %v", x.name, d.Upper, want)
			}
		}
	}
	r := &Result{Options: Options{Alpha: 0.05}, Base: Side{Total: 50}}
	d := Difference{Diff: 1, deviation: 2, freedom: 1}
	r.resolve(&uncertain{measured: &measuredModel{floor: 3, freedom: 1, scale: 2}}, []test{{&d}})
	if want := math.Tan(0.475*math.Pi) * 2 * 3 / 50; math.Abs(r.Resolution/want-1) > 1e-6 {
		t.Errorf("measured: %v, want %v", r.Resolution, want)
	}
}

// TestOutcome: what is not told well enough, or has another explanation, is no answer.
func TestOutcome(t *testing.T) {
	more := Function{Verdict: More}
	interrupts := func(diff float64) *Interrupts {
		return &Interrupts{Functions: []Function{{Self: Difference{Diff: diff, Significant: true}}}}
	}
	for name, x := range map[string]struct {
		r    Result
		want Outcome
	}{
		"nothing":             {Result{}, Unchanged},
		"noise":               {Result{Functions: []Function{{}, {Verdict: Moved}, {Verdict: ShareOnly}, {Verdict: Renamed}, {Verdict: Unclear}}}, Unchanged},
		"more":                {Result{Functions: []Function{{}, more}}, Changed},
		"gone with a build":   {Result{Functions: []Function{{Verdict: Gone, Built: true}}}, Unchanged},
		"total":               {Result{Total: Difference{Significant: true}}, Changed},
		"per run":             {Result{PerRun: Difference{Significant: true}}, Changed},
		"programs":            {Result{Programs: []Program{{}}}, Inconclusive},
		"coarse":              {Result{Resolution: 0.2501}, Inconclusive},
		"just not":            {Result{Resolution: 0.25}, Unchanged},
		"not known":           {Result{Resolution: math.NaN()}, Inconclusive},
		"interrupts":          {Result{Interrupts: interrupts(0.2501)}, Inconclusive},
		"fewer interrupts":    {Result{Interrupts: interrupts(-0.2501)}, Inconclusive},
		"a few interrupts":    {Result{Interrupts: interrupts(0.25)}, Unchanged},
		"more, though coarse": {Result{Functions: []Function{more}, Resolution: 1}, Changed},
	} {
		if got := x.r.outcome(); got != x.want {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}

// TestJudge holds differences against a limit of a half of a total of 8, which is 4.
func TestJudge(t *testing.T) {
	d := func(diff float64) Difference { return Difference{Diff: diff, Significant: true} }
	tested := func(upper float64) Difference { return Difference{Upper: upper, tested: true} }
	f := func(v Verdict, self, cum Difference) Result {
		return Result{Functions: []Function{{Name: "f", Verdict: v, Self: self, Cum: cum}}}
	}
	known := func(base, new float64, tested, significant bool) Difference {
		return Difference{Base: base, New: new, Diff: new - base, tested: tested, Significant: significant}
	}
	shareOnly := d(5)
	shareOnly.ShareOnly = true
	built := f(New, d(5), d(5))
	built.Functions[0].Built = true
	in := func(self, cum, upper float64) *Interrupts {
		return &Interrupts{Functions: []Function{{Name: "irq", Self: Difference{Diff: self}, Cum: Difference{Diff: cum}}}, upper: upper, upperOf: "irq"}
	}
	inf := math.Inf(1)
	for name, x := range map[string]struct {
		r       Result
		want    Outcome
		doubts  []Doubt
		upper   float64
		upperOf string
	}{
		"nothing":             {Result{}, Unchanged, nil, 0, ""},
		"self":                {f(More, d(4.001), d(0)), Changed, nil, 0, ""},
		"cum":                 {f(Less, d(-1), d(4.001)), Changed, nil, 0, ""},
		"at the limit":        {f(More, d(4), d(4)), Unchanged, nil, 0, ""},
		"only a share":        {f(More, shareOnly, d(0)), Unchanged, nil, 0, ""},
		"noise":               {f(Noise, Difference{Diff: 5}, d(0)), Unchanged, nil, 0, ""},
		"moved":               {f(Moved, d(5), d(5)), Unchanged, nil, 0, ""},
		"renamed":             {f(Renamed, d(5), d(5)), Unchanged, nil, 0, ""},
		"built":               {built, Unchanged, nil, 0, ""},
		"unclear":             {f(Unclear, d(1), d(4.001)), Inconclusive, []Doubt{ProgramsUp}, 0, ""},
		"unclear, at it":      {f(Unclear, d(4), d(4)), Unchanged, nil, 0, ""},
		"maybe":               {f(Noise, tested(4.04), tested(1)), Inconclusive, []Doubt{MaybeUp}, 0.505, "f"},
		"maybe cum":           {f(Noise, tested(1), tested(4.04)), Inconclusive, []Doubt{MaybeUp}, 0.505, "f"},
		"not tested":          {f(Noise, Difference{Upper: 6}, tested(2)), Unchanged, nil, 0.25, "f"},
		"at most the limit":   {f(Noise, tested(4), tested(2)), Unchanged, nil, 0.5, "f"},
		"total":               {Result{Options: Options{Per: PerRun}, Total: d(4.001)}, Changed, nil, 0, ""},
		"total maybe":         {Result{Options: Options{Per: PerRun}, Total: tested(4.04)}, Inconclusive, []Doubt{MaybeUp}, 0.505, ""},
		"shares are all 1":    {Result{Options: Options{Per: PerShare}, Total: tested(4.04)}, Unchanged, nil, 0, ""},
		"per run":             {Result{PerRun: known(10, 15.1, true, true)}, Changed, nil, 0, ""},
		"per run, at it":      {Result{PerRun: known(10, 15, true, true)}, Unchanged, nil, 0, ""},
		"per run, by chance":  {Result{PerRun: known(10, 16, true, false), PerRunKnown: true}, Unchanged, nil, 0, ""},
		"one run":             {Result{PerRun: known(10, 15.1, false, false), PerRunKnown: true}, Inconclusive, []Doubt{TotalUp}, 0, ""},
		"one run, at it":      {Result{PerRun: known(10, 15, false, false), PerRunKnown: true}, Unchanged, nil, 0, ""},
		"not one unit":        {Result{PerRun: known(10, 16, false, false)}, Unchanged, nil, 0, ""},
		"one run per second":  {Result{Options: Options{Per: PerSecond}, PerRun: known(10, 16, false, false), PerRunKnown: true}, Unchanged, nil, 0, ""},
		"rates":               {Result{Resolution: inf}, Inconclusive, []Doubt{NotKnown}, 0, ""},
		"coarse":              {Result{Resolution: 0.501}, Inconclusive, []Doubt{Coarse}, 0, ""},
		"as coarse":           {Result{Resolution: 0.5}, Unchanged, nil, 0, ""},
		"not a number":        {Result{Resolution: math.NaN()}, Inconclusive, []Doubt{Coarse}, 0, ""},
		"effect":              {Result{Options: Options{MinEffect: 0.501}, untested: true}, Inconclusive, []Doubt{BelowEffect}, 0, ""},
		"as large an effect":  {Result{Options: Options{MinEffect: 0.5}, untested: true}, Unchanged, nil, 0, ""},
		"all were tested":     {Result{Options: Options{MinEffect: 0.501}}, Unchanged, nil, 0, ""},
		"interrupts":          {Result{Interrupts: in(4.001, 0, 0)}, Inconclusive, []Doubt{InterruptsUp}, 0, ""},
		"interrupts' callees": {Result{Interrupts: in(0, 4.001, 0)}, Inconclusive, []Doubt{InterruptsUp}, 0, ""},
		"interrupts, at it":   {Result{Interrupts: in(4, 4, 4)}, Unchanged, nil, 0.5, "irq"},
		"maybe interrupts":    {Result{Interrupts: in(1, 1, 4.04)}, Inconclusive, []Doubt{MaybeUp}, 0.505, "irq"},
	} {
		x.r.Base.Total, x.r.runs = 8, [2][]Run{make([]Run, 1), make([]Run, 1)}
		j := x.r.Judge(0.5)
		if j.Outcome != x.want || !slices.Equal(j.Doubts, x.doubts) || !near(j.Upper, x.upper) || j.UpperOf != x.upperOf {
			t.Errorf("%s: %+v", name, j)
		}
		if n := len(j.Functions) + len(j.Unclear) + len(j.Interrupts); n > 1 || j.Total && n > 0 {
			t.Errorf("%s: %+v", name, j)
		}
	}
	// Below a quarter, the total of one run may grow by a quarter.
	r := Result{Base: Side{Total: 8}, PerRun: known(100, 125, false, false), PerRunKnown: true}
	if j := r.Judge(0.05); j.Outcome != Unchanged {
		t.Errorf("a quarter more: %+v", j)
	}
	r.PerRun.New = 125.1
	if j := r.Judge(0.05); !slices.Equal(j.Doubts, []Doubt{TotalUp}) {
		t.Errorf("more than a quarter: %+v", j)
	}
	// What is over says so, and no more.
	r = Result{Base: Side{Total: 8}, Interrupts: in(5, 5, 5), Functions: []Function{{Name: "f", Verdict: More, Self: d(5)}, {Name: "g", Verdict: Unclear, Self: d(5)}}}
	if j := r.Judge(0.5); j.Outcome != Changed || len(j.Functions) != 1 || j.Functions[0].Name != "f" || j.Unclear != nil || j.Interrupts != nil || j.Doubts != nil {
		t.Errorf("f: %+v", j)
	}
}

// TestAdvice: for half the resolution it takes four times as much.
func TestAdvice(t *testing.T) {
	r := &Result{Resolution: 0.02, Base: Side{Seconds: 30}, New: Side{Seconds: 20}, runs: [2][]Run{make([]Run, 3), make([]Run, 1)}}
	for _, x := range []struct {
		resolution, factor, seconds float64
		runs                        int
	}{
		{0.01, 4, 80, 12}, {0.02, 1, 20, 3}, {0.04, 1, 20, 3}, {0.016, 1.5625, 31.25, 5},
		{0, math.Inf(1), 0, 3}, {-1, math.Inf(1), 0, 3}, {math.NaN(), math.Inf(1), 0, 3},
	} {
		if factor, seconds, runs := r.Advice(x.resolution); !near(factor, x.factor) && factor != x.factor || !near(seconds, x.seconds) || runs != x.runs {
			t.Errorf("%+v: %v, %v, %v", x, factor, seconds, runs)
		}
	}
	r.Base.Seconds = 90 // 30 a run, which is the longer
	if _, seconds, _ := r.Advice(0.01); !near(seconds, 120) {
		t.Errorf("%v seconds", seconds)
	}
	for _, resolution := range []float64{math.Inf(1), math.NaN()} {
		r.Resolution = resolution
		if factor, seconds, runs := r.Advice(0.01); !math.IsInf(factor, 1) || seconds != 0 || runs != 3 {
			t.Errorf("a resolution of %v: %v, %v, %v", resolution, factor, seconds, runs)
		}
	}
}
