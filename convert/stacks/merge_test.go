package stacks

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// canon is a Set as a map from what a row says, in full, to its values.
func canon(s *Set) map[string]string {
	sum := map[string][]int64{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		k := rowText(s, x)
		if sum[k] == nil {
			sum[k] = make([]int64, len(x.Values))
		}
		for c, v := range x.Values {
			sum[k][c] += v
		}
	}
	m := map[string]string{}
	for k, v := range sum {
		m[k] = fmt.Sprint(v)
	}
	return m
}

// rowText is what a row says, but for its values.
func rowText(s *Set, x Sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", s.Events[x.Event], s.Labels(x.Labels))
	for _, l := range s.Stack(x.Stack) {
		loc := s.Locations[l]
		fmt.Fprintf(&b, "\n%d %#x", loc.Kind, loc.Addr)
		if loc.Mapping >= 0 {
			fmt.Fprintf(&b, " %+v", s.Mappings[loc.Mapping])
		}
		for _, y := range s.Lines(l) {
			fmt.Fprintf(&b, " %+v:%d:%d", s.Functions[y.Function], y.Line, y.Column)
		}
	}
	return b.String()
}

// random makes a small Set in which different seeds have much in common.
func random(seed uint64) *Set {
	r := rand.New(rand.NewPCG(seed, 11))
	s := New()
	for i := range 1 + r.IntN(3) {
		s.AddEvent(Event{Name: fmt.Sprintf("e%d", i), Values: countAndTime[:1+r.IntN(2)]})
	}
	for range 1 + r.IntN(4) {
		s.AddMapping(Mapping{File: fmt.Sprintf("/bin/%d", r.IntN(3)), BuildID: "ab"})
	}
	for range 1 + r.IntN(30) {
		loc := s.AddLocation(int32(r.IntN(len(s.Mappings)+1))-1, r.Uint64N(4), KindUser)
		var lines []Line
		for range r.IntN(3) {
			f := s.AddFunction(Function{Name: fmt.Sprintf("f%d", r.IntN(6))})
			lines = append(lines, Line{Function: f, Line: r.Int64N(2)})
		}
		s.SetLines(loc, lines...)
	}
	for range r.IntN(300) {
		chain := make([]uint32, r.IntN(4))
		for i := range chain {
			chain[i] = r.Uint32N(uint32(len(s.Locations)))
		}
		e := r.IntN(len(s.Events))
		v := make([]int64, len(s.Events[e].Values))
		for i := range v {
			v[i] = r.Int64N(100)
		}
		l := []Label{{Key: "comm", Str: fmt.Sprint(r.IntN(2))}}[:r.IntN(2)]
		s.Add(e, s.Intern(chain), s.InternLabels(l), v...)
	}
	s.Comments = []string{"both", fmt.Sprint("seed ", seed%3)}
	return s
}

func TestMerge(t *testing.T) {
	add := func(a, b string) string {
		var x, y [2]int64
		n, _ := fmt.Sscanf(strings.Trim(a, "[]"), "%d %d", &x[0], &x[1])
		fmt.Sscanf(strings.Trim(b, "[]"), "%d %d", &y[0], &y[1])
		return fmt.Sprint([]int64{x[0] + y[0], x[1] + y[1]}[:n])
	}
	for seed := range uint64(200) {
		a, b := random(seed), random(seed+1000)
		want := canon(a)
		for k, v := range canon(b) {
			if old, ok := want[k]; ok {
				v = add(old, v)
			}
			want[k] = v
		}
		locations := len(a.Locations)
		a.Merge(b)
		if diff := cmp.Diff(want, canon(a)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if n := len(a.Locations); n > locations+len(b.Locations) {
			t.Errorf("seed %d: %d locations", seed, n)
		}
		if len(a.Comments) > 3 {
			t.Errorf("seed %d: comments %q", seed, a.Comments)
		}
	}
}

func TestMergeTwiceAddsNothingNew(t *testing.T) {
	a := New()
	a.Merge(random(5))
	tables := func() []int {
		return []int{len(a.Events), len(a.Mappings), len(a.Locations), len(a.Functions), a.NumStacks(), a.NumSamples()}
	}
	want, keys := tables(), slices.Sorted(maps.Keys(canon(a)))
	a.Merge(random(5))
	if diff := cmp.Diff(want, tables()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(canon(a)))); diff != "" {
		t.Error(diff)
	}
}

// TestMergeMoments: of two Sets that share a row, in another place, each moment
// is still that of its row.
func TestMergeMoments(t *testing.T) {
	made := func(base uint64, comms ...string) *Set {
		s := New(Event{Name: "e", Values: countAndTime[:1]})
		for i, c := range comms {
			row := s.Add(0, s.Intern(nil), s.InternLabels([]Label{{Key: "comm", Str: c}}), 5)
			s.AddTimedSample(TimedSample{base - uint64(i), uint32(row), 2})
			s.AddTimedSample(TimedSample{base + 100 - uint64(i), uint32(row), 3})
		}
		s.SortTimedSamples()
		return s
	}
	a := made(40, "x", "y", "x")
	a.Merge(made(70, "z", "y"))
	a.Merge(New())
	var got []string
	for _, m := range a.TimedSamples {
		l, _ := a.Label(a.Sample(int(m.Sample)).Labels, "comm")
		got = append(got, fmt.Sprintf("%d %s +%d", m.Time, l.Str, m.Value))
	}
	want := []string{
		"38 x +2", "39 y +2", "40 x +2", "69 y +2", "70 z +2",
		"138 x +3", "139 y +3", "140 x +3", "169 y +3", "170 z +3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAddTellsTheRow: for the first row of a stack, for the others of it, and for
// those that were there.
func TestAddTellsTheRow(t *testing.T) {
	s := New(Event{Name: "e", Values: countAndTime[:1]}, Event{Name: "f", Values: countAndTime[:1]})
	for range 2 {
		for i := range 3000 {
			want := Sample{StackID(i / 3), 0, i % 3 % 2, nil}
			if i%3 == 2 {
				want.Labels = s.InternLabels([]Label{{Key: "comm", Str: "x"}})
			}
			got := s.Sample(s.Add(want.Event, s.Intern([]uint32{uint32(i / 3)}), want.Labels, 1))
			got.Values = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%d: %s", i, diff)
			}
		}
	}
}

func TestMergeHeader(t *testing.T) {
	a, b := New(), New()
	b.TimeNanos, b.DurationNanos = 50, 7
	a.Merge(b)
	b.TimeNanos = 40
	a.Merge(b)
	b.TimeNanos = 0
	a.Merge(b)
	if a.TimeNanos != 40 || a.DurationNanos != 21 {
		t.Errorf("time %d, duration %d; want 40, 21", a.TimeNanos, a.DurationNanos)
	}
}
