package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOrder: what changed itself comes before what calls it, larger differences before smaller ones, and
// of noise the least likely first.
func TestOrder(t *testing.T) {
	d := func(diff float64) Difference { return Difference{Diff: diff, Significant: true} }
	chance := func(diff, p float64, tested bool) Difference { return Difference{Diff: diff, P: p, tested: tested} }
	want := []Function{
		{Name: "more", Verdict: More, Self: d(2), Cum: d(2)},
		{Name: "more in all", Verdict: More, Self: d(1), Cum: d(4)},
		{Name: "more, too", Verdict: More, Self: d(1), Cum: d(3)},
		{Name: "less", Verdict: Less, Self: d(-3), Cum: d(-3)},
		{Name: "less, though its callees are more", Verdict: Less, Self: d(-1), Cum: d(9)},
		{Name: "calls more", Verdict: More, Self: chance(-1, 1, true), Cum: d(7)},
		{Name: "calls a little more", Verdict: More, Self: chance(8, 1, true), Cum: d(6)},
		{Name: "calls a little more, too", Verdict: More, Self: chance(1, 1, true), Cum: d(6)},
		{Name: "calls less", Verdict: Less, Self: chance(1, 1, true), Cum: d(-7)},
		{Name: "calls a little less", Verdict: Less, Self: chance(-8, 1, true), Cum: d(-6)},
		{Name: "built", Verdict: New, Built: true, Self: d(1), Cum: d(1)},
		{Name: "built, too", Verdict: New, Built: true, Self: d(0.5), Cum: d(1)},
		{Name: "no longer built", Verdict: Gone, Built: true, Self: d(-8), Cum: d(-8)},
		{Name: "renamed", Verdict: Renamed, Self: d(-9), Cum: d(-9)},
		{Name: "moved", Verdict: Moved, Self: d(8), Cum: d(8)},
		{Name: "share only", Verdict: ShareOnly, Self: d(9), Cum: d(9)},
		{Name: "unclear", Verdict: Unclear, Self: d(-8), Cum: d(-8)},
		{Name: "hardly chance", Self: chance(1, 0.06, true), Cum: chance(1, 0.5, true)},
		{Name: "hardly chance in all", Self: chance(2, 0.5, true), Cum: chance(2, 0.07, true)},
		{Name: "chance", Self: chance(3, 0.08, true), Cum: chance(3, 0.08, true)},
		{Name: "a", Self: chance(9, 0.01, false), Cum: chance(9, 0.01, false)}, // of what was not tested nothing is known
		{Name: "b", Self: chance(9, 0.01, false), Cum: chance(9, 0.01, false)},
		{Name: "c", Self: chance(8, 0.001, false), Cum: chance(9, 0.001, false)},
	}
	for i := range want {
		want[i].BaseCum, want[i].NewCum = 1, 1
	}
	want[0].BaseCum, want[3].NewCum = 0, 0 // which one side alone has
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		r := &Result{Functions: append(slices.Clone(want), Function{Name: "neither side has it"})}
		rnd.Shuffle(len(r.Functions), func(i, j int) { r.Functions[i], r.Functions[j] = r.Functions[j], r.Functions[i] })
		r.order()
		for i, f := range r.Functions {
			if i >= len(want) || f.Name != want[i].Name {
				t.Fatalf("%d is %s", i, f.Name)
			}
		}
	}
}

// TestBorders: what is exactly as large, or as likely, as it must be is reported, and what is exactly half
// as large on average is tested. Counts are exact, so that their differences are.
func TestBorders(t *testing.T) {
	run := func(name string, values ...int64) Run {
		var rows []labelled
		for i, v := range values {
			rows = append(rows, labelled{function: string(rune('a' + i)), value: v})
		}
		r := labelledRun(name, rows, true)
		r.Exact = true
		return r
	}
	o := Options{Alpha: 0.05, MinEffect: 0.125, Per: PerRun, Force: true}
	for _, x := range []struct {
		base, new []int64
		want      []string
		tests     int // beside that of the total
		untested  bool
	}{
		{[]int64{128, 896}, []int64{256, 896}, []string{"a more"}, 2, false},
		{[]int64{128, 896}, []int64{255, 896}, nil, 2, false},
		{[]int64{256, 768}, []int64{128, 768}, []string{"a less"}, 2, false},
		{[]int64{64, 960}, []int64{64, 960}, nil, 2, false}, // half of 128
		{[]int64{63, 961}, []int64{64, 961}, nil, 1, true},
		{[]int64{0, 1024}, []int64{127, 1024}, nil, 1, true},
		{[]int64{0, 1024}, []int64{128, 1024}, []string{"a new"}, 2, false},
	} {
		r, err := Compare([]Run{run("base", x.base...)}, []Run{run("new", x.new...)}, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := verdicts(r); !slices.Equal(got, x.want) || r.Tests != x.tests+1 || r.untested != x.untested {
			t.Errorf("%v and %v: %q, %d tests, untested %v", x.base, x.new, got, r.Tests, r.untested)
		}
		for _, f := range r.Functions {
			if f.Self.tested != (f.Self.middle() >= 64) || f.Cum.tested != f.Self.tested {
				t.Errorf("%v and %v: %s is tested: %v", x.base, x.new, f.Name, f.Self.tested)
			}
		}
	}
	for _, alpha := range []float64{-1e-9, 1} {
		if _, err := Compare([]Run{run("base", 1)}, []Run{run("new", 2)}, Options{Alpha: alpha}); err == nil {
			t.Errorf("alpha of %v", alpha)
		}
	}
}

// TestVerdictOf is by the sign of what changed, and by which side has any.
func TestVerdictOf(t *testing.T) {
	for want, f := range map[Verdict]Function{
		New:   {BaseCum: 0, NewCum: 2, Self: Difference{Diff: 1, Significant: true}},
		More:  {BaseCum: 1, NewCum: 2, Self: Difference{Diff: 1, Significant: true}},
		Less:  {BaseCum: 2, NewCum: 1, Self: Difference{Diff: -1, Significant: true}},
		Gone:  {BaseCum: 2, NewCum: 0, Self: Difference{Diff: -1, Significant: true}},
		Noise: {BaseCum: 2, NewCum: 0, Self: Difference{Diff: -1}},
	} {
		if got := f.verdict(); got != want || want != Noise && f.grew() != (want == New || want == More) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestFarthest is in standard deviations, of what is a change alone.
func TestFarthest(t *testing.T) {
	d := func(diff, deviation float64) Difference {
		return Difference{Diff: diff, deviation: deviation, Significant: true}
	}
	f := func(v Verdict, d Difference) Function { return Function{Verdict: v, Self: d, Cum: d} }
	for _, x := range []struct {
		r    Result
		want float64
	}{
		{Result{}, 0},
		{Result{Functions: []Function{f(More, d(6, 2)), f(Less, d(-8, 2)), f(Moved, d(20, 2)), f(Noise, d(20, 2))}}, 4},
		{Result{Functions: []Function{f(More, d(6, 2))}, Total: d(10, 2)}, 5},
		{Result{Functions: []Function{f(More, d(6, 2))}, PerRun: d(-10, 2)}, 5},
		{Result{Functions: []Function{f(More, d(6, 2))}, Total: Difference{Diff: 10, deviation: 2}}, 3},
		{Result{Functions: []Function{f(More, d(1, 0))}}, math.Inf(1)},
		{Result{Functions: []Function{f(More, d(0, 0))}}, 0},
	} {
		if got := x.r.farthest(); got != x.want {
			t.Errorf("%v, want %v", got, x.want)
		}
	}
}

// TestHistoryOfCounts: of six builds, in which one function costs more for a while and another from the
// last but one on.
func TestHistoryOfCounts(t *testing.T) {
	var builds []Build
	for i, c := range [][3]int{{1000, 2000, 2000}, {1000, 2000, 2000}, {3000, 2000, 2000}, {3000, 2000, 2000}, {1000, 2000, 2600}, {1000, 2000, 2600}} {
		b := Build{Name: string(rune('0' + i))}
		for run := range 3 {
			r := profile(t, b.Name+string(rune('a'+run)), "h;f "+fmt.Sprint(c[0]+run)+"\nx "+fmt.Sprint(c[1]+2*run)+"\ng "+fmt.Sprint(c[2]-run))
			r.Set.TimeNanos = int64(10*i + run + 1)
			b.Runs = append(b.Runs, r)
		}
		builds = append(builds, b)
	}
	o := Defaults
	o.Per = PerRun
	h, err := NewHistory(builds, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := points(h); !slices.Equal(got, []int{2, 4}) {
		t.Fatalf("changes at %v", got)
	}
	for _, c := range h.Changes {
		if !near(c.Result.Alpha, 0.05/15) || slices.ContainsFunc(c.Result.Functions, func(f Function) bool { return f.NumPaths > 0 }) {
			t.Errorf("alpha %v", c.Result.Alpha)
		}
	}
	want := []Series{
		{"f", false, []float64{1001, 1001, 3001, 3001, 1001, 1001}, []Verdict{2: More, 4: Less, 5: 0}},
		{"g", false, []float64{1999, 1999, 1999, 1999, 2599, 2599}, []Verdict{4: More, 5: 0}},
		{"h", true, []float64{1001, 1001, 3001, 3001, 1001, 1001}, []Verdict{2: More, 4: Less, 5: 0}},
	}
	if !slices.Equal(h.Builds, []string{"0", "1", "2", "3", "4", "5"}) || len(h.Series) != len(want) {
		t.Fatalf("%+v", h)
	}
	for i, got := range h.Series {
		if w := want[i]; got.Name != w.Name || got.Cum != w.Cum || !slices.EqualFunc(got.Costs, w.Costs, near) || !slices.Equal(got.Verdicts, w.Verdicts) {
			t.Errorf("%+v, want %+v", got, w)
		}
	}
	// A single build that differs, between those before and after: neither part of any split tells it alone.
	builds = append(builds[:2:2], builds[2], Build{"again", builds[1].Runs}, Build{"once more", builds[0].Runs})
	o.Force = true
	if h, err = NewHistory(builds, o); err != nil || !slices.Equal(points(h), []int{2, 3}) {
		t.Errorf("%v, %v", points(h), err)
	}
	if _, err := NewHistory(builds[:3], o); err != nil {
		t.Error(err)
	}
}
