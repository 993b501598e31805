package diffreport

import (
	"bytes"
	"encoding/json"
	"fmt"
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
