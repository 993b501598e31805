package diffreport

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"kprof/convert/diff"
	"kprof/convert/stacks"
)

// machineRun is a run without times of which a share is in interrupts, and another in a program
// beside the load.
func machineRun(name string, samples, interrupts, compiler int64) diff.Run {
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	loc := func(function string) uint32 {
		loc := s.AddLocation(stacks.NoMapping, 0, stacks.KindKernel)
		s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: function})})
		return loc
	}
	add := func(comm string, n int64, stack ...string) {
		var locs []uint32
		for _, f := range stack {
			locs = append(locs, loc(f))
		}
		s.Add(0, s.Intern(locs), s.InternLabels([]stacks.Label{{Key: "comm", Str: comm}}), n)
	}
	for _, f := range []string{"a", "b", "c", "d", "e"} {
		add("load", (samples-interrupts-compiler)/5, f, "main")
	}
	add("load", interrupts, "handle_softirqs", "__irq_exit_rcu", "e", "main")
	add("compiler", compiler, "emit", "main")
	return diff.Run{Name: name, Set: s}
}

// TestUneven: that is no want of samples, of which there are many.
func TestUneven(t *testing.T) {
	for samples, want := range map[float64]string{50: "too few samples", 6000: "differs too much over the time of a run"} {
		r := compareFolded(t, "main;work 3000\n", "main;work 3001\n")
		r.Outcome, r.Resolution, r.Base.Samples = diff.Inconclusive, 0.3, samples
		if got := wordsOf(r, Options{}).answer(nil, strings.ToUpper); !strings.Contains(got, want) {
			t.Errorf("%v samples: %s, want %s", samples, got, want)
		}
	}
}

// TestInterruptsDiffer: what differs less than could be told of anything else is listed, and no
// part of the verdict.
func TestInterruptsDiffer(t *testing.T) {
	r, err := diff.Compare([]diff.Run{machineRun("old", 10_000, 20, 0)}, []diff.Run{machineRun("new", 10_010, 220, 0)}, diff.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := Text(&text, r, Options{}); err != nil {
		t.Fatal(err)
	}
	verdict, rest, _ := strings.Cut(text.String(), "\n")
	if !strings.HasPrefix(verdict, "Verdict: Not changed; total ") || strings.Contains(verdict, "interrupts") || !strings.Contains(rest, "In interrupts, and in threads") {
		t.Errorf("%s", text.String())
	}
}

// TestUnclear: what is not to be told is said, with what to do, in all formats: of interrupts,
// and of other programs.
func TestUnclear(t *testing.T) {
	for _, test := range []struct {
		name      string
		base, new diff.Run
		limit     float64
		outcome   diff.Outcome
		want      []string // in text and Markdown
		heading   string   // of Markdown
		reasons   string
	}{
		{"interrupts", machineRun("old", 10_000, 300, 0), machineRun("new", 10_010, 1200, 0), 0.01, diff.Unchanged, []string{
			"Not changed; inconclusive in interrupts: handle_softirqs +8.99% (×4.00), __irq_exit_rcu +8.99% (×4.00), which differ from run to run; record 3 runs of each side",
			"what ran in interrupts, and in threads that go on with their work, is left out, since one run of each side does not tell how much that differs from run to run: 3.0% of the base, 12.0% of the new side",
			"share of the total, without interrupts\n",
			"In interrupts, and in threads that go on with their work (unclear",
			"Not decided: ", "handle_softirqs costs 9% more in interrupts, over 1%, which differ from run to run",
		}, "### kprof diff: nothing changed\n", "interrupts differ from run to run"},
		{"programs", machineRun("old", 10_000, 0, 500), machineRun("new", 10_010, 0, 4000), 0.02, diff.Inconclusive, []string{
			"Cannot tell: other programs ran, or ran more or less (compiler 5% → 40% of the total, load 95% → 60% of the total), which explains what differs; take one alone",
			"unclear: emit +34.96%", "Not decided: ", "emit costs 35% more, over 2%, as other programs ran, or ran more or less",
		}, "### kprof diff: cannot tell, other programs ran\n", "other programs ran"},
	} {
		r, err := diff.Compare([]diff.Run{test.base}, []diff.Run{test.new}, diff.Defaults)
		if err != nil {
			t.Fatal(err)
		}
		j := r.Judge(test.limit)
		if r.Outcome != test.outcome || j.Outcome != diff.Inconclusive {
			t.Errorf("%s: %v, %v", test.name, r.Outcome, j.Outcome)
		}
		o := Options{Noise: 10, ProgramsHint: "take one alone", Judgement: &j}
		var text, md, doc bytes.Buffer
		for _, err := range []error{Text(&text, r, o), Markdown(&md, r, o), JSON(&doc, r, o)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		plain := strings.NewReplacer("`", "", "\\_", "_", "\\", "").Replace(md.String())
		for _, w := range test.want {
			if !strings.Contains(text.String(), w) || !strings.Contains(plain, w) {
				t.Errorf("%s: no %q in\n%s\n%s", test.name, w, text.String(), md.String())
			}
		}
		if !strings.HasPrefix(md.String(), test.heading) {
			t.Errorf("%s: %s", test.name, md.String())
		}
		var d document
		if err := json.Unmarshal(doc.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(d.Limit.Reasons, ","), test.reasons) {
			t.Errorf("%s: reasons %q", test.name, d.Limit.Reasons)
		}
		switch test.name {
		case "interrupts":
			if in := d.Interrupts; in == nil || math.Abs(in.Base-0.03) > 1e-9 || in.Outcome != "inconclusive" || len(in.Functions) != 2 || in.Functions[0].Verdict != "unclear" || d.Programs != nil {
				t.Errorf("%+v", in)
			}
		case "programs":
			if len(d.Programs) != 2 || d.Programs[0].Comm != "compiler" || d.Programs[0].Base != 0.05 || d.Interrupts != nil {
				t.Errorf("%+v", d.Programs)
			}
		}
	}
}

// TestLarge: numbers of more than two digits are written out.
func TestLarge(t *testing.T) {
	for s, want := range map[float64]string{0.2: "1 s", 57: "57 s", 99.2: "100 s", 119: "119 s", 120: "2 minutes", 7200: "2 hours"} {
		if got := duration(s); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
	for x, want := range map[float64]string{1: "1", 1.449: "1.4", 99.4: "99", 99.6: "100", 123: "120", 12345: "12000"} {
		if got := factor(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}
