package compare

import (
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/diff"
	"kprof/convert/diffreport"
	"kprof/convert/stacks"
)

// calls is a recording of calls of which one of a hundred takes ten times as long as the
// others, and rare times that.
func calls(name string, rare float64) *convert.Profile {
	s := stacks.New(stacks.Event{Name: "span:vfs_read", Values: []stacks.ValueType{
		{Type: "spans", Unit: "count"}, {Type: "open", Unit: "count"},
		{Type: "unended", Unit: "nanoseconds"}, {Type: "span:vfs_read", Unit: "nanoseconds"},
	}})
	s.TimeNanos = int64(len(name))
	for i := range int64(40_000) {
		ns := 1000 + 10*(i*7919%100)
		if i*6151%100 < 2 {
			ns = int64(float64(10*ns) * rare)
		}
		row := s.Add(0, s.Intern(nil), 0, 1, 0, 0, ns)
		s.AddTimedSample(stacks.TimedSample{Time: uint64(1 + i*10_000), Sample: uint32(row), Value: ns})
	}
	return &convert.Profile{Source: name, Set: s}
}

// TestJudgeSpans holds comparisons of spans against a limit: the rare ones take longer, which
// the 99th percentile shows, and the total hardly does.
func TestJudgeSpans(t *testing.T) {
	for _, test := range []struct {
		rare, limit float64
		want        diff.Outcome
		slower      string
	}{
		{2, 0.5, diff.Changed, "99th percentile"},
		{2, 3, diff.Unchanged, ""},
		{1, 1, diff.Unchanged, ""},
	} {
		profiles := [2][]*convert.Profile{{calls("base", 1)}, {calls("newer", test.rare)}}
		c, err := New(profiles, Options{Diff: diff.Defaults})
		if err != nil {
			t.Fatal(err)
		}
		c.o.Diff.Force = true
		r, err := c.Compare()
		if err != nil {
			t.Fatal(err)
		}
		j := c.Judge(r, test.limit)
		text := diffreport.Judgement(r, &j)
		t.Logf("%v, %.0f%%: %s %v", test.rare, 100*test.limit, text, j.Doubts)
		if test.want == diff.Unchanged && slices.Contains(j.Doubts, diff.MaybeSlower) || test.want == diff.Changed && j.Outcome != test.want {
			t.Errorf("%v times, a limit of %.0f%%: %v, %v", test.rare, 100*test.limit, j.Outcome, j.Doubts)
		}
		if len(j.Slower) == 0 && test.slower != "" || len(j.Slower) > 0 && j.Slower[0].What != test.slower {
			t.Errorf("%v times, a limit of %.0f%%: slower %v", test.rare, 100*test.limit, j.Slower)
		}
		if test.slower != "" && !strings.Contains(text, "takes 100% more") {
			t.Errorf("%s", text)
		}
	}
	// What cannot be told from chance may be over a small limit.
	c, err := New([2][]*convert.Profile{{calls("base", 1)}, {calls("newer", 1.01)}}, Options{Diff: diff.Defaults})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Compare()
	if err != nil {
		t.Fatal(err)
	}
	if j := c.Judge(r, 0.0001); j.Outcome != diff.Inconclusive || !slices.Contains(j.Doubts, diff.MaybeSlower) {
		t.Errorf("1%% more, a limit of 0.01%%: %v %v", j.Outcome, j.Doubts)
	}
}

// TestJudgeUntested: a group of too few calls to judge by, which take three times as long, is not
// within the limit; calls that take next to nothing of the time do not matter.
func TestJudgeUntested(t *testing.T) {
	for _, test := range []struct {
		ns, limit float64
		want      bool
	}{{3e5, 1, true}, {3e5, 2.5, false}, {1e4, 1, false}} {
		var profiles [2][]*convert.Profile
		for side, name := range []string{"base", "newer"} {
			p := calls(name, 1)
			rare := p.Set.InternLabels([]stacks.Label{{Key: "syscall", Str: "fsync"}})
			for i := range int64(8) {
				ns := int64(test.ns) * int64(1+2*side)
				row := p.Set.Add(0, p.Set.Intern(nil), rare, 1, 0, 0, ns)
				p.Set.AddTimedSample(stacks.TimedSample{Time: uint64(400_000_000 + i), Sample: uint32(row), Value: ns})
			}
			profiles[side] = []*convert.Profile{p}
		}
		c, err := New(profiles, Options{Diff: diff.Defaults})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Compare()
		if err != nil {
			t.Fatal(err)
		}
		j := c.Judge(r, test.limit)
		text := diffreport.Judgement(r, &j)
		if got := slices.Contains(j.Doubts, diff.SlowerUntested); got != test.want || got && (j.Outcome != diff.Inconclusive || !strings.Contains(text, "of the calls of fsync is 200% more, over 100%")) {
			t.Errorf("%.0f ns, a limit of %.0f%%: %v, %v: %s", test.ns, 100*test.limit, j.Outcome, j.Doubts, text)
		}
	}
}
