package table

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
)

// TestHistogramOfValues: each sample counts by itself, though a row of the Set is their sum; what
// is below 0 is a line of its own.
func TestHistogramOfValues(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "exit", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "ret", Unit: "bytes"}}})
	add := func(comm string, values ...int64) {
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: comm}})
		for i, v := range values {
			n := s.Add(0, s.Intern(nil), labels, 1, v)
			s.AddTimedSample(stacks.TimedSample{Time: uint64(i + 1), Sample: uint32(n), Value: v})
		}
	}
	add("cat", -11, 0, 832, 1023, 1024, 1500)
	add("sh", -9, -9)
	var out strings.Builder
	o := TopOptions{By: "comm", Column: 1, Durations: ValuesOf(s), OfValues: true}
	if err := Histograms(&out, s, o); err != nil {
		t.Fatal(err)
	}
	want := `
Event: exit, ret of bytes
Total: 4.25kB in 2 groups by comm
cat: 4.27kB, 100.41%, 6 samples
… 0 1 16.67% |@@@@@@@@@@@@@@@@@@@@@@@@@ |
0 … 1B 1 16.67% |@@@@@@@@@@@@@@@@@@@@@@@@@ |
`
	got := "\n"
	for l := range strings.Lines(out.String()) {
		if f := strings.Fields(l); len(f) > 0 && !strings.HasSuffix(l, "0   0.00%  |"+strings.Repeat(" ", barWidth)+"|\n") {
			got += strings.Join(f, " ") + "\n"
		}
	}
	want += `512B … 1kB 2 33.33% |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
1kB … 2kB 2 33.33% |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
sh: -18B, -0.41%, 2 samples
… 0 2 100.00% |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	s.Add(0, s.Intern(nil), 0, 1, 5) // of which no time is known
	if ValuesOf(s) != nil {
		t.Error("a sample without a time has a value of its own")
	}
}
