package table

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/livetest"
)

func top(t *testing.T, s *stacks.Set, o TopOptions) string {
	t.Helper()
	return livetest.Written(t, func(w io.Writer) error { return Top(w, s, o) })
}

func topSet() *stacks.Set {
	return stackstest.SetOf([]stackstest.Row{
		stackstest.NewRow("a", 1, 6, "leaf", "/bin/x", "main", "/bin/x"),
		stackstest.NewRow("b", 2, 3, "rec", "/lib/libr.so", "rec", "/lib/libr.so", "main", "/bin/x", "rec", "/lib/libr.so"), // recursion counts once
		stackstest.NewRow("b", 3, 1, "main", "/bin/x", "", "[vdso]", "leaf", "[kernel.kallsyms]"),
	})
}

func TestTop(t *testing.T) {
	for _, c := range []struct {
		o    TopOptions
		want string
	}{
		{TopOptions{Notes: []string{"Lost: 5"}}, `
Event: cpu-clock, samples of count
Total: 10 in 4 functions
Lost: 5

      self   self%        cum    cum%  mapping  function
         6  60.00%          7  70.00%  several  leaf
         3  30.00%          3  30.00%  libr.so  rec
         1  10.00%         10 100.00%  x        main
         0   0.00%          1  10.00%  [vdso]   [[vdso]]
`},
		{TopOptions{Sort: ByCum, Limit: 2, Width: 50, Column: 1}, `
Event: cpu-clock, cpu of nanoseconds
Total: 21ns in 4 functions

      self   self%        cum    cum%  mapping  f…
       7ns  33.33%       21ns 100.00%  x        m…
       7ns  33.33%       14ns  66.67%  several  l…
`},
		{TopOptions{By: "comm"}, `
Event: cpu-clock, samples of count
Total: 10 in 2 groups by comm

      self   self%        cum    cum%  comm
         6  60.00%          6  60.00%  a
         4  40.00%          4  40.00%  b
`},
		{TopOptions{By: "mapping", Limit: 1}, `
Event: cpu-clock, samples of count
Total: 10 in 2 groups by mapping

      self   self%        cum    cum%  mapping
         7  70.00%          7  70.00%  x
`},
		// Large shares are red, others worth a look green; what is cut is not colored.
		{TopOptions{Limit: 1, Color: true}, `
Event: cpu-clock, samples of count
Total: 10 in 4 functions

      self   self%        cum    cum%  mapping  function
         6 RED 60.00%END          7 RED 70.00%END  several  leaf
`},
		{TopOptions{Limit: 1, Color: true, Width: 31}, `
Event: cpu-clock, samples of c…
Total: 10 in 4 functions

      self   self%        cum …
         6 RED 60.00%END          7 …
`},
	} {
		want := strings.NewReplacer("RED", "\x1b[31m", "END", "\x1b[m").Replace(strings.TrimPrefix(c.want, "\n"))
		if diff := cmp.Diff(want, top(t, topSet(), c.o)); diff != "" {
			t.Errorf("%+v: %s", c.o, diff)
		}
	}
}

// TestTopWithoutUnit: of what has no unit, none is said; one function is one.
func TestTopWithoutUnit(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "x", Values: []stacks.ValueType{{Type: "x"}}})
	s.Add(0, s.Intern([]uint32{s.AddLocation(stacks.NoMapping, 1, 0)}), 0, 5)
	if got := top(t, s, TopOptions{}); !strings.HasPrefix(got, "Event: x, x\nTotal: 5 in 1 function\n\n") {
		t.Error(got)
	}
	if got := top(t, s, TopOptions{By: "mapping"}); !strings.Contains(got, "Total: 5 in 1 group by mapping\n") {
		t.Error(got)
	}
}

// TestTopWide: columns are as wide as their values, colors stand where shares do.
func TestTopWide(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "cycles", Unit: "count"}}})
	f, g := s.AddLocation(stacks.NoMapping, 1, 0), s.AddLocation(stacks.NoMapping, 2, 0)
	s.SetLines(f, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "f"})})
	s.SetLines(g, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "g"})})
	s.Add(0, s.Intern([]uint32{f, g}), 0, 1_234_567_890_123)
	s.Add(0, s.Intern([]uint32{g}), 0, -1_234_567_890)
	colored := strings.NewReplacer("RED", "\x1b[31m", "END", "\x1b[m")
	want := colored.Replace(`Event: cycles, cycles of count
Total: 1233333322233 in 2 functions

         self   self%           cum    cum%  mapping    function
1234567890123 RED100.10%END 1234567890123 RED100.10%END  [unknown]  f
  -1234567890  -0.10% 1233333322233 RED100.00%END  [unknown]  g
`)
	if diff := cmp.Diff(want, top(t, s, TopOptions{Color: true})); diff != "" {
		t.Error(diff)
	}
	s = stacks.New(s.Events[0])
	s.Add(0, s.Intern([]uint32{s.AddLocation(stacks.NoMapping, 1, 0)}), 0, 12_345_678_901)
	want = colored.Replace(`Event: cycles, cycles of count
Total: 12345678901

        cum    cum%   self%  function
12345678901 RED100.00%END RED100.00%END  [unknown]
`)
	if diff := cmp.Diff(want, livetest.Written(t, func(w io.Writer) error { return Tree(w, s, TreeOptions{Color: true}) })); diff != "" {
		t.Error(diff)
	}
}

func TestTopOfOneEvent(t *testing.T) {
	s := stacks.New(stackstest.OneEvent(), stacks.Event{Name: "other", Values: stackstest.CountAndTime[:1]})
	l := s.AddLocation(stacks.NoMapping, 1, 0)
	m := s.AddLocation(s.AddMapping(stacks.Mapping{File: "/bin/m"}), 1, 0)
	s.Add(0, s.Intern([]uint32{l}), 0, 5, 50)
	s.Add(1, s.Intern([]uint32{m}), 0, 7)
	for _, by := range []string{"", "mapping"} {
		got, total, err := Costs(s, TopOptions{Event: 1, By: by})
		if err != nil || total != 7 || len(got) != 1 || got[0].Self != 7 {
			t.Errorf("by %q: %v, total %d, %v", by, got, total, err)
		}
	}
}

// TestTopByEvent: samples of events of different units are counted, whatever
// event is asked for.
func TestTopByEvent(t *testing.T) {
	s := stacks.New(stackstest.OneEvent(), stacks.Event{Name: "faults", Values: stackstest.CountAndTime[:1]})
	s.Add(0, s.Intern(nil), 0, 2, 5000)
	s.Add(1, s.Intern(nil), 0, 997)
	want := `
Events: all, samples
Total: 999 in 2 groups by event

      self   self%        cum    cum%  event
       997 RED 99.80%END        997 RED 99.80%END  faults
         2   0.20%          2   0.20%  cpu-clock
`
	want = strings.NewReplacer("RED", "\x1b[31m", "END", "\x1b[m").Replace(want[1:])
	if diff := cmp.Diff(want, top(t, s, TopOptions{By: "event", Column: 1, Color: true})); diff != "" {
		t.Error(diff)
	}
}

// TestTopByNothing: a label that no sample has is a mistake.
func TestTopByNothing(t *testing.T) {
	err := Top(io.Discard, topSet(), TopOptions{By: "cpu"})
	if err == nil || !strings.Contains(err.Error(), `samples have no label "cpu"`) {
		t.Error(err)
	}
}

func TestTopNothing(t *testing.T) {
	if got := top(t, stacks.New(stackstest.OneEvent()), TopOptions{}); !strings.Contains(got, "Total: 0 in 0 functions") {
		t.Error(got)
	}
	for _, o := range []TopOptions{{Event: 1}, {Event: -1}, {Column: 2}, {Column: -1}} {
		if err := Top(&strings.Builder{}, topSet(), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if err := Top(&stackstest.Failing{N: 10}, topSet(), TopOptions{}); !errors.Is(err, stackstest.ErrFull) {
		t.Errorf("error %v", err)
	}
}

func TestTopPrintable(t *testing.T) {
	s := stackstest.SetOf([]stackstest.Row{stackstest.NewRow("a\x1b[2J", 1, 1, "f\x1b]0;x\a\n"+strings.Repeat("名", 50), "x")})
	out := top(t, s, TopOptions{Width: 60})
	if strings.ContainsAny(out, "\x1b\a") || strings.Count(out, "\n") != 5 {
		t.Errorf("%q", out)
	}
	for _, l := range strings.Split(out, "\n") {
		if n := len([]rune(l)); n > 60 {
			t.Errorf("%d characters: %s", n, l)
		}
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		v          int64
		unit, want string
	}{
		{0, "nanoseconds", "0ns"}, {1500, "nanoseconds", "1.5us"}, {-2_000_000_000, "nanoseconds", "-2s"},
		{1e12, "nanoseconds", "1000s"}, {1536, "bytes", "1.5kB"}, {math.MinInt64, "bytes", "-8388608TB"}, {5, "widgets", "5"},
	} {
		if got := (&topTable{unit: c.unit}).value(c.v); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.v, c.unit, got, c.want)
		}
	}
}

// TestTopNothingLost: what has no frames is a row, together with functions without a name, so that
// all rows sum up to the total; functions of value 0 are none, and none are counted.
func TestTopNothingLost(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "space", Values: []stacks.ValueType{{Type: "objects", Unit: "count"}, {Type: "space", Unit: "bytes"}}})
	named := func(name, file string) uint32 {
		l := s.AddLocation(s.AddMapping(stacks.Mapping{File: file}), 1, 0)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
		return l
	}
	s.Add(0, s.Intern([]uint32{named("f", "/bin/x")}), 0, 1, 30)
	s.Add(0, s.Intern(nil), 0, 1, 20)
	s.Add(0, s.Intern([]uint32{named("[unknown]", "/bin/y")}), 0, 1, 10)
	s.Add(0, s.Intern([]uint32{named("g", "/bin/x")}), 0, 1, 0)
	want := `
Event: space, space of bytes
Total: 60B in 2 functions

      self   self%        cum    cum%  mapping  function
       30B  50.00%        30B  50.00%  several  [unknown]
       30B  50.00%        30B  50.00%  x        f
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), top(t, s, TopOptions{Column: 1})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(`Event: space, space of bytes
Total: 60B

       cum    cum%   self%  function
       30B  50.00%  50.00%  ├─ [unknown]
       30B  50.00%  50.00%  └─ f
`, livetest.Written(t, func(w io.Writer) error { return Tree(w, s, TreeOptions{Column: 1}) })); diff != "" {
		t.Error(diff)
	}
}

// TestTopTooLarge: no sum begins anew from below zero.
func TestTopTooLarge(t *testing.T) {
	s := stacks.New(stackstest.OneEvent())
	var stack []uint32
	for range 3 {
		stack = append(stack, s.AddLocation(stacks.NoMapping, 1, 0))
		s.Add(0, s.Intern(stack), 0, 1, 1<<62)
	}
	for _, by := range []string{"", "mapping"} {
		if _, total, err := Costs(s, TopOptions{By: by}); err != nil || total != 3 {
			t.Errorf("by %q: %d, %v", by, total, err)
		}
		var large *stacks.TooLargeSumError
		if costs, _, err := Costs(s, TopOptions{By: by, Column: 1}); !errors.As(err, &large) || large.Column != "cpu" {
			t.Errorf("by %q: %v, %v", by, costs, err)
		}
	}
}

// TestTopEqualsPprof compares self and cumulative of every function with those of
// go tool pprof -top, which leaves out what has no stack.
func TestTopEqualsPprof(t *testing.T) {
	for i, s := range []*stacks.Set{topSet(), stackstest.Wide(3000, 12, 60), stackstest.SetOf(stackstest.PlainRows(5, 400))} {
		costs, total, err := Costs(s, TopOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][2]int64{}
		for _, c := range costs {
			got[c.Name] = [2]int64{c.Self, c.Cum}
		}
		want := stackstest.PprofTop(t, s)
		rest := total
		for _, v := range want {
			rest -= v[0]
		}
		if rest != 0 {
			want["[unknown]"] = [2]int64{rest, rest}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Set %d: %s", i, diff)
		}
	}
}

// TestWideNames: no line of a table takes more columns of a terminal than it may have, and columns
// stay below each other, where characters take two.
func TestWideNames(t *testing.T) {
	s := stackstest.SetOf([]stackstest.Row{
		stackstest.NewRow("a", 1, 6, "関数の名前がとても長い", "/opt/ライブラリ.so", "main", "/bin/x"),
		stackstest.NewRow("a", 1, 3, "leaf", "/bin/x", "main", "/bin/x"),
	})
	columns := func(l string) (n int) {
		for _, r := range l {
			if n++; r >= 0x2e80 { // as all of these
				n++
			}
		}
		return n
	}
	const width = 64
	head := -1
	for l := range strings.SplitSeq(top(t, s, TopOptions{Width: width}), "\n") {
		if n := columns(l); n > width {
			t.Errorf("%d columns: %q", n, l)
		}
		for _, name := range []string{"  function", "  関", "  main", "  leaf"} {
			if i := strings.LastIndex(l, name); i > 0 && !strings.HasPrefix(l, "Total") {
				if head < 0 {
					head = columns(l[:i])
				}
				if n := columns(l[:i]); n != head {
					t.Errorf("functions stand in column %d and %d: %q", head, n, l)
				}
			}
		}
	}
}
