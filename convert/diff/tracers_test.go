package diff

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTracers: the function that calls tracers, which is the leaf where a tracepoint has several or
// the architecture no static calls, makes no difference: what it has counts for its caller.
func TestTracers(t *testing.T) {
	const base = "kthread;__schedule 50\nmain;schedule;__schedule 40\nmain;exit;__schedule 10"
	const new = "kthread;__schedule;__traceiter_sched_switch 50\nmain;schedule;__schedule;__traceiter_sched_switch_[k] 30\n" +
		"main;exit;__schedule;__traceiter_sched_switch;perf_trace_sched_switch 10\n__traceiter_sched_switch 10"
	r := compareLines(t, base, new, Defaults)
	i := slices.IndexFunc(r.Functions, func(f Function) bool { return f.Name == "__schedule" })
	if f := r.Functions[i]; f.BaseSelf != 100 || f.NewSelf != 80 || f.NewCum != 90 {
		t.Errorf("%+v", f)
	}
	for _, m := range r.Merged {
		for _, o := range m.Originals {
			if !slices.Contains(o.Rules, RuleTracer) {
				t.Errorf("%+v", m)
			}
		}
	}
	_, set := r.Sets()
	leaves := map[string]int64{}
	for row := range set.NumSamples() {
		x := set.Sample(row)
		for _, loc := range set.Stack(x.Stack)[:1] {
			leaves[set.Functions[set.Lines(loc)[0].Function].Name] += x.Values[0]
		}
	}
	// Without a caller, or of what it calls itself, nothing is known that would be better.
	if diff := cmp.Diff(map[string]int64{"__schedule": 80, "perf_trace_sched_switch": 10, "__traceiter_sched_switch": 10}, leaves); diff != "" {
		t.Error(diff)
	}

	exact := Defaults
	exact.Names.Exact = true
	if got := verdicts(compareLines(t, base, new, exact)); !slices.Contains(got, "__schedule less") {
		t.Errorf("by exact names: %q", got)
	}
	n := Names{Aliases: Aliases{to: map[string]string{"__traceiter_a": "a"}}}
	for _, x := range []struct {
		name string
		user bool
		want bool
	}{{"__traceiter_b", false, true}, {"__traceiter_b", true, false}, {"__traceiter_a", false, false}, {"traceiter_b", false, false}} {
		if got := n.isTracer(x.name, x.user); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
}

// TestTracersPaths: paths of what changed do without it too, inlined frames or not.
func TestTracersPaths(t *testing.T) {
	r := compareLines(t, "main;f+in;__traceiter_x 100\nmain;g 900", "main;f+in;__traceiter_x 500\nmain;g 900", Defaults)
	if len(r.Functions) == 0 || r.Functions[0].Name != "in" || len(r.Functions[0].Paths) != 1 {
		t.Fatalf("%+v", r.Functions)
	}
	if diff := cmp.Diff([]string{"main", "f", "in"}, r.Functions[0].Paths[0].Stack); diff != "" {
		t.Error(diff)
	}
	both := r.Both()
	for row := range both.NumSamples() {
		for _, loc := range both.Stack(both.Sample(row).Stack) {
			if both.Functions[both.Lines(loc)[0].Function].Name == "__traceiter_x" {
				t.Error("it is in what is drawn")
			}
		}
	}
}
