package diffreport

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"kprof/convert/diff"
	"kprof/convert/spandiff"
	"kprof/convert/stacks"
)

// spansRun is a run of 2000 system calls, every tenth of which is a read.
func spansRun(name string, read int64, times bool) diff.Run {
	s := stacks.New(stacks.Event{Name: "span:syscalls", Values: []stacks.ValueType{
		{Type: "spans", Unit: "count"}, {Type: "open", Unit: "count"}, {Type: "unended", Unit: "nanoseconds"}, {Type: "span:syscalls", Unit: "nanoseconds"},
	}})
	stack := s.Intern(nil)
	for i := range int64(2000) {
		call, ns := "futex|x", 900+i*7919%200
		if i%10 == 0 {
			call, ns = "read", read-100+i*7919%200
		}
		row := s.Add(0, stack, s.InternLabels([]stacks.Label{{Key: "syscall", Str: call}}), 1, 0, 0, ns)
		if times {
			s.AddTimedSample(stacks.TimedSample{Time: uint64(1 + i*10_000), Sample: uint32(row), Value: ns})
		}
	}
	return diff.Run{Name: name, Set: s, Column: 3}
}

// TestTimes: all three forms have the times of both sides, and the verdict of what changed.
func TestTimes(t *testing.T) {
	base, new := []diff.Run{spansRun("a", 1000, true)}, []diff.Run{spansRun("b", 3000, true)}
	r, err := diff.Compare(base, new, diff.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Times: spandiff.Compare(base, new, spandiff.Options{})}
	if !o.Times.Changed() {
		t.Fatalf("%+v", o.Times)
	}
	r.Outcome = diff.Changed // as package compare says then
	var text, md, js strings.Builder
	for _, err := range []error{Text(&text, r, o), Markdown(&md, r, o), JSON(&js, r, o)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	has := func(lines string, fields ...string) bool {
		return slices.ContainsFunc(strings.Split(lines, "\n"), func(l string) bool {
			return !slices.ContainsFunc(fields, func(f string) bool { return !strings.Contains(l, f) })
		})
	}
	if !has(text.String(), " 200 ", "×3.0", "slower (mean, p50)", "read") || !has(text.String(), "1800", "×1.00", "noise", "futex|x") || !has(text.String(), "Verdict: Changed", "read slower") {
		t.Errorf("text:\n%s", &text)
	}
	if !has(md.String(), "| `read` | 200 | 200 |", "slower (mean, p50)") || !has(md.String(), "| `futex\\|x` |") {
		t.Errorf("Markdown:\n%s", &md)
	}
	type group struct {
		Group, Verdict string
		P50            struct {
			New         float64
			Significant bool
			Interval    []float64 `json:"new_interval"`
		}
	}
	var doc struct{ Times struct{ Groups []group } }
	if err := json.Unmarshal([]byte(js.String()), &doc); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(doc.Times.Groups, func(g group) bool {
		return g.Group == "read"
	})
	if i < 0 {
		t.Fatalf("no group of reads in %s", &js)
	}
	if g := doc.Times.Groups[i]; g.Verdict != "slower" || !g.P50.Significant || len(g.P50.Interval) != 2 || g.P50.New < 2900 || g.P50.New > 3100 {
		t.Errorf("%+v", g)
	}
}

// TestTimesOfSums: where there are only sums it is said that the rest is not known.
func TestTimesOfSums(t *testing.T) {
	base, new := []diff.Run{spansRun("a", 1000, false)}, []diff.Run{spansRun("b", 3000, false)}
	r, err := diff.Compare(base, new, diff.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := Text(&text, r, Options{Times: spandiff.Compare(base, new, spandiff.Options{})}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "sums of times only") || !strings.Contains(text.String(), "not known read") {
		t.Errorf("%s", &text)
	}
}
