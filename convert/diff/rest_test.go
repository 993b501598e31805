package diff

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// TestInlinedOnOneSide: what one side alone has inlined counts for its callers, on either side.
func TestInlinedOnOneSide(t *testing.T) {
	with, without := "m;f+g 3000\nm;f 2000\nm;h 5000", "m;f 5000\nm;h 5001"
	for side, text := range [][2]string{{with, without}, {without, with}} {
		r := compareLines(t, text[0], text[1], Defaults)
		want := fmt.Sprintf("only %s has inlined functions: those that are no functions of their own on the other side count for their callers", sideText[side])
		if got := verdicts(r); got != nil || !slices.Contains(r.Notes, want) {
			t.Errorf("%q, %q", got, r.Notes)
		}
		for _, f := range r.Functions {
			if f.Name == "g" || f.Name == "f" && (f.BaseSelf != 5000 || f.NewSelf != 5000) {
				t.Errorf("%+v", f)
			}
		}
	}
}

// TestOnlyOn: a side has a function alone if the other has a fiftieth of it at most.
func TestOnlyOn(t *testing.T) {
	for _, x := range []struct {
		base, new float64
		side      int
		ok        bool
	}{{100, 2, 0, true}, {100, 2.1, 0, false}, {2, 100, 1, true}, {2.1, 100, 0, false}, {1, 1, 0, false}, {5, 0, 0, true}, {0, 5, 1, true}} {
		f := Function{Cum: Difference{Base: x.base, New: x.new}}
		if side, ok := f.onlyOn(); side != x.side || ok != x.ok {
			t.Errorf("%v and %v: %d, %v", x.base, x.new, side, ok)
		}
	}
	// Of a group with 0.9 of the total, what is added is told from what moved by a tenth of it.
	for _, x := range []struct {
		group Difference
		want  bool
	}{
		{Difference{Base: 0.9, New: 0.8, Diff: 0, Low: -0.009, High: 0.009}, true},
		{Difference{Base: 0.8, New: 0.9, Diff: 0, Low: -0.009, High: 0.009}, true},
		{Difference{Base: 0.9, New: 0.9, Diff: 0, Low: -0.011, High: 0.011}, false},
		{Difference{Base: 0.9, New: 0.9, Diff: 0.005, Low: 0.001, High: 0.009}, true},
		{Difference{Base: 0.9, New: 0.9, Diff: -0.007, Low: -0.011, High: -0.003}, false},
	} {
		if got := movedShare(&x.group, 0.1); got != x.want {
			t.Errorf("%+v: %v", x.group, got)
		}
	}
	g := newGroups(6)
	g.join(4, 2)
	g.join(5, 1)
	g.join(4, 5)
	g.join(0, 0)
	if got := g.all(); len(got) != 1 || !slices.Equal(got[0], []uint32{1, 2, 4, 5}) {
		t.Errorf("%v", got)
	}
	g.join(0, 3)
	if got := g.all(); len(got) != 2 || !slices.Equal(got[0], []uint32{1, 2, 4, 5}) && !slices.Equal(got[1], []uint32{1, 2, 4, 5}) {
		t.Errorf("%v", got)
	}
}

// TestPathsOf lists the call paths that differ most, each once, and the sum of the others.
func TestPathsOf(t *testing.T) {
	o := Defaults
	o.PathsEach = 2
	r := compareLines(t, "m;a;f 100\nm;b;f 500\nm;c;f 300\nm;a;m;f 10\nx 9090", "m;a;f 1100\nm;b;f 400\nm;c;f 301\nm;a;m;f 12\nx 8190", o)
	i := slices.IndexFunc(r.Functions, func(f Function) bool { return f.Name == "f" })
	f := r.Functions[i]
	var got []string
	for _, p := range f.Paths {
		got = append(got, fmt.Sprintf("%s %.4f %.4f", strings.Join(p.Stack, ";"), p.Base, p.New))
	}
	n := 10_003.0
	want := []string{fmt.Sprintf("m;a;f %.4f %.4f", 0.01, 1100/n), fmt.Sprintf("m;b;f %.4f %.4f", 0.05, 400/n)}
	if !slices.Equal(got, want) || f.NumPaths != 4 || !near(f.OtherPaths.Base, 0.031) || !near(f.OtherPaths.New, 313/n) {
		t.Errorf("%q, %+v", got, f)
	}
	// Of what is called, the ways to its first call.
	o.PathsEach = 5
	r = compareLines(t, "m;a;f;g 1000\nm;b;f;a;f;g 100\nx 8900", "m;a;f;g 3000\nm;b;f;a;f;g 100\nx 6900", o)
	i = slices.IndexFunc(r.Functions, func(f Function) bool { return f.Name == "f" })
	f, got = r.Functions[i], nil
	for _, p := range f.Paths {
		got = append(got, fmt.Sprintf("%s %.2f %.2f", strings.Join(p.Stack, ";"), p.Base, p.New))
	}
	if !slices.Equal(got, []string{"m;a;f 0.10 0.30", "m;b;f 0.01 0.01"}) || f.NumPaths != 2 {
		t.Errorf("%q, %+v", got, f)
	}
}

// TestModelOf: which model a comparison has, and what the smaller side is worth.
func TestModelOf(t *testing.T) {
	ns := stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}
	run := func(name string, n int64) Run {
		s := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{ns}})
		s.Add(0, s.Intern([]uint32{frame(s, "f")}), 0, n*1000)
		s.Period, s.PeriodType, s.DurationNanos = 1000, ns, 1e9
		return Run{Name: name, Set: s, Ops: 5}
	}
	for _, x := range []struct {
		name      string
		base, new []Run
		per       Per
		exact     bool
		method    string
		least     float64
	}{
		{"shares", []Run{run("a", 3000)}, []Run{run("b", 6000)}, PerShare, false, "from the number of samples", 3000.0 / 3},
		{"runs", []Run{run("a", 3000), run("b", 1000)}, []Run{run("c", 3500)}, PerShare, false, "from the variance between 2 and 1 runs", 3500},
		{"a rate", []Run{run("a", 3000)}, []Run{run("b", 6000)}, PerSecond, false, "not known: how much runs of one build differ", 3000},
		{"operations", []Run{run("a", 3000)}, []Run{run("b", 6000)}, PerOps, true, "none: every occurrence was counted", 3000},
	} {
		for _, side := range [][]Run{x.base, x.new} {
			for i := range side {
				side[i].Exact = x.exact
			}
		}
		o := Defaults
		o.Per = x.per
		r, c, err := prepare(x.base, x.new, o)
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(newData(r.runs, c, r.Per), r)
		if !strings.HasPrefix(m.method(), x.method) || !near(m.least, x.least) || m.exact != x.exact {
			t.Errorf("%s: %s, least %v, exact %v", x.name, m.method(), m.least, m.exact)
		}
	}
	// Degrees of freedom above 10 are rounded down, and a quantile is found once.
	u := &uncertain{alpha: 0.05, quantiles: map[float64]float64{}}
	for freedom, want := range map[float64]float64{10.9: 2.228139, 20.99: 2.085963, 1: 12.706205} {
		if got := u.quantile(freedom); math.Abs(got-want) > 1e-5 {
			t.Errorf("t of %v: %v, want %v", freedom, got, want)
		}
	}
	if a, b := u.quantile(4.5), u.quantile(4); a >= b || len(u.quantiles) != 5 {
		t.Errorf("%v and %v, %v", a, b, u.quantiles)
	}
	u.quantiles[20] = 7
	if u.quantile(20.5) != 7 {
		t.Error("a quantile is reckoned again")
	}
}

// TestSuspectsByName: by folded names, those of profiles, and those of the base that were renamed; others are told.
func TestSuspectsByName(t *testing.T) {
	o := Defaults
	o.Suspects = []string{"f.isra.0", "nobody", "no one", "do_mas_munmap"}
	r := compareLines(t, "m;g;do_mas_munmap;free_pgtables 900\nm;f 9100", "m;g;do_vmi_munmap;free_pgtables 910\nm;f 9090", o)
	var got []string
	for _, f := range r.Functions {
		if f.Suspect {
			got = append(got, f.Name)
			if !f.Self.tested || f.Cum.Upper == 0 {
				t.Errorf("not tested: %+v", f)
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"do_vmi_munmap", "f"}) || !slices.Contains(r.Notes, "no sample of either side is in nobody, no one") {
		t.Errorf("%q, %q", got, r.Notes)
	}
}

// TestUnnamedShares: more than nine tenths without names are too many beside a side that has at least half.
func TestUnnamedShares(t *testing.T) {
	lines := func(unnamed int) string {
		if unnamed == 0 {
			return "m;f 10000"
		}
		return fmt.Sprintf("m;f %d\nm;[x] %d", 10_000-unnamed, unnamed)
	}
	for _, x := range []struct {
		base, new int
		side      int // that has none, or -1
	}{{9001, 0, 0}, {0, 9001, 1}, {9000, 0, -1}, {0, 9000, -1}, {9001, 4999, 0}, {9001, 5000, -1}, {9001, 9002, -1}} {
		_, err := Compare([]Run{profile(t, "base", lines(x.base))}, []Run{profile(t, "new", lines(x.new))}, Defaults)
		e, is := errors.AsType[*RunError](err)
		if is != (x.side >= 0) || is && (e.Side != x.side || e.Reason != NoNames || math.Abs(e.Share-0.9001) > 1e-9) {
			t.Errorf("%d and %d: %v", x.base, x.new, err)
		}
	}
}

// TestMergedNames: a name that both sides have is told of both.
func TestMergedNames(t *testing.T) {
	r := compareLines(t, "m;f.isra.0 10\nm;f 5\nm;b.cold 5\nm;a.part.1 1", "m;f.isra.0 10\nm;g 5\nm;b.cold 6\nm;a.part.1 1", Defaults)
	var got []string
	for _, m := range r.Merged {
		for _, o := range m.Originals {
			got = append(got, fmt.Sprint(m.Name, " ", o.Name, " ", o.Base, " ", o.New))
		}
	}
	want := []string{"a a.part.1 true true", "b b.cold true true", "f f true false", "f f.isra.0 true true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
