package diff

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// TestBuilds: what one build does not have is no chance, however few samples tell
// so; but it must be large enough, and the other side must have none.
func TestBuilds(t *testing.T) {
	o := Defaults
	o.MinEffect = 0.01
	asked := 0
	o.Builds = func(names []string) map[string]Presence {
		slices.Sort(names)
		// First for what may have been renamed, however small, then for what is large enough.
		want := [][]string{{"added", "called", "little", "old"}, {"added", "called", "old"}}[min(asked, 1)]
		if asked++; !slices.Equal(names, want) {
			t.Errorf("asked for %q, want %q", names, want)
		}
		only := func(side int) (p Presence) { p.Known, p.In[side] = [2]bool{true, true}, true; return p }
		return map[string]Presence{"added": only(1), "old": only(0), "called": only(0), "both": only(1), "little": only(1)}
	}
	// Of 200 samples little has 0.5 %, less than the minimum effect.
	r := compareLines(t, "main;f 93\nmain;old 3\nmain;both 4", "main;f 190\nmain;added 4\nmain;called 3\nmain;both 2\nmain;little 1", o)
	want := map[string]Verdict{"added": New, "old": Gone}
	for _, f := range r.Functions {
		if f.Verdict != want[f.Name] {
			t.Errorf("%s is %v, want %v", f.Name, f.Verdict, want[f.Name])
		}
	}
	if first := &r.Functions[0]; first.Name != "added" || len(first.Paths) != 1 || first.Self.P < 0.05 {
		t.Errorf("first: %+v", first)
	}
}

func TestIncomparable(t *testing.T) {
	change := func(f func(r *Run)) Run {
		r := profile(t, "other", "a;f 4000\na;g 6000")
		f(&r)
		return r
	}
	for _, test := range []struct {
		name      string
		new       Run
		per       Per
		want      string
		reason    Reason // of a RunError
		forceable bool
	}{
		{name: "event", new: change(func(r *Run) {
			r.Set.Events[0] = stacks.Event{Name: "page-faults", Values: []stacks.ValueType{{Type: "page-faults", Unit: "count"}}}
		}), want: "base has event cpu-clock, other has event page-faults", forceable: true},
		{name: "lost", new: change(func(r *Run) { r.Lost = 10_000 }), want: "other lost 50 % of its samples", forceable: true},
		{name: "arch", new: change(func(r *Run) { r.Machine.Arch = "aarch64" }), want: "base was recorded on x86_64, other on aarch64", forceable: true},
		{name: "rate", per: PerSecond, new: change(func(r *Run) {
			r.Set.PeriodType, r.Set.Period = stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}, 1_000_000
		}), want: "base was sampled every 250000 nanoseconds, other every 1000000", forceable: true},
		{name: "duration", per: PerSecond, new: change(func(r *Run) { r.Set.DurationNanos = 0 }), want: "other: it does not tell how long it took", reason: NoDuration},
		{name: "ops", per: PerOps, new: change(func(r *Run) {}), want: "base: the number of operations must be given", reason: NoOperations},
		{name: "empty", new: profile(t, "other", ""), want: "other: the profile is empty", reason: Empty},
		{name: "negative", new: profile(t, "other", "a;f 4000\na;g -10"), want: "other: it has negative values: it is the difference of profiles, not one", reason: Negative},
		{name: "zeros", new: profile(t, "other", "a 0"), want: "other: event cpu-clock has no samples to compare"},
		{name: "no symbols", new: change(func(r *Run) {
			s := stacks.New(r.Set.Events...)
			s.Add(0, s.Intern([]uint32{s.AddLocation(stacks.NoMapping, 1, stacks.KindUnknown)}), 0, 5)
			r.Set = s
		}), want: "other has no function names for 100 % of its samples, which the other side has", reason: NoNames, forceable: true},
	} {
		base := profile(t, "base", "a;f 4000\na;g 6000")
		base.Set.PeriodType, base.Set.Period = stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}, 250_000
		base.Machine.Arch = "x86_64"
		o := Defaults
		o.Per = test.per
		_, err := Compare([]Run{base}, []Run{test.new}, o)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		var run *RunError
		side := 1
		if test.reason == NoOperations {
			side = 0 // neither has them, and the base comes first
		}
		if got := errors.As(err, &run); got != (test.reason != 0) || got && (run.Reason != test.reason || run.Side != side) {
			t.Errorf("%s: %+v, want reason %d of side %d", test.name, run, test.reason, side)
		}
		if _, is := errors.AsType[*IncomparableError](err); is != (test.forceable && test.reason == 0) {
			t.Errorf("%s: %#v", test.name, err)
		}
		o.Force = true
		if _, err := Compare([]Run{base}, []Run{test.new}, o); (err == nil) != test.forceable {
			t.Errorf("%s, forced: %v", test.name, err)
		}
	}
	for _, o := range []Options{{Alpha: -0.1}, {Alpha: 1}, {Alpha: 0.5, MinEffect: -1}} {
		if _, err := Compare([]Run{profile(t, "", "a 1")}, []Run{profile(t, "", "a 1")}, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := Compare(nil, []Run{profile(t, "", "a 1")}, Defaults); err == nil {
		t.Errorf("no base: %v", err)
	}
}
