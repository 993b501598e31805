package diff

import (
	"fmt"
	"testing"

	"kprof/convert/stacks"
)

func weightOf(r *Run, total int64) float64 {
	weight, _ := sampleWeight(r, total)
	return weight
}

// TestSampleWeight: values that are sums of periods are not numbers of samples.
func TestSampleWeight(t *testing.T) {
	set := func(values []stacks.ValueType, rows ...[]int64) Run {
		s := stacks.New(stacks.Event{Name: "e", Values: values})
		for i, v := range rows {
			s.Add(0, s.Intern([]uint32{uint32(i)}), 0, v...)
		}
		return Run{Set: s, Column: len(values) - 1}
	}
	rows := func(n int, first, step int64) (all [][]int64) {
		for i := range int64(n) {
			all = append(all, []int64{first + i*step})
		}
		return all
	}
	count, ns := stacks.ValueType{Type: "samples", Unit: "count"}, stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}
	for name, test := range map[string]struct {
		run  Run
		want float64
	}{
		"counts":              {set([]stacks.ValueType{count}, []int64{9000}, []int64{1000}), 1},
		"counts of a period":  {set([]stacks.ValueType{count}, rows(8, 49_000, 1000)...), 1000},
		"too few to tell":     {set([]stacks.ValueType{count}, rows(7, 49_000, 1000)...), 1},
		"one more":            {set([]stacks.ValueType{count}, append(rows(8, 49_000, 1000), []int64{1})...), 1},
		"fractions":           {set([]stacks.ValueType{{Type: "samples", Unit: "thousandths"}}, append(rows(8, 49_000, 1000), []int64{250})...), 1000},
		"fractions, a period": {set([]stacks.ValueType{{Type: "samples", Unit: "thousandths"}}, rows(8, 20_000, 10_000)...), 10_000},
		"beside, of none":     {set([]stacks.ValueType{count, ns}, []int64{0, 900}, []int64{0, 100}), 100},
		"beside":              {set([]stacks.ValueType{count, ns}, []int64{9, 900}, []int64{1, 100}), 100},
		"fixed period":        {set([]stacks.ValueType{ns}, []int64{750_000}, []int64{500_000}), 250_000},
		"a divisor by chance": {set([]stacks.ValueType{{Type: "alloc", Unit: "bytes"}}, []int64{33_333_336}, []int64{66_666_696}, []int64{88_888_968}), 33_333_336},
		"sums":                {set([]stacks.ValueType{count}, []int64{1_000_003}, []int64{1_000_007}, []int64{1_000_001}, []int64{900_000_001}), 1_000_003},
	} {
		if got := weightOf(&test.run, test.run.Set.Totals(0)[test.run.Column]); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	moments := set([]stacks.ValueType{ns}, []int64{1000})
	for _, v := range []int64{100, 300, 600} {
		moments.Set.AddTimedSample(stacks.TimedSample{Time: uint64(v), Value: v})
	}
	if got, want := weightOf(&moments, 1000), (100*100+300*300+600*600)/1000.0; got != want {
		t.Errorf("moments: %v, want %v", got, want)
	}
}

// TestCounted: how many samples a side has is known if it is of each of its runs.
func TestCounted(t *testing.T) {
	counts := func(name string, more int) Run { return profile(t, name, fmt.Sprintf("m;f 900\nm;g 10%d", more)) }
	periods := profile(t, "periods", "m;f 900000007\nm;g 100000003")
	r, err := Compare([]Run{counts("a", 0), counts("b", 1)}, []Run{counts("c", 2), periods}, Defaults)
	if err != nil {
		t.Fatal(err)
	}
	if r.Base.Counted != 2001 || r.New.Counted != 0 {
		t.Errorf("%d and %d samples, want 2001, and not known", r.Base.Counted, r.New.Counted)
	}
}
