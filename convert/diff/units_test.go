package diff

import (
	"math"
	"testing"

	"kprof/convert/stacks"
)

// TestOneUnit: values of both sides have one unit where one of theirs becomes the other, as of go
// tool pprof -diff_base, which says 36s of 30s and 66s; of others, the base's are scaled.
func TestOneUnit(t *testing.T) {
	run := func(name string, v stacks.ValueType, f, g int64) Run {
		s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{v}})
		for fn, n := range map[string]int64{"f": f, "g": g} {
			l := s.AddLocation(-1, uint64(n), stacks.KindUser)
			s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: fn})})
			s.Add(0, s.Intern([]uint32{l}), s.InternLabels(nil), n)
		}
		return Run{Name: name, Set: s}
	}
	in := func(unit string) stacks.ValueType { return stacks.ValueType{Type: "cpu", Unit: unit} }
	for _, test := range []struct {
		name      string
		base, new []Run
		one       bool
		unit      string
		want      [3]int64 // base, new and their difference
	}{
		{"microseconds", []Run{run("b", in("nanoseconds"), 10e9, 20e9)}, []Run{run("n", in("microseconds"), 26e6, 40e6)}, true, "nanoseconds", [3]int64{30e9, 66e9, 36e9}},
		{"the base has them", []Run{run("b", in("microseconds"), 26e6, 40e6)}, []Run{run("n", in("nanoseconds"), 10e9, 20e9)}, true, "nanoseconds", [3]int64{66e9, 30e9, -36e9}},
		{"within a side", []Run{run("b1", in("bytes"), 1000, 24), run("b2", in("kilobytes"), 1, 2)}, []Run{run("n", in("kilobytes"), 3, 5)}, true, "bytes", [3]int64{4096, 8192, 4096}},
		{"all the same", []Run{run("b", in("apples"), 10, 20)}, []Run{run("n", in("apples"), 30, 40)}, true, "apples", [3]int64{30, 70, 40}},
		{"of other things", []Run{run("b", in("apples"), 10, 20)}, []Run{run("n", in("bytes"), 3000, 4000)}, false, "bytes", [3]int64{30, 7000, 0}},
		{"not in 63 bits", []Run{run("b", in("seconds"), math.MaxInt64/4, 20)}, []Run{run("n", in("nanoseconds"), 3000, 4000)}, false, "nanoseconds", [3]int64{math.MaxInt64/4 + 20, 7000, 0}},
	} {
		r, err := Compare(test.base, test.new, Options{Force: true})
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if r.OneUnit() != test.one {
			t.Errorf("%s: one unit: %v", test.name, r.OneUnit())
		}
		base, new := r.Sets()
		got := [3]int64{base.Totals(0)[0], new.Totals(0)[0]}
		scale := 1.0
		if !test.one {
			base, new = r.Means()
			scale = r.Scale()
		}
		sum := Negated(base, new, scale)
		got[2] = sum.Totals(0)[0]
		if got != test.want || len(sum.Events) != 1 || sum.Events[0].Values[0].Unit != test.unit {
			t.Errorf("%s: %d of %+v, want %d of %s", test.name, got, sum.Events, test.want, test.unit)
		}
	}
}
