package diff

import (
	"math"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// measuredData is measurements of both sides.
func measuredData(base, new []int64) *data {
	return runsData(PerRun, 1, [][]int64{base}, [][]int64{new})
}

// TestMeasuredModel has differences of which the middle is known: a normal distribution has 1.4826 times
// the median of its absolute values as its standard deviation.
func TestMeasuredModel(t *testing.T) {
	// Of the smaller three the middle difference is 300, of all five the middle one relatively a tenth.
	// What one side alone has tells nothing.
	base := []int64{0, 3000, 10_000, 100_000, 1000, 50_000, 77}
	new := []int64{55, 3300, 9000 /* of 9000: 1000 more */, 108_000, 1250, 55_000, 0}
	m := newMeasuredModel(measuredData(base, new), len(base))
	if !near(m.floor, 1.482602*300) || !near(m.share, 1.482602*0.1) || m.freedom != 4 || m.scale != 1 {
		t.Errorf("of five: %+v", m)
	}
	if got := m.deviation(1000); !near(got, math.Hypot(1.482602*300, 1.482602*100)) {
		t.Errorf("deviation of 1000: %v", got)
	}
	if v, freedom := m.variance(measuredData([]int64{2000}, []int64{1000}).function(0, false)); !near(v, 1.482602*1.482602*(300*300+100*100)) || freedom != 4 {
		t.Errorf("of the smaller side: %v, %v", v, freedom)
	}
	if m := newMeasuredModel(measuredData([]int64{5, 0}, []int64{0, 5}), 2); *m != (measuredModel{share: leastMeasured, freedom: 4, scale: 1}) {
		t.Errorf("of none: %+v", m)
	}
	if m := newMeasuredModel(measuredData([]int64{5000}, []int64{5001}), 1); !near(m.floor, 1.482602) || m.share != leastMeasured {
		t.Errorf("of one that is nearly the same: %+v", m)
	}
	// From twenty on, large ones are looked at apart.
	for functions, share := range map[int]float64{fewMeasured - 1: 0.3, fewMeasured: 0.1} {
		base, new = nil, nil
		for i := range functions {
			size, more := int64(1000+i), 0.3
			if i >= functions/2 {
				size, more = 1_000_000, 0.1
			}
			base, new = append(base, size), append(new, size+int64(more*float64(size)+0.5))
		}
		if functions == fewMeasured-1 { // ten of 0.3 and nine of 0.1
			base[functions/2], new[functions/2] = 2000, 2600
		}
		if m := newMeasuredModel(measuredData(base, new), functions); math.Abs(m.share/1.482602-share) > 1e-3 {
			t.Errorf("%d functions: a share of %v, want %v", functions, m.share/1.482602, share)
		}
	}
}

// TestMeasuredTail: how the largest tenth of differences thins out tells degrees of freedom. The tail of
// t with one of them (Cauchy's distribution) falls by 5 where it is 5 times as far out, and a tenth is
// beyond tan(0.45π).
func TestMeasuredTail(t *testing.T) {
	measured := func(n int, from, to int64) *measuredModel {
		var base, new []int64
		for i := range n { // but for eleven of 100, all differ by 10 of 1000
			more := int64(10)
			switch {
			case i%9 == 0 && i < 27 && n >= 50:
				more = to
			case i%9 == 0 && i < 99 && n >= 50:
				more = from
			}
			base, new = append(base, 1000), append(new, 1000+more)
		}
		return newMeasuredModel(measuredData(base, new), n)
	}
	deviation := 1.482602 * math.Hypot(10, 20/1.482602) // a share is 0.02 at least
	for _, x := range []struct {
		n              int
		from, to       int64
		freedom, scale float64
	}{
		{100, 1000, 5000, 1, 1000 / deviation / math.Tan(0.45*math.Pi)},
		{100, 20, 100, 1, 1},
		{100, 10, 10, 4, 1},                                // no tail: as if there were few
		{100, 100, 1_000_000, 0.5, 1},                      // no less than a half
		{100, 1000, 1001, 30, 1000 / deviation / 1.697261}, // t of 30 degrees, 0.1 two-sided
		{49, 1000, 5000, 4, 1},
	} {
		m := measured(x.n, x.from, x.to)
		if math.Abs(m.freedom-x.freedom) > 1e-9 || math.Abs(m.scale/x.scale-1) > 1e-6 || !near(m.deviation(1000), deviation) {
			t.Errorf("%+v: %+v, deviation %v of %v", x, m, m.deviation(1000), deviation)
		}
		if x.freedom == 1 {
			if got, want := m.resolution(0.05), math.Tan(0.475*math.Pi)*x.scale*m.floor; math.Abs(got/want-1) > 1e-6 {
				t.Errorf("%+v: resolution %v, want %v", x, got, want)
			}
			if v, _ := m.variance(measuredData([]int64{1000}, []int64{4000}).function(0, false)); math.Abs(v/(deviation*deviation*x.scale*x.scale)-1) > 1e-6 {
				t.Errorf("%+v: variance %v", x, v)
			}
		}
	}
}

// known is a model that says the same of all differences.
type known struct{ v, freedom float64 }

func (k known) variance(*data) (variance, freedom float64) { return k.v, k.freedom }
func (known) method() string                               { return "known" }

// TestStrictest: that model counts by which a difference is most likely chance, whose variance need not be
// the largest.
func TestStrictest(t *testing.T) {
	d := measuredData([]int64{100}, []int64{107}).function(0, false)
	for _, x := range []struct{ a, b, want known }{
		{known{4, math.Inf(1)}, known{9, math.Inf(1)}, known{9, math.Inf(1)}},
		{known{9, math.Inf(1)}, known{4, math.Inf(1)}, known{9, math.Inf(1)}},
		{known{2, 1}, known{4, math.Inf(1)}, known{2, 1}}, // t of 4.9 with one degree: p is 0.13; z of 3.5
		{known{0, 1}, known{4, 8}, known{4, 8}},
		{known{4, 8}, known{0, 1}, known{4, 8}},
		{known{0, 1}, known{0, 2}, known{0, 1}},
	} {
		if v, freedom := (strictest{x.a, x.b}).variance(d); (known{v, freedom}) != x.want {
			t.Errorf("%v and %v: %v, %v", x.a, x.b, v, freedom)
		}
	}
	if got := (strictest{known{}, &measuredModel{}}).method(); got != "known; and from how much the measurements of all functions differ between both sides" {
		t.Error(got)
	}
}

// TestMeasuredRuns: of several runs of measurements, that between runs counts too, and a limit is held
// against the total of a run.
func TestMeasuredRuns(t *testing.T) {
	run := func(name string, took ...int64) Run {
		s := stacks.New(stacks.Event{Name: "boot", Values: []stacks.ValueType{{Type: "time", Unit: "nanoseconds"}}})
		for i, v := range took {
			s.Add(0, s.Intern([]uint32{frame(s, string(rune('a'+i)))}), 0, v)
		}
		return Run{Name: name, Set: s, Measured: true}
	}
	o := Defaults
	o.Per = PerRun
	var base, new []Run
	for i, wobble := range []int64{-4000, 0, 4000} {
		name := string(rune('0' + i))
		base = append(base, run("base"+name, 20_000+wobble, 30_000+int64(i), 50_000))
		new = append(new, run("new"+name, 28_000+wobble, 60_000+int64(i), 50_000))
	}
	r, err := Compare(base, new, o)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Method, "between 3 and 3 runs; and from how much the measurements") {
		t.Errorf("method: %s", r.Method)
	}
	if r.Total != r.PerRun || !near(r.Total.Base, 100_001) || !near(r.Total.New, 138_001) || !r.Total.Significant {
		t.Errorf("total %+v, per run %+v", r.Total, r.PerRun)
	}
	for _, f := range r.Functions {
		if f.Name == "a" && (f.Verdict != Noise || f.Self.P < 0.05) { // t is 2.4 with 4 degrees of freedom: 0.07
			t.Errorf("%+v", f.Self)
		}
	}
	if j := r.Judge(0.3); j.Outcome != Changed || !j.Total {
		t.Errorf("a limit of 30 %%: %+v", j)
	}
	if j := r.Judge(0.4); j.Total {
		t.Errorf("a limit of 40 %%: %+v", j)
	}
}
