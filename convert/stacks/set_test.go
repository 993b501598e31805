package stacks

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/intern"
)

var countAndTime = []ValueType{{"samples", "count"}, {"cpu", "nanoseconds"}}

func TestInternIsIdentity(t *testing.T) {
	s := New()
	var want [][]uint32
	ids := map[string]StackID{}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 50_000 {
		c := make([]uint32, r.IntN(12))
		for j := range c {
			c[j] = r.Uint32N(5)
		}
		if i%1000 == 0 {
			c = make([]uint32, r.IntN(blockSize)) // fills blocks of the arena
		}
		id := s.Intern(c)
		k := fmt.Sprint(c)
		if old, ok := ids[k]; ok && old != id {
			t.Fatalf("%v is %d, was %d", c, id, old)
		} else if !ok {
			if int(id) != len(want) {
				t.Fatalf("new stack got id %d, want %d", id, len(want))
			}
			ids[k] = id
			want = append(want, slices.Clone(c))
		}
		clear(c) // the Set has its own copy
	}
	if s.NumStacks() != len(want) {
		t.Errorf("%d stacks, want %d", s.NumStacks(), len(want))
	}
	for id, c := range want {
		if got := s.Stack(StackID(id)); !slices.Equal(got, c) {
			t.Fatalf("stack %d is %v, want %v", id, got, c)
		}
	}
}

func TestDepth(t *testing.T) {
	s := New()
	if n := len(s.Stack(s.Intern(make([]uint32, MaxDepth)))); n != MaxDepth {
		t.Errorf("depth %d, want %d", n, MaxDepth)
	}
	defer func() {
		if recover() == nil {
			t.Error("a stack deeper than MaxDepth was taken")
		}
	}()
	s.Intern(make([]uint32, MaxDepth+1))
}

// Two stacks whose hashes agree must still be told apart.
func TestCollisionsAreReported(t *testing.T) {
	var tab chainTable
	tab.init()
	a := tab.intern([]uint32{1, 2, 3})
	tab.index.Add(intern.Words(tab.seed, []uint32{4, 5, 6}), a) // as if its hash were that too
	if b := tab.intern([]uint32{4, 5, 6}); b == a {
		t.Error("equal hashes made equal stacks")
	}
}

func TestLabels(t *testing.T) {
	s := New()
	sets := [][]Label{
		nil,
		{{Key: "comm", Str: "a"}},
		{{Key: "comm", Str: "a"}, {Key: "pid", Num: 1}},
		{{Key: "pid", Num: 1}, {Key: "comm", Str: "a"}},
		{{Key: "pid", Num: 1}},
		{{Key: "pid", Num: -1}},
		{{Key: "pid", Num: 1, Unit: "pid"}},
		{{Key: "pid", Str: "1"}},
		{{Key: "", Str: "pid1"}},
		{{Key: "p", Str: "id1"}},
		{{}},
		{{}, {}},
		{{Key: "a\x00b", Str: "c"}},
		{{Key: "a", Str: "b\x00c"}},
	}
	for i, l := range sets {
		if id := s.InternLabels(l); id != LabelsID(i) {
			t.Errorf("%v got id %d, want %d", l, id, i)
		}
	}
	for i, l := range sets {
		if id := s.InternLabels(slices.Clone(l)); id != LabelsID(i) {
			t.Errorf("%v again: id %d, want %d", l, id, i)
		}
		if diff := cmp.Diff(l, s.Labels(LabelsID(i))); diff != "" {
			t.Error(diff)
		}
	}
	if l, ok := s.Label(2, "pid"); !ok || l.Num != 1 {
		t.Errorf("label pid is %v, %v", l, ok)
	}
	if _, ok := s.Label(2, "tid"); ok {
		t.Error("found a label that is not there")
	}
}

// TestAgainstMap does random things to a Set and to a naive map.
func TestAgainstMap(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := New(Event{Name: "a", Values: countAndTime}, Event{Name: "b", Values: countAndTime[:1]})
		want := map[string][]int64{}
		var order []string
		for range r.IntN(20_000) {
			chain := make([]uint32, r.IntN(4))
			for i := range chain {
				chain[i] = r.Uint32N(10)
			}
			labels := []Label{{Key: "pid", Num: r.Int64N(4)}}[:r.IntN(2)]
			e := r.IntN(2)
			v := []int64{1, r.Int64N(1000) - 100}[:2-e]
			s.Add(e, s.Intern(chain), s.InternLabels(labels), v...)
			k := fmt.Sprint(e, chain, labels)
			if want[k] == nil {
				want[k] = make([]int64, len(v))
				order = append(order, k)
			}
			for i := range v {
				want[k][i] += v[i]
			}
		}
		if s.NumSamples() != len(order) {
			t.Fatalf("seed %d: %d rows, want %d", seed, s.NumSamples(), len(order))
		}
		totals := [][]int64{{0, 0}, {0}}
		for i, k := range order {
			x := s.Sample(i)
			if got := fmt.Sprint(x.Event, s.Stack(x.Stack), s.Labels(x.Labels)); got != k {
				t.Fatalf("seed %d: row %d is %s, want %s", seed, i, got, k)
			}
			if !slices.Equal(x.Values, want[k]) {
				t.Fatalf("seed %d: %s is %v, want %v", seed, k, x.Values, want[k])
			}
			for c, v := range x.Values {
				totals[x.Event][c] += v
			}
		}
		for e := range totals {
			if diff := cmp.Diff(totals[e], s.Totals(e)); diff != "" {
				t.Errorf("seed %d: totals of event %d: %s", seed, e, diff)
			}
		}
	}
}

func TestAddChecksColumns(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), `1 values for the 2 columns of event "a"`) {
			t.Errorf("recovered %v", r)
		}
	}()
	s := New(Event{Name: "a", Values: countAndTime})
	s.Add(0, s.Intern(nil), 0, 1)
}

func TestEventIndex(t *testing.T) {
	s := New(Event{Name: "a", Values: nil})
	s.AddEvent(Event{Name: "b", Values: nil})
	for name, want := range map[string]int{"a": 0, "b": 1, "c": -1} {
		if got := s.EventIndex(name); got != want {
			t.Errorf("EventIndex(%q) = %d, want %d", name, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	s := New()
	m := s.AddMapping(Mapping{File: "/usr/lib/libc.so.6"})
	v := s.AddMapping(Mapping{File: "[vdso]"})
	anon := s.AddMapping(Mapping{File: "//anon"})
	none := s.AddMapping(Mapping{})
	f := s.AddFunction(Function{Name: "f"})
	g := s.AddFunction(Function{Name: "g"})
	if again := s.AddFunction(Function{Name: "f"}); again != f {
		t.Errorf("f is %d and %d", f, again)
	}
	if other := s.AddFunction(Function{Name: "f", File: "f.c"}); other == f {
		t.Error("functions of two files are one")
	}
	for _, lines := range [][]Line{{{Function: f}}, {{Function: g}, {Function: f}}} {
		s.SetLines(s.AddLocation(m, 1, KindUser), lines...)
	}
	for _, in := range []int32{m, v, anon, none, NoMapping} {
		s.AddLocation(in, 2, KindUser)
	}
	n := s.Names()
	var got []string
	for loc := range s.Locations {
		var one []string
		for _, id := range n.Of(uint32(loc)) {
			one = append(one, n.Names[id])
		}
		got = append(got, strings.Join(one, " in "))
	}
	want := []string{"f", "g in f", "[libc.so.6]", "[[vdso]]", "[anon]", "[unknown]", "[unknown]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	slices.Sort(n.Names)
	if len(slices.Compact(n.Names)) != 6 {
		t.Errorf("names are not distinct: %q", n.Names)
	}
}

func TestNoAllocationsForKnown(t *testing.T) {
	s, chains := fill(1000, 30)
	labels := []Label{{Key: "comm", Str: "bash"}, {Key: "pid", Num: 1234}}
	s.InternLabels(labels)
	s.Add(0, s.Intern(chains[7]), 1, 1, 2)
	n := testing.AllocsPerRun(100, func() {
		s.Add(0, s.Intern(chains[7]), s.InternLabels(labels), 1, 2)
	})
	if n != 0 {
		t.Errorf("%v allocations to count a known stack", n)
	}
}

// fill makes n distinct random stacks of a depth, over 50,000 locations, which
// share their outer half in groups of 16. Stacks are leaf first.
func fill(n, depth int) (*Set, [][]uint32) {
	r := rand.New(rand.NewPCG(3, 4))
	s := New(Event{Name: "cpu-clock", Values: countAndTime})
	words := make([]uint32, n*depth)
	chains := make([][]uint32, n)
	for i := range chains {
		c := words[i*depth:][:depth]
		for j := range c {
			if i%16 != 0 && j >= depth/2 {
				c[j] = chains[i-1][j]
				continue
			}
			c[j] = r.Uint32N(50_000)
		}
		chains[i] = c
	}
	return s, chains
}

// TestManyColumns: rows of as many columns as there may be, which are more than a block of
// values holds, stand beside others.
func TestManyColumns(t *testing.T) {
	narrow, wide := Event{Name: "narrow", Values: make([]ValueType, 3)}, Event{Name: "wide", Values: make([]ValueType, 1<<14)}
	s := New(narrow, wide)
	const rows, times = 5, 2
	var ids []StackID
	for r := range rows {
		ids = append(ids, s.Intern([]uint32{s.AddLocation(NoMapping, uint64(r), KindUser)}))
	}
	values := make([]int64, MaxColumns)
	for range times {
		for r := range rows {
			for c := range values {
				values[c] = int64(r*MaxColumns + c)
			}
			s.Add(0, ids[r], 0, values[:3]...)
			s.Add(1, ids[r], 0, values...)
		}
	}
	s.Fetch(ids)
	for i := range s.NumSamples() {
		x := s.Sample(i)
		r := int(s.Locations[s.Stack(x.Stack)[0]].Addr)
		for c, v := range x.Values {
			if want := int64(times * (r*MaxColumns + c)); v != want {
				t.Fatalf("row %d of %q, column %d: %d, wanted %d", r, s.Events[x.Event].Name, c, v, want)
			}
		}
	}
	if s.NumSamples() != 2*rows || s.rows.size() < rows*(MaxColumns+valueBlock)*8 {
		t.Errorf("%d rows in %d bytes", s.NumSamples(), s.rows.size())
	}
}
