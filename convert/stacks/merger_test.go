package stacks

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nameText is what a row says by names: nothing of addresses, nor of how columns are
// called.
func nameText(s *Set, x Sample) string {
	var b strings.Builder
	fmt.Fprint(&b, s.Events[x.Event].Name, s.Labels(x.Labels))
	for _, l := range s.Stack(x.Stack) {
		fmt.Fprintf(&b, "\n%d", s.Locations[l].Kind)
		if m := s.Locations[l].Mapping; m >= 0 {
			fmt.Fprintf(&b, " %s+%#x", s.Mappings[m].File, s.Locations[l].Addr-s.Mappings[m].Start)
		}
		for _, y := range s.Lines(l) {
			fmt.Fprintf(&b, " %s:%d", s.Functions[y.Function].Name, y.Line)
		}
	}
	return b.String()
}

// machine is what one of many machines, with the same programs at other addresses, has.
func machine(seed uint64) *Set {
	r := rand.New(rand.NewPCG(seed, 5))
	s := New(Event{Name: "cpu-clock", Values: []ValueType{{"samples", "count"}, {"cpu", "nanoseconds"}}})
	for i, m := range []Mapping{
		{File: "[kernel.kallsyms]", Kind: KindKernel, BuildID: "aa"},
		{File: "[ext4]", Kind: KindModule, BuildID: "bb"},
		{File: "/bin/x", Kind: KindUser, BuildID: "cc", Offset: 0x1000},
		{File: "/bin/y", Kind: KindUser},
	} {
		m.Start = uint64(i+1)<<40 + r.Uint64N(1<<20)<<12
		m.Limit = m.Start + 1<<20
		if m.Kind == KindKernel {
			m.Limit, m.Offset = math.MaxUint64, m.Start // as perf has it
		}
		s.AddMapping(m)
	}
	for i := range 40 {
		m := i % 4
		loc := s.AddLocation(int32(m), s.Mappings[m].Start+uint64(i)*16, s.Mappings[m].Kind)
		s.SetLines(loc, Line{Function: s.AddFunction(Function{Name: fmt.Sprint("f", i/8)}), Line: int64(i % 2)})
	}
	for range 200 {
		chain := make([]uint32, 1+r.IntN(3))
		for i := range chain {
			chain[i] = r.Uint32N(uint32(len(s.Locations)))
		}
		l := []Label{{Key: "comm", Str: fmt.Sprint("c", r.IntN(3))}, {Key: "pid", Num: r.Int64N(100)}}
		s.Add(0, s.Intern(chain), s.InternLabels(l), 1, 1+r.Int64N(100))
	}
	s.DurationNanos = 10e9
	return s
}

// TestMergerAnyOrder: the sum of machines whose kernels and processes are elsewhere is
// what adding up their rows by name and offset gives, in any order, and it has each
// mapping and location once.
func TestMergerAnyOrder(t *testing.T) {
	want := map[string][2]int64{}
	const machines = 12
	for i := range uint64(machines) {
		s := machine(i)
		for j := range s.NumSamples() {
			x := s.Sample(j)
			k := nameText(s, x)
			v := want[k]
			want[k] = [2]int64{v[0] + x.Values[0], v[1] + x.Values[1]}
		}
	}
	for seed := range uint64(5) {
		m := NewMerger(MergeOptions{})
		for _, i := range rand.New(rand.NewPCG(seed, 1)).Perm(machines) {
			if err := m.Add(machine(uint64(i)), Addend{}); err != nil {
				t.Fatal(err)
			}
		}
		s := m.Set()
		got := map[string][2]int64{}
		for j := range s.NumSamples() {
			x := s.Sample(j)
			k := nameText(s, x)
			if _, twice := got[k]; twice {
				t.Errorf("two rows for %s", k)
			}
			got[k] = [2]int64(x.Values)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if len(s.Mappings) != 4 || len(s.Locations) != 40 || s.DurationNanos != machines*10e9 {
			t.Errorf("%d mappings, %d locations, %d ns", len(s.Mappings), len(s.Locations), s.DurationNanos)
		}
	}
}

// TestMergerKeepsApart: what may be different code is not one.
func TestMergerKeepsApart(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b Mapping
		want int
	}{
		{"builds of a kernel", Mapping{File: "[k]", Kind: KindKernel, BuildID: "a", Start: 1 << 30}, Mapping{File: "[k]", Kind: KindKernel, BuildID: "b", Start: 1 << 30}, 2},
		{"kernels without a build id", Mapping{File: "[k]", Kind: KindKernel, Start: 1 << 30}, Mapping{File: "[k]", Kind: KindKernel, Start: 1 << 31}, 2},
		{"kernels of which one's place is not known", Mapping{File: "[k]", Kind: KindKernel, BuildID: "a", Start: 1 << 30}, Mapping{File: "[k]", Kind: KindKernel, BuildID: "a"}, 2},
		{"one build's boots", Mapping{File: "[k]", Kind: KindKernel, BuildID: "a", Start: 1 << 30}, Mapping{File: "[k]", Kind: KindKernel, BuildID: "a", Start: 1 << 31}, 1},
		{"segments of a file", Mapping{File: "/x", Kind: KindUser, BuildID: "a"}, Mapping{File: "/x", Kind: KindUser, BuildID: "a", Offset: 4096}, 2},
		{"files of one build id", Mapping{File: "/x", Kind: KindUser, BuildID: "a"}, Mapping{File: "/y", Kind: KindUser, BuildID: "a"}, 2},
		{"memory without a file", Mapping{File: "//anon", Kind: KindAnon, Start: 4096, Limit: 8192}, Mapping{File: "//anon", Kind: KindAnon, Start: 8192, Limit: 12288}, 2},
		{"a file at two places", Mapping{File: "/x", Kind: KindUser, Start: 4096, Limit: 8192}, Mapping{File: "/x", Kind: KindUser, Start: 8192, Limit: 12288}, 1},
	} {
		m := NewMerger(MergeOptions{})
		for _, x := range []Mapping{c.a, c.b} {
			s := New(Event{Name: "e", Values: countAndTime[:1]})
			s.Add(0, s.Intern([]uint32{s.AddLocation(s.AddMapping(x), x.Start+32, x.Kind)}), 0, 1)
			if err := m.Add(s, Addend{}); err != nil {
				t.Fatal(err)
			}
		}
		s := m.Set()
		if len(s.Mappings) != c.want || len(s.Locations) != c.want || s.NumSamples() != c.want {
			t.Errorf("%s: %d mappings, %d locations, %d rows; want %d", c.name, len(s.Mappings), len(s.Locations), s.NumSamples(), c.want)
		}
	}
}

// TestMergerFunctions: without addresses, code of one function and line is one location.
func TestMergerFunctions(t *testing.T) {
	m := NewMerger(MergeOptions{Functions: true})
	for i := range uint64(3) {
		if err := m.Add(machine(i), Addend{Drop: []string{"pid", "comm"}}); err != nil {
			t.Fatal(err)
		}
	}
	s := m.Set()
	if len(s.Locations) != 4*5 { // functions f0 to f4 in four mappings, of which each has one of the two lines
		t.Errorf("%d locations", len(s.Locations))
	}
	if sum := s.Totals(0); sum[0] != 600 {
		t.Errorf("%d samples", sum[0])
	}
}

// TestMergerAddend: labels are left out, replaced, kept and sorted; values are multiplied.
func TestMergerAddend(t *testing.T) {
	s := New(Event{Name: "e", Values: countAndTime})
	s.Add(0, s.Intern(nil), s.InternLabels([]Label{{Key: "pid", Num: 3}, {Key: "host", Str: "old"}, {Key: "z", Str: "kept"}}), 1, 10)
	s.Add(0, s.Intern(nil), s.InternLabels([]Label{{Key: "z", Str: "kept"}, {Key: "pid", Num: 4}}), 2, -5)
	m := NewMerger(MergeOptions{})
	for range 2 {
		how := Addend{Drop: []string{"pid"}, Labels: []Label{{Key: "host", Str: "new"}, {Key: "a", Str: "b"}}, Scale: 1.5}
		if err := m.Add(s, how); err != nil {
			t.Fatal(err)
		}
	}
	sum := m.Set()
	if sum.NumSamples() != 1 {
		t.Fatalf("%d rows", sum.NumSamples())
	}
	x := sum.Sample(0)
	if diff := cmp.Diff([]int64{1.5 * 2 * (1 + 2), 1.5 * 2 * (10 - 5)}, x.Values); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Label{{Key: "a", Str: "b"}, {Key: "host", Str: "new"}, {Key: "z", Str: "kept"}}, sum.Labels(x.Labels)); diff != "" {
		t.Error(diff)
	}
}

// TestMergerScale: rows that are each less than a half of what they become 1 of are not lost, nor
// are those of many small Sets, with their times; and rows of more than a half are not each 1.
func TestMergerScale(t *testing.T) {
	for _, scale := range []float64{1.0 / 24, 2.0 / 3} {
		m := NewMerger(MergeOptions{})
		var exact [2]float64
		for range 7 {
			s := New(Event{Name: "a", Values: countAndTime[:1]}, Event{Name: "b", Values: countAndTime})
			for i := range 100 {
				stack := s.Intern([]uint32{s.AddLocation(NoMapping, uint64(i), KindUser)})
				s.Add(0, stack, 0, 10)
				row := uint32(s.Add(1, stack, 0, 1, -7))
				s.AddTimedSample(TimedSample{uint64(i + 1), row, -7})
				s.AddBlockSum(BlockSum{0, row, 1, -7})
			}
			exact[0] += 100 * 10 * scale
			exact[1] += 100 * -7 * scale
			if err := m.Add(s, Addend{Scale: scale}); err != nil {
				t.Fatal(err)
			}
		}
		sum := m.Set()
		var timed, blocks int64
		for _, x := range sum.TimedSamples {
			timed += x.Value
		}
		for _, x := range sum.BlockSums {
			blocks += x.Value
		}
		for _, c := range []struct {
			what string
			got  int64
			want float64
		}{
			{"a", sum.Totals(0)[0], exact[0]},
			{"samples of b", sum.Totals(1)[0], exact[1] / -7},
			{"b", sum.Totals(1)[1], exact[1]},
			{"times of b", timed, exact[1]},
			{"blocks of b", blocks, exact[1]},
		} {
			if math.Abs(float64(c.got)-c.want) > 1 {
				t.Errorf("scaled by %.3f %s is %d, want %.1f within 1", scale, c.what, c.got, c.want)
			}
		}
	}
}

// TestMergerEvents: an event alone, one of several, one of which every period was 1, and
// one of a profile that does not keep the name are the same.
func TestMergerEvents(t *testing.T) {
	count := func(name string) ValueType { return ValueType{name, "count"} }
	cpu := ValueType{"cpu", "nanoseconds"}
	for _, c := range []struct {
		name string
		sets [][]Event
		want []Event
	}{
		{"alone", [][]Event{{{Name: "cpu-clock", Values: []ValueType{count("samples"), cpu}}}, {{Name: "cpu-clock", Values: []ValueType{count("samples"), cpu}}}},
			[]Event{{Name: "cpu-clock", Values: []ValueType{count("samples"), cpu}}}},
		{"of pprof", [][]Event{{{Name: "cpu", Values: []ValueType{count("samples"), cpu}}}, {{Name: "cpu-clock", Values: []ValueType{count("samples"), cpu}}}},
			[]Event{{Name: "cpu-clock", Values: []ValueType{count("samples"), cpu}}}},
		{"of several", [][]Event{
			{{Name: "cpu-clock", Values: []ValueType{count("samples"), cpu}}},
			{{Name: "cpu-clock", Values: []ValueType{count("cpu-clock.samples"), {"cpu-clock", "nanoseconds"}}}, {Name: "e", Values: []ValueType{count("e.samples")}}},
		}, []Event{
			{Name: "cpu-clock", Values: []ValueType{count("cpu-clock.samples"), {"cpu-clock", "nanoseconds"}}},
			{Name: "e", Values: []ValueType{count("e.samples")}},
		}},
		{"one that is alone becomes one of several", [][]Event{
			{{Name: "a", Values: []ValueType{count("samples"), count("a")}}},
			{{Name: "b", Values: []ValueType{count("samples"), {"size", "bytes"}}}},
		}, []Event{
			{Name: "a", Values: []ValueType{count("a.samples"), count("a")}},
			{Name: "b", Values: []ValueType{count("b.samples"), {"b.size", "bytes"}}},
		}},
		{"periods of 1", [][]Event{{{Name: "a", Values: []ValueType{count("samples")}}}, {{Name: "a", Values: []ValueType{count("samples"), count("a")}}}},
			[]Event{{Name: "a", Values: []ValueType{count("samples"), count("a")}}}},
		{"all periods of 1", [][]Event{{{Name: "a", Values: []ValueType{count("samples")}}}, {{Name: "a", Values: []ValueType{count("samples")}}}},
			[]Event{{Name: "a", Values: []ValueType{count("samples")}}}},
		{"another tool's", [][]Event{{{Name: "inuse_space", Values: []ValueType{count("inuse_objects"), {"inuse_space", "bytes"}}}}},
			[]Event{{Name: "inuse_space", Values: []ValueType{count("inuse_objects"), {"inuse_space", "bytes"}}}}},
	} {
		m := NewMerger(MergeOptions{})
		for _, events := range c.sets {
			s := New(events...)
			for i, e := range events {
				v := make([]int64, len(e.Values))
				for c := range v {
					v[c] = int64(10 + c)
				}
				s.Add(i, s.Intern(nil), 0, v...)
			}
			if err := m.Add(s, Addend{}); err != nil {
				t.Fatal(err)
			}
		}
		s := m.Set()
		if diff := cmp.Diff(c.want, s.Events); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	// The values of one without periods are those of its samples.
	m := NewMerger(MergeOptions{})
	one, two := New(Event{Name: "a", Values: []ValueType{count("samples")}}), New(Event{Name: "a", Values: []ValueType{count("samples"), count("a")}})
	one.Add(0, one.Intern(nil), 0, 3)
	two.Add(0, two.Intern(nil), 0, 4, 400)
	if err := errors.Join(m.Add(one, Addend{}), m.Add(two, Addend{})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{7, 403}, m.Set().Totals(0)); diff != "" {
		t.Error(diff)
	}
}

// TestMergerTooLarge: a sum that does not fit is refused, with nothing of it added.
func TestMergerTooLarge(t *testing.T) {
	set := func(v int64) *Set {
		s := New(Event{Name: "e", Values: countAndTime[:1]})
		s.Add(0, s.Intern(nil), 0, v)
		return s
	}
	m := NewMerger(MergeOptions{})
	var large *TooLargeSumError
	for _, c := range []struct {
		v  int64
		ok bool
	}{{math.MaxInt64 - 5, true}, {6, false}, {5, true}, {math.MinInt64, false}, {0, true}, {-1, false}} {
		if err := m.Add(set(c.v), Addend{}); (err == nil) != c.ok || err != nil && !errors.As(err, &large) {
			t.Errorf("%d: %v", c.v, err)
		}
	}
	if got := m.Set().Totals(0)[0]; got != math.MaxInt64 {
		t.Errorf("the sum is %d", got)
	}
}

// TestMergerHeader: what not all say is not said of the sum.
func TestMergerHeader(t *testing.T) {
	m := NewMerger(MergeOptions{})
	for i := range int64(2) {
		s := New()
		s.PeriodType, s.Period, s.DocURL, s.KeepFrames = countAndTime[1], 10+i, "u", fmt.Sprint(i)
		s.TimeNanos, s.DurationNanos, s.Comments = 50-i, 7, []string{"same"}
		if err := m.Add(s, Addend{}); err != nil {
			t.Fatal(err)
		}
	}
	s := m.Set()
	if s.Period != 0 || s.PeriodType != (ValueType{}) || s.DocURL != "u" || s.KeepFrames != "" || s.TimeNanos != 49 || s.DurationNanos != 14 || len(s.Comments) != 1 {
		t.Errorf("%+v", s)
	}
}

// TestMergerSaysWhatAllSay: each thing that two Sets say by itself, both the same and not.
func TestMergerSaysWhatAllSay(t *testing.T) {
	base := func() *Set {
		s := New()
		s.PeriodType, s.Period, s.CallersExact, s.DropFrames, s.DefaultType = countAndTime[1], 10, true, "d", "t"
		return s
	}
	sum := func(sets ...*Set) *Set {
		m := NewMerger(MergeOptions{})
		for _, s := range sets {
			if err := m.Add(s, Addend{}); err != nil {
				t.Fatal(err)
			}
		}
		return m.Set()
	}
	if s := sum(base(), base()); s.Period != 10 || s.PeriodType != countAndTime[1] || !s.CallersExact || s.DropFrames != "d" || s.DefaultType != "t" {
		t.Errorf("of two that say the same: %+v", s)
	}
	other := base()
	other.PeriodType = countAndTime[0]
	if s := sum(base(), other); s.Period != 0 || s.PeriodType != (ValueType{}) {
		t.Errorf("of two types of period: %d of %v", s.Period, s.PeriodType)
	}
	for first := range 2 {
		sets := []*Set{base(), base()}
		sets[first].CallersExact = false
		if s := sum(sets...); s.CallersExact {
			t.Errorf("callers are exact, and not those of Set %d", first)
		}
	}
}

// TestMergerMappingKeys: mappings are one where only their addresses differ, or their sizes by less than a
// page; kernels and what has no name are only where they are.
func TestMergerMappingKeys(t *testing.T) {
	file := Mapping{File: "/bin/a", BuildID: "ab", Start: 0x1000, Limit: 0x5000, Offset: 0x2000, Kind: KindUser}
	anon := Mapping{Start: 0x1000, Limit: 0x5000, Kind: KindUser}
	kernel := Mapping{File: "[kernel]", BuildID: "cd", Start: 0x1000, Limit: 0x5000, Kind: KindKernel}
	for _, c := range []struct {
		name   string
		m      Mapping
		change func(*Mapping)
		same   bool
	}{
		{"moved", file, func(m *Mapping) { m.Start, m.Limit = 0x8000, 0xc000 }, true},
		{"a byte less", file, func(m *Mapping) { m.Limit-- }, true},
		{"almost a page less", file, func(m *Mapping) { m.Limit -= 0xfff }, true},
		{"a page less", file, func(m *Mapping) { m.Limit -= 0x1000 }, false},
		{"a byte more", file, func(m *Mapping) { m.Limit++ }, false},
		{"another offset", file, func(m *Mapping) { m.Offset += 0x1000 }, false},
		{"another build id", file, func(m *Mapping) { m.BuildID = "ac" }, false},
		{"without a name, moved", anon, func(m *Mapping) { m.Start, m.Limit = 0x8000, 0xc000 }, false},
		{"without a name, smaller at the same end", anon, func(m *Mapping) { m.Start = 0x2000 }, false},
		{"without a name, smaller", anon, func(m *Mapping) { m.Limit-- }, false},
		{"without a name, with an offset", anon, func(m *Mapping) { m.Offset++ }, false},
		{"a kernel elsewhere", kernel, func(m *Mapping) { m.Start, m.Limit, m.Offset = 0x8000, 0xd000, 1 }, true},
	} {
		m := NewMerger(MergeOptions{})
		for i := range 2 {
			s, x := New(), c.m
			if i == 1 {
				c.change(&x)
			}
			s.AddMapping(x)
			if err := m.Add(s, Addend{}); err != nil {
				t.Fatal(err)
			}
		}
		got := m.Set().Mappings
		if (len(got) == 1) != c.same {
			t.Errorf("%s: %d mappings", c.name, len(got))
		}
		if last := c.m; c.same {
			c.change(&last)
			if want := max(c.m.Limit-c.m.Start, last.Limit-last.Start); got[0].Limit-got[0].Start != want || got[0].Start != c.m.Start {
				t.Errorf("%s: from %#x to %#x, wanted %#x bytes", c.name, got[0].Start, got[0].Limit, want)
			}
		}
	}
}

// TestMergerUnknownPeriods: samples of which nobody knows what they stand for are not added to periods,
// in neither order, and leave the sum as it was.
func TestMergerUnknownPeriods(t *testing.T) {
	set := func(unknown bool, columns ...ValueType) *Set {
		s := New(Event{Name: "cycles", Values: columns, UnknownPeriods: unknown})
		values := []int64{3, 3000}
		s.Add(0, s.Intern(nil), 0, values[:len(columns)]...)
		return s
	}
	samples, cycles := ValueType{"samples", "count"}, ValueType{"cycles", "count"}
	for _, c := range []struct {
		name string
		sets []*Set
		ok   []bool
		want string
	}{
		{"text first", []*Set{set(true, samples), set(false, samples, cycles), set(true, samples)}, []bool{true, false, true}, "[6]"},
		{"periods first", []*Set{set(false, samples, cycles), set(true, samples), set(false, samples, cycles)}, []bool{true, false, true}, "[6 6000]"},
		{"periods of 1", []*Set{set(false, samples), set(true, samples), set(false, samples)}, []bool{true, true, true}, "[9]"},
		{"periods of 1 and others", []*Set{set(false, samples), set(false, samples, cycles)}, []bool{true, true}, "[6 3003]"},
	} {
		m := NewMerger(MergeOptions{})
		for i, s := range c.sets {
			var unknown *UnknownPeriodsError
			if err := m.Add(s, Addend{}); (err == nil) != c.ok[i] || err != nil && (!errors.As(err, &unknown) || unknown.Event != "cycles") {
				t.Errorf("%s: set %d: %v", c.name, i, err)
			}
		}
		if got := fmt.Sprint(m.Set().Totals(0)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
