package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
)

// profile makes a run of lines like folded stacks, the outermost function first;
// "a+b" are a and b inlined into it at one location.
func profile(t testing.TB, name, lines string) Run {
	t.Helper()
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	s.DurationNanos = 2e9
	m := s.AddMapping(stacks.Mapping{File: "/bin/load", Kind: stacks.KindUnknown})
	locations := map[string]uint32{}
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		blank := strings.LastIndexByte(line, ' ')
		var n int64
		if _, err := fmt.Sscan(line[blank+1:], &n); err != nil {
			t.Fatal(err)
		}
		var chain []uint32
		frames := strings.Split(line[:blank], ";")
		for _, f := range slices.Backward(frames) {
			loc, ok := locations[f]
			if !ok {
				loc = s.AddLocation(m, uint64(len(locations)), stacks.KindUnknown)
				var all []stacks.Line
				parts := strings.Split(f, "+")
				for _, p := range slices.Backward(parts) {
					all = append(all, stacks.Line{Function: s.AddFunction(stacks.Function{Name: p})})
				}
				s.SetLines(loc, all...)
				locations[f] = loc
			}
			chain = append(chain, loc)
		}
		s.Add(0, s.Intern(chain), 0, n)
	}
	return Run{Name: name, Set: s}
}

func compareLines(t testing.TB, base, new string, o Options) *Result {
	t.Helper()
	r, err := Compare([]Run{profile(t, "base", base)}, []Run{profile(t, "new", new)}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// verdicts of the functions that changed.
func verdicts(r *Result) []string {
	var l []string
	for _, f := range r.Functions {
		if f.Verdict != Noise {
			text := f.Name + " " + f.Verdict.String()
			if f.Within != "" {
				text += " within " + f.Within
			}
			if f.Around != "" {
				text += " around " + f.Around
			}
			if len(f.With) > 0 {
				text += " " + strings.Join(f.With, ",")
			}
			l = append(l, text)
		}
	}
	return l
}

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		name, base, new string
		exact           bool
		want            []string
	}{
		{
			name: "renamed",
			base: "a;f.isra.0 4000\na;g 6000", new: "a;f.constprop.1.cold 1000\na;f 3000\na;g 6000",
		},
		{
			name: "renamed, exactly", exact: true,
			base: "a;f.isra.0 4000\na;g 6000", new: "a;f 4000\na;g 6000",
			want: []string{"f new", "f.isra.0 gone"},
		},
		{
			name: "parts on one side only",
			base: "a;f.cold 4000\na;g 5500\na;g.cold 500", new: "a;f 4000\na;g 6000",
		},
		{
			name: "functions of a package called like parts",
			base: "main.main;main.hot 5000\nmain.main;main.cold 5000", new: "main.main;main.hot 9000\nmain.main;main.cold 1000",
			want: []string{"main.cold share only", "main.hot more"},
		},
		{
			name: "wrappers",
			base: "entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_read;ksys_read;vfs_read 5000\nu 5000",
			new:  "entry_SYSCALL_64_after_hwframe;do_syscall_64;x64_sys_call;__x64_sys_read;vfs_read 5000\nu 5000",
		},
		{
			name: "more and less",
			base: "a;f 4000\na;g 6000", new: "a;f 6000\na;g 4000",
			want: []string{"f more", "g share only"},
		},
		{
			name: "only what a function calls",
			base: "a;p;f 2000\na;q;f 8000", new: "a;p;f 8000\na;q;f 2000",
			want: []string{"p more", "q less"},
		},
		{
			name: "inlined where nobody tells",
			base: "a;host;helper 3000\na;host 2000\na;x 5000", new: "a;host 5000\na;x 5000",
			want: []string{"helper moved host", "host moved helper"},
		},
		{
			name: "two inlined into two, through a third",
			base: "a;h1;in 2000\na;h2;in 1000\na;h1;mid;in2 1000\na;h1 1000\na;h2 1000\na;x 4000",
			new:  "a;h1 4000\na;h2 2000\na;x 4000",
			want: []string{"h1 moved in,in2", "in moved h1,h2", "h2 moved in,in2", "in2 moved h1,h2", "mid moved h1,h2"},
		},
		{
			name: "inlined, and its caller missed by a walk without its frame",
			base: "a;leaf 3000\na;host 2000\na;x 5000", new: "a;host 5000\na;x 5000",
			want: []string{"leaf moved host", "host moved leaf"},
		},
		{
			name: "new, although its caller has a smaller share",
			base: "a;host 5000\na;x 5000", new: "a;host 5000\na;x 5000\na;host;added 2500",
			want: []string{"added new", "host more", "x share only"},
		},
		{
			name: "new, in a program of little else",
			base: "a;host 9900\na;x 100", new: "a;host 7920\na;host;added 2000\na;x 80",
			want: []string{"added new", "host share only"},
		},
		{
			name: "another way to the same work",
			base: "a;vfs;old_iter;copy 3000\na;x 7000", new: "a;vfs;iter;copy 3000\na;x 7000",
			want: []string{"iter renamed"},
		},
		{
			name: "two other ways to the same work",
			base: "a;vfs;begin;copy 3000\na;x 7000", new: "a;vfs;fast;copy 1500\na;vfs;slow;copy 1500\na;x 7000",
			want: []string{"begin moved within vfs", "fast moved within vfs", "slow moved within vfs"},
		},
		{
			name: "another way to more work",
			base: "a;vfs;old_iter;copy 3000\na;x 7000", new: "a;vfs;iter;copy 3000\na;vfs;iter;added 1500\na;x 7000",
			want: []string{"added new", "iter more", "vfs more", "x share only", "copy share only"},
		},
		{
			name: "another way in a program of little else",
			base: "a;old_iter;copy 9990\nx 10", new: "a;iter;copy 9990\nx 10",
			want: []string{"iter renamed"},
		},
		{
			name: "a wrapper",
			base: "m;alloc 3000\nm;f 7000", new: "m;alloc_mpol;alloc 2990\nm;alloc_mpol 20\nm;f 7000",
			want: []string{"alloc_mpol moved around alloc"},
		},
		{
			name: "new, and all in what it calls",
			base: "m;copy 2000\nm;f 8000", new: "m;copy 2000\nm;added;copy 2000\nm;f 8000",
			want: []string{"added new", "copy more", "f share only"},
		},
		{
			name: "inlined, and another one gone from another caller of it",
			base: "m;a;in 2000\nm;a 1000\nm;b;gone 700\nm;b 1000\nm;x 5000\nm;a;gone 10",
			new:  "m;a 3000\nm;b 1000\nm;x 5700",
			want: []string{"a moved in", "b less", "gone gone", "in moved a", "x more"},
		},
		{
			name: "inlined, both tell",
			base: "a;host+helper 3000\na;host 2000\na;x 5000", new: "a;host;helper 3000\na;host+other 2000\na;x 5000",
			want: []string{"host moved other", "other moved host"},
		},
		{
			name: "inlined, one tells",
			base: "a;host+helper 3000\na;host+tiny 2000\na;x 5000", new: "a;host;helper 3000\na;host 2000\na;x 5000",
		},
	} {
		o := Defaults
		o.Names.Exact = test.exact
		got := verdicts(compareLines(t, test.base, test.new, o))
		slices.Sort(got)
		slices.Sort(test.want)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestMergedNamesAreReported(t *testing.T) {
	r := compareLines(t, "f.isra.0 5\n__x64_sys_read;g 5", "f 5\nksys_read;g 5", Defaults)
	want := []Merged{
		{"f", []Original{{Name: "f", New: true}, {Name: "f.isra.0", Rules: []Rule{RuleSuffix}, Base: true}}},
		{"sys_read", []Original{
			{Name: "__x64_sys_read", Rules: []Rule{RuleSyscall}, Base: true},
			{Name: "ksys_read", Rules: []Rule{RuleSyscall}, New: true},
		}},
	}
	if diff := cmp.Diff(want, r.Merged); diff != "" {
		t.Error(diff)
	}
}

// randomLines makes stacks of few functions, so that different seeds share most.
func randomLines(seed uint64) string {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for range 1 + rnd.IntN(200) {
		for i := range 1 + rnd.IntN(6) {
			if i > 0 {
				b.WriteByte(';')
			}
			fmt.Fprintf(&b, "f%d%s", rnd.IntN(8), []string{"", ".isra.0", "+in", ".cold"}[rnd.IntN(4)])
		}
		fmt.Fprintf(&b, " %d\n", 1+rnd.IntN(1000))
	}
	return b.String()
}

// TestSums holds that differences of self cost sum to that of the totals, and
// those of the paths of a function to the function's, in all units.
func TestSums(t *testing.T) {
	for seed := range uint64(60) {
		for per := PerShare; per <= PerEvent; per++ {
			o := Options{Alpha: 0.5, Per: per, Paths: 1000, PathsEach: int(seed % 5)}
			var runs [2][]Run
			for side := range runs {
				for i := range 1 + int(seed)%3 {
					r := profile(t, "run", randomLines(seed*10+uint64(side*5+i)))
					r.Ops = float64(100 * (side + 1))
					runs[side] = append(runs[side], r)
				}
			}
			r, err := Compare(runs[0], runs[1], o)
			if err != nil {
				t.Fatal(err)
			}
			var base, new, diff float64
			var value [2]int64
			for _, f := range r.Functions {
				base += f.Self.Base
				new += f.Self.New
				diff += f.Self.Diff
				value[0] += f.BaseSelf
				value[1] += f.NewSelf
				if len(f.Paths) == 0 && f.NumPaths == 0 {
					continue
				}
				sum := f.OtherPaths
				for _, p := range f.Paths {
					sum.Base += p.Base
					sum.New += p.New
				}
				want := f.Self
				if f.Changed() != &f.Self {
					want = f.Cum
				}
				if !near(sum.Base, want.Base) || !near(sum.New, want.New) {
					t.Errorf("seed %d: paths of %s: %+v, want %+v", seed, f.Name, sum, want)
				}
			}
			if value != [2]int64{r.Base.Value, r.New.Value} {
				t.Errorf("seed %d: self values sum to %v, want %d, %d", seed, value, r.Base.Value, r.New.Value)
			}
			if !near(base, r.Total.Base) || !near(new, r.Total.New) || !near(diff, r.Total.New-r.Total.Base) {
				t.Errorf("seed %d per %d: self costs sum to %v, %v; total %+v", seed, per, base, new, r.Total)
			}
			a, b := r.Sets()
			if a.Totals(0)[0] != r.Base.Value || b.Totals(0)[0] != r.New.Value {
				t.Errorf("seed %d: sets have %d, %d", seed, a.Totals(0)[0], b.Totals(0)[0])
			}
			if got := Negated(a, b, 1).Totals(0)[0]; got != r.New.Value-r.Base.Value {
				t.Errorf("seed %d: the profile of both sums to %d, want %d", seed, got, r.New.Value-r.Base.Value)
			}
		}
	}
}

// TestSame: a profile does not differ from itself.
func TestSame(t *testing.T) {
	for seed := range uint64(20) {
		l := randomLines(seed)
		if got := verdicts(compareLines(t, l, l, Options{Alpha: 0.5, Force: true})); got != nil {
			t.Errorf("seed %d: %v", seed, got)
		}
	}
}

// TestPer compares the same samples taken in half the time, or for twice the work: one
// run of each does not tell that this was no chance, four do.
func TestPer(t *testing.T) {
	var base, new []Run
	for i := range 4 {
		lines := fmt.Sprintf("a;f %d\na;g %d", 4000+i-i%2*2*i, 6000-i+i%2*2*i) // 10000 together
		a, b := profile(t, fmt.Sprint("base", i), lines), profile(t, fmt.Sprint("new", i), lines)
		b.Set.DurationNanos /= 2
		a.Ops, b.Ops = 10, 5
		base, new = append(base, a), append(new, b)
	}
	for per, want := range map[Per]Difference{
		PerShare:  {Base: 1, New: 1},
		PerSecond: {Base: 5000, New: 10000, Diff: 5000},
		PerOps:    {Base: 1000, New: 2000, Diff: 1000},
	} {
		o := Defaults
		o.Per, o.Force = per, true
		if one, err := Compare(base[:1], new[:1], o); err != nil || one.Outcome == Changed || (one.Outcome == Inconclusive) != (per != PerShare) {
			t.Errorf("per %d, one run: %v, %v", per, one.Outcome, err)
		}
		r, err := Compare(base, new, o)
		if err != nil {
			t.Fatal(err)
		}
		got := Difference{Base: r.Total.Base, New: r.Total.New, Diff: r.Total.Diff}
		if !near(got.Base, want.Base) || !near(got.New, want.New) || !near(got.Diff, want.Diff) {
			t.Errorf("per %d: %+v, want %+v", per, got, want)
		}
		if changed := r.Functions[0].Verdict == More; changed != (per != PerShare) || r.Total.Significant != changed {
			t.Errorf("per %d: %+v", per, r.Functions[0])
		}
		if fns, total := r.Exceeds(0.5); len(fns) > 0 != (per != PerShare) || total != (per != PerShare) {
			t.Errorf("per %d: %d functions and %v exceed a half", per, len(fns), total)
		}
		if fns, total := r.Exceeds(1.5); len(fns) > 0 || total {
			t.Errorf("per %d: %d functions and %v exceed all", per, len(fns), total)
		}
	}
}

// TestTail compares with tables of the distributions.
func TestTail(t *testing.T) {
	for _, x := range []struct{ t, freedom, p float64 }{
		{12.706, 1, 0.05}, {2.228, 10, 0.05}, {4.587, 10, 0.001}, {1.95996, math.Inf(1), 0.05}, {3.291, math.Inf(1), 0.001},
	} {
		if p := tail(-x.t, x.freedom); math.Abs(p/x.p-1) > 2e-3 {
			t.Errorf("t %v with %v degrees: p %v, want %v", x.t, x.freedom, p, x.p)
		}
		if q := quantile(x.p, x.freedom); math.Abs(q/x.t-1) > 1e-3 {
			t.Errorf("p %v with %v degrees: t %v, want %v", x.p, x.freedom, q, x.t)
		}
	}
}

// TestHolm has the p-values of Wikipedia's example of the Holm–Bonferroni method.
func TestHolm(t *testing.T) {
	var tests []test
	for _, p := range []float64{0.01, 0.04, 0.03, 0.005} {
		tests = append(tests, test{&Difference{P: p}})
	}
	holm(tests)
	var got []float64
	for _, x := range tests {
		got = append(got, math.Round(x.diff.Adjusted*1e6)/1e6)
	}
	if diff := cmp.Diff([]float64{0.02, 0.03, 0.06, 0.06}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFitOfVariances draws variances from the distribution that is then estimated.
func TestFitOfVariances(t *testing.T) {
	const own, prior, overall = 4, 6, 3
	rnd := rand.New(rand.NewPCG(1, 2))
	chi := func(n int) (sum float64) {
		for range n {
			x := rnd.NormFloat64()
			sum += x * x
		}
		return sum / float64(n)
	}
	var ratios []float64
	for range 20_000 {
		ratios = append(ratios, overall*chi(own)/chi(prior))
	}
	m := runsModel{own: own}
	p := fitPrior(ratios, m.own)
	if math.Abs(p.freedom/prior-1) > 0.1 || math.Abs(p.overall/overall-1) > 0.05 {
		t.Errorf("prior %v, want %v; overall %v, want %v", p.freedom, prior, p.overall, overall)
	}
}

// TestPerEventInBlocks divides by an event of which every tenth occurrence was
// sampled: the load does more work in its second half, at the same cost.
func TestPerEventInBlocks(t *testing.T) {
	run := func(name string, extra int) Run {
		samples := stacks.ValueType{Type: "samples", Unit: "count"}
		s := stacks.New(
			stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{samples}},
			stacks.Event{Name: "reads", Values: []stacks.ValueType{samples, {Type: "reads", Unit: "count"}}})
		f, g, slow := s.Intern([]uint32{frame(s, "f")}), s.Intern([]uint32{frame(s, "g")}), s.Intern([]uint32{frame(s, "slow")})
		now := uint64(0)
		add := func(event int, id stacks.StackID, values ...int64) {
			now++
			s.AddTimedSample(stacks.TimedSample{Time: now, Sample: uint32(s.Add(event, id, 0, values...)), Value: 1})
		}
		for i := range 2000 {
			for range 1 + i/1000 {
				add(0, f, 1)
				add(0, g, 1)
				add(1, f, 1, 10)
				if i%10 < extra {
					add(0, slow, 1)
				}
			}
		}
		s.SortTimedSamples()
		return Run{Name: name, Set: s, PerEvent: 1, PerColumn: 1}
	}
	o := Defaults
	o.Per = PerEvent
	r, err := Compare([]Run{run("base", 0)}, []Run{run("new", 1)}, o)
	if err != nil {
		t.Fatal(err)
	}
	// Two samples for ten reads, and a tenth of a sample more.
	if math.Abs(r.Base.Total-0.2) > 1e-9 || math.Abs(r.Total.Diff-0.01) > 1e-9 || !strings.Contains(r.Method, "blocks") {
		t.Errorf("%+v, %+v %s", r.Base, r.Total, r.Method)
	}
	if diff := cmp.Diff([]string{"slow new"}, verdicts(r)); diff != "" {
		t.Error(diff)
	}
}

// near tells whether a number is the one that is wanted, which is finite.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*(1+math.Abs(want)) }
