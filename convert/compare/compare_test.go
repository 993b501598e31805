package compare

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/diff"
	"kprof/convert/stacks"
)

// commsOf is a run with samples of some comms.
func commsOf(samples map[string]int64) diff.Run {
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	for comm, n := range samples {
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: comm}})
		s.Add(0, s.Intern(nil), labels, n)
	}
	return diff.Run{Set: s}
}

// TestOneSided: of 1000 samples a side, cron has 100 on the new one.
func TestOneSided(t *testing.T) {
	const cron = "programs that only one side recorded make differences too: cron (10% of new)"
	for name, test := range map[string]struct {
		base, new map[string]int64
		want      string
	}{
		"the same":      {map[string]int64{"load": 900, "sh": 100}, map[string]int64{"load": 910, "sh": 90}, ""},
		"another":       {map[string]int64{"load": 900, "sh": 100}, map[string]int64{"load": 800, "sh": 100, "cron": 100}, cron},
		"less of it":    {map[string]int64{"load": 950, "cron": 50}, map[string]int64{"load": 900, "cron": 100}, ""},
		"next to none":  {map[string]int64{"load": 999, "cron": 1}, map[string]int64{"load": 900, "cron": 100}, cron},
		"little":        {map[string]int64{"load": 1000}, map[string]int64{"load": 980, "cron": 20}, ""},
		"other program": {map[string]int64{"old": 1000}, map[string]int64{"new": 1000}, ""},
	} {
		runs := [2][]diff.Run{{commsOf(test.base)}, {commsOf(test.new)}}
		one := oneSided(runs)
		if one == nil {
			if test.want != "" {
				t.Errorf("%s: nothing, want %q", name, test.want)
			}
			continue
		}
		if got := one.String(); got != test.want || one.Common != "load" {
			t.Errorf("%s: %q, want %q; %q is common", name, got, test.want, one.Common)
		}
	}
	if got := oneSided([2][]diff.Run{{commsOf(map[string]int64{"load": 1})}, {{Set: func() *stacks.Set {
		s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		s.Add(0, s.Intern(nil), 0, 1)
		return s
	}()}}}); got != nil {
		t.Errorf("without comms: %v", got)
	}
}

// open opens folded stacks, or another text.
func open(t *testing.T, text, name string) *convert.Profile {
	t.Helper()
	p, err := convert.Read(t.Context(), strings.NewReader(text), convert.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestComparePackages: where the code of a function is looked up, it has the name that it is compared by.
func TestComparePackages(t *testing.T) {
	c, err := New([2][]*convert.Profile{
		{open(t, "main.main;main.cold 5000\n", "old")}, {open(t, "main.main;main.cold 4000\n", "new")},
	}, Options{Diff: diff.Defaults})
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := c.o.Diff.Names.Fold("main.cold", true); name != "main.cold" {
		t.Errorf("main.cold is looked up as %s", name)
	}
}

// TestCompare: profiles that a library user has opened, to a result.
func TestCompare(t *testing.T) {
	c, err := New([2][]*convert.Profile{
		{open(t, "main;work;hot 5000\nmain;work;cold 5000\n", "old")},
		{open(t, "main;work;hot 9000\nmain;work;cold 1000\n", "new")},
	}, Options{Diff: diff.Defaults})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Compare()
	if err != nil {
		t.Fatal(err)
	}
	if c.Event != (convert.EventCount{Name: "samples", Samples: 20000}) || len(c.Others) != 0 {
		t.Errorf("compared %+v, others %v", c.Event, c.Others)
	}
	if r.Base.Total != 1 || r.New.Total != 1 || r.Base.Runs[0] != "old" {
		t.Errorf("totals %v and %v of %v", r.Base.Total, r.New.Total, r.Base.Runs)
	}
	changed := map[string]float64{}
	for _, f := range r.Functions {
		if f.Verdict != diff.Noise {
			changed[f.Name] = f.Self.Diff
		}
	}
	if math.Abs(changed["hot"]-0.4) > 1e-9 || math.Abs(changed["cold"]+0.4) > 1e-9 || len(changed) != 2 {
		t.Errorf("changed %v", changed)
	}
	if code, err := c.Code(r, 0); code != nil || err != nil {
		t.Errorf("code of no build: %v, %v", code, err)
	}
}

// TestNoCommonEvent: profiles of different events are compared by force only.
func TestNoCommonEvent(t *testing.T) {
	text := func(event string) string { return "a 1 1.0: 5 " + event + ": \n\t 400000 f (x)\n\n" }
	profiles := func() [2][]*convert.Profile {
		return [2][]*convert.Profile{{open(t, text("cycles"), "old")}, {open(t, text("faults"), "new")}}
	}
	var none *NoCommonEventError
	if _, err := New(profiles(), Options{Diff: diff.Defaults}); !errors.As(err, &none) || none.Asked != "" || none.Have != "; old has cycles; new has faults" {
		t.Errorf("%v", err)
	}
	if _, err := New(profiles(), Options{Diff: diff.Defaults, Events: []string{"cycles"}}); !errors.As(err, &none) || none.Asked != "cycles" {
		t.Errorf("asked for: %v", err)
	}
	o := Options{Diff: diff.Defaults}
	o.Diff.Force = true
	if c, err := New(profiles(), o); err != nil || c.Runs[1][0].Event != 0 {
		t.Errorf("by force: %v", err)
	}
}

// TestBootLevels: a kernel that tells the levels of initcalls, and one that does not, are
// compared without; two that do with them.
func TestBootLevels(t *testing.T) {
	log := func(level, usecs string) string {
		return "[    0.000000] Linux version 7.1.0 (somebody@somewhere) #1 SMP\n" + level +
			"[    1.000000] calling  acpi_init+0x0/0x4f0 @ 1\n[    1.200000] initcall acpi_init+0x0/0x4f0 returned 0 after " + usecs + " usecs\n"
	}
	const level = "[    0.900000] entering initcall level: subsys\n"
	for _, test := range []struct{ base, new, want string }{
		{"", level, "acpi acpi_init"},
		{level, "", "acpi acpi_init"},
		{level, level, "acpi acpi_init subsys"},
	} {
		c, err := New([2][]*convert.Profile{{open(t, log(test.base, "200000"), "base")}, {open(t, log(test.new, "201000"), "new")}}, Options{Diff: diff.Defaults, AutoPer: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Compare()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range r.Functions {
			names = append(names, f.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != test.want || r.Base.Value != 200e6 || r.New.Value != 201e6 {
			t.Errorf("%q and %q: %s, %d and %d, want %s", test.base, test.new, got, r.Base.Value, r.New.Value, test.want)
		}
	}
}

// TestZeroOptions: what is not said has its usual value, and a side without profiles is an error.
func TestZeroOptions(t *testing.T) {
	read := func(text string) []*convert.Profile {
		p, err := convert.Read(t.Context(), strings.NewReader(text), convert.Options{Name: "text"})
		if err != nil {
			t.Fatal(err)
		}
		return []*convert.Profile{p}
	}
	c, err := New([2][]*convert.Profile{read("main;parse 5000\nmain;read 5000\n"), read("main;parse 7000\nmain;read 5000\n")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Compare(); err != nil || r.Alpha != 0.05 || r.Outcome != diff.Changed {
		t.Errorf("%v, %+v", err, r)
	}
	for _, sides := range [][2][]*convert.Profile{{}, {read("a 1\n"), nil}, {nil, read("a 1\n")}} {
		if _, err := New(sides, Options{}); err == nil {
			t.Errorf("%v were taken", sides)
		}
	}
}
