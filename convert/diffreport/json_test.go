package diffreport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"kprof/convert/diff"
)

// TestJSONOfModels: whatever intervals come from, and where there are none, a comparison with a
// limit is JSON, in which an upper bound that is not known is null.
func TestJSONOfModels(t *testing.T) {
	one := func(change func(*diff.Run)) (runs [2][]diff.Run) {
		for side, r := range [...]diff.Run{machineRun("old", 10_000, 300, 0), machineRun("new", 10_010, 1200, 900)} {
			r.Set.DurationNanos, r.Ops = 1e9, 1000
			change(&r)
			runs[side] = []diff.Run{r}
		}
		return runs
	}
	spans := func(times bool) [2][]diff.Run {
		return [2][]diff.Run{{spansRun("old", 1000, times)}, {spansRun("new", 3000, times)}}
	}
	as := func(*diff.Run) {}
	repeated := one(as)
	for side := range repeated {
		for _, n := range [...]int64{9_900, 10_100} {
			n += 50 * int64(side)
			repeated[side] = append(repeated[side], machineRun(fmt.Sprint(n), n, n/20, 0))
		}
	}
	for _, test := range []struct {
		name    string
		runs    [2][]diff.Run
		per     diff.Per
		unknown bool
	}{
		{name: "counts", runs: one(as)},
		{name: "blocks", runs: spans(true)},
		{name: "durations", runs: spans(false), unknown: true},
		{name: "runs", runs: repeated},
		{name: "runs by number", runs: repeated, per: diff.PerRun},
		{name: "per second", runs: one(as), per: diff.PerSecond, unknown: true},
		{name: "per operation", runs: one(as), per: diff.PerOps, unknown: true},
		{name: "per run", runs: one(as), per: diff.PerRun, unknown: true},
		{name: "per event", runs: one(as), per: diff.PerEvent},
		{name: "exact", runs: one(func(r *diff.Run) { r.Exact = true }), per: diff.PerRun},
		{name: "measured", runs: one(func(r *diff.Run) { r.Measured = true }), per: diff.PerRun},
	} {
		o := diff.Defaults
		o.Per = test.per
		r, err := diff.Compare(test.runs[0], test.runs[1], o)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		j := r.Judge(0.02)
		var b bytes.Buffer
		if err := JSON(&b, r, Options{Judgement: &j}); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var d document
		if err := json.Unmarshal(b.Bytes(), &d); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if (d.Limit.Upper == nil) != test.unknown || test.unknown && d.Limit.Outcome != "inconclusive" {
			t.Errorf("%s: upper bound %v, %s", test.name, d.Limit.Upper, d.Limit.Text)
		}
	}
}

// TestJSONParts: totals of runs, paths that are not listed, what more would take, and whatever is not known.
func TestJSONParts(t *testing.T) {
	r := resultOf(t)
	r.PerRunKnown, r.PerRun = true, diff.Difference{Base: 100, New: 150, Diff: 50, Low: math.Inf(-1), High: math.Inf(1), P: 1, Adjusted: 1}
	r.Functions[0].NumPaths, r.Functions[0].OtherPaths = 5, diff.Path{Base: 0.25, New: 0.75}
	r.Functions[1].Verdict, r.Functions[1].Built = diff.Gone, true
	r.Functions[2].Verdict, r.Functions[2].Built = diff.Renamed, true
	write := func() (d document) {
		var b bytes.Buffer
		if err := JSON(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := write()
	if p := d.PerRun; p == nil || p.Base != 100 || p.New != 150 || p.Diff != 50 || p.Relative != 0.5 || p.Low != nil || p.High != nil || p.Ratio == nil || *p.Ratio != 1.5 {
		t.Errorf("per run: %+v", p)
	}
	if o := d.Functions[0].OtherPaths; o == nil || o.Count != 4 || o.Base != 0.25 || o.New != 0.75 || o.Diff != 0.5 || d.Functions[1].OtherPaths != nil {
		t.Errorf("other paths: %+v", o)
	}
	if d.Functions[0].Built || !d.Functions[1].Built || d.Functions[2].Built {
		t.Error("which builds have functions")
	}
	// 2 % could be told: for 1 % it takes four times as much.
	if a := d.Advice; a == nil || a.Factor == nil || *a.Factor != 4 || a.Seconds != 120 || a.Runs != 4 {
		t.Errorf("advice: %+v", a)
	}
	r.Resolution, r.PerRunKnown = 0.01, false
	if d := write(); d.Advice != nil || d.PerRun != nil {
		t.Errorf("advice %+v, per run %+v", d.Advice, d.PerRun)
	}
}
