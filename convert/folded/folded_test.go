package folded

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// script is what perf script --no-inline prints for rows.
func script(rows []stackstest.Row) string {
	var b strings.Builder
	for i, r := range rows {
		fmt.Fprintf(&b, "%s %5d/%-5d [000]  12.%06d: %10d cpu-clock: \n", r.Comm, r.PID, r.PID, i, r.Weight)
		for j, f := range r.Frames {
			if f.Name == "" {
				fmt.Fprintf(&b, "\t%16x [unknown] (%s)\n", i*100+j, f.DSO)
			} else {
				fmt.Fprintf(&b, "\t%16x %s+0x%x (%s)\n", i*100+j, f.Name, j, f.DSO)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func folded(t testing.TB, s *stacks.Set, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// naive folds without ids, hashes or ranks.
func naive(s *stacks.Set, o Options) string {
	var n frameNamer = scriptNamer{}
	if o.PlainNames {
		n = plainNamer{}
	}
	sum := map[string]int64{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if x.Event != o.Event {
			continue
		}
		var names []string
		comm, ok := s.Label(x.Labels, "comm")
		if ok {
			names = append(names, n.comm(comm.Str))
		}
		stack := slices.Clone(s.Stack(x.Stack))
		slices.Reverse(stack)
		for _, l := range stack {
			lines := slices.Clone(s.Lines(l))
			slices.Reverse(lines)
			first := len(names)
			for _, y := range lines {
				names = n.appendFrames(names, s.Functions[y.Function].Name)
			}
			if len(lines) == 0 {
				var m *stacks.Mapping
				if at := s.Locations[l].Mapping; at >= 0 {
					m = &s.Mappings[at]
				}
				names = append(names, n.unnamed(m))
			}
			if !o.PlainNames && strings.HasPrefix(n.comm(comm.Str), "java") {
				for i := range names[first:] {
					names[first+i] = javaName(names[first+i])
				}
			}
		}
		if len(names) == 0 {
			names = append(names, "[unknown]")
		}
		sum[strings.Join(names, ";")] += x.Values[o.Column]
	}
	var keys []string
	for k, v := range sum {
		if v != 0 {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%s %d\n", k, sum[k])
	}
	return b.String()
}

func TestFoldedAgainstNaive(t *testing.T) {
	for seed := range uint64(100) {
		s := stackstest.SetOf(stackstest.OddRows(seed, 2000))
		for _, o := range []Options{{}, {Column: 1}, {PlainNames: true}} {
			if diff := cmp.Diff(naive(s, o), folded(t, s, o)); diff != "" {
				t.Fatalf("seed %d, %+v: %s", seed, o, diff)
			}
		}
	}
}

// TestFoldedAgainstScript runs stackcollapse-perf.pl where it is installed, or
// named by STACKCOLLAPSE_PERF, on the text that perf script would print.
func TestFoldedAgainstScript(t *testing.T) {
	pl := livetest.StackCollapse(t)
	for seed := range uint64(20) {
		rows := stackstest.OddRows(seed+1000, 1000)
		in := filepath.Join(t.TempDir(), "script")
		livetest.WriteFile(t, in, script(rows))
		cmd := exec.Command("perl", pl, in)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		want, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), folded(t, stackstest.SetOf(rows), Options{})); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func TestFoldedBetterThanScript(t *testing.T) {
	s := stackstest.SetOf([]stackstest.Row{
		stackstest.NewRow("a", 1, 1, "f", "x"), stackstest.NewRow("a b 12 c", 1, 1, "f", "x"), stackstest.NewRow("a;b", 1, 1, "f", "x"),
		stackstest.NewRow(" lead", 1, 1, "f", "x"), stackstest.NewRow("x\ny", 1, 1, "f", "x"), stackstest.NewRow("#1", 1, 1, "f", "x"),
		stackstest.NewRow("rust", 1, 1, "f", "/memfd:x (deleted)"),
	})
	want := "#1;f 1\n_lead;f 1\na:b;f 1\na;f 1\na_b_12_c;f 1\nrust;f 1\nx_y;f 1\n"
	if diff := cmp.Diff(want, folded(t, s, Options{})); diff != "" {
		t.Error(diff)
	}
}

func TestFoldedAnonymousMemory(t *testing.T) {
	s := stacks.New(stackstest.OneEvent())
	for _, m := range []stacks.Mapping{{File: "//anon", PID: 12}, {File: "//anon"}, {File: "/dev/zero (deleted)", PID: 5}, {File: "[heap]", PID: 12}, {File: "[vdso]", PID: 12}} {
		l := s.AddLocation(s.AddMapping(m), 1, stacks.KindAnon)
		s.Add(0, s.Intern([]uint32{l}), 0, 1, 1)
	}
	want := "[[vdso]] 1\n[anon] 1\n[perf-12.map] 2\n[perf-5.map] 1\n"
	if diff := cmp.Diff(want, folded(t, s, Options{})); diff != "" {
		t.Error(diff)
	}
}

// Inlined frames stand outermost first, a row without frames or comm is kept, a
// line that sums to nothing is not, and other events are not in it.
func TestFoldedRows(t *testing.T) {
	s := stacks.New(stackstest.OneEvent(), stacks.Event{Name: "other", Values: stackstest.CountAndTime[:1]})
	var lines []stacks.Line
	for _, n := range []string{"innermost", "middle", "outer"} {
		lines = append(lines, stacks.Line{Function: s.AddFunction(stacks.Function{Name: n})})
	}
	inl := s.AddLocation(stacks.NoMapping, 1, 0)
	s.SetLines(inl, lines...)
	main := s.AddLocation(stacks.NoMapping, 2, 0)
	s.SetLines(main, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "main"})})
	s.Add(0, s.Intern([]uint32{inl, main}), 0, 3, 30)
	s.Add(0, s.Intern(nil), 0, 2, 20)
	s.Add(0, s.Intern([]uint32{main}), 0, 0, 10)
	s.Add(1, s.Intern([]uint32{main, main}), 0, 9)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "[unknown] 2\nmain;outer;middle;innermost 3\n"},
		{Options{Column: 1}, "[unknown] 20\nmain 10\nmain;outer;middle;innermost 30\n"},
		{Options{Event: 1}, "main;main 9\n"},
	} {
		if diff := cmp.Diff(c.want, folded(t, s, c.o)); diff != "" {
			t.Errorf("%+v: %s", c.o, diff)
		}
	}
	for _, o := range []Options{{Event: 2}, {Event: -1}, {Column: 2}, {Column: -1}, {Event: 1, Column: 1}} {
		if err := Write(&bytes.Buffer{}, s, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestFoldedWriteErrors(t *testing.T) {
	s := stackstest.Wide(20_000, 20, 1000)
	whole := len(folded(t, s, Options{}))
	for _, n := range []int{0, whole / 3, whole - 1} {
		if err := Write(&stackstest.Failing{N: n}, s, Options{}); !errors.Is(err, stackstest.ErrFull) {
			t.Errorf("error after %d of %d bytes: %v", n, whole, err)
		}
	}
	if err := Write(&stackstest.Failing{N: whole}, s, Options{}); err != nil {
		t.Error(err)
	}
}

// Stacks whose hashes are equal by chance are told apart by their names.
func TestStackHashCollisions(t *testing.T) {
	s := stackstest.SetOf(stackstest.OddRows(3, 200))
	f := newFrames(s, Options{})
	for _, java := range []bool{false, true} {
		same := f.firstStacks(s, make([]uint64, s.NumStacks()), java)
		if diff := cmp.Diff(f.sameStacks(s, java), same); diff != "" {
			t.Errorf("java %v: %s", java, diff)
		}
		if distinct := len(slices.Compact(slices.Sorted(slices.Values(same)))); distinct < 2 {
			t.Errorf("java %v: %d different stacks", java, distinct)
		}
	}
}

// A stack without frames reads like one of an unknown frame where there is no comm.
func TestStackOfNothing(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	comm := s.InternLabels([]stacks.Label{{Key: "comm", Str: "sh"}})
	unknown := s.Intern([]uint32{s.AddLocation(stacks.NoMapping, 1, stacks.KindUnknown)})
	for _, labels := range []stacks.LabelsID{0, comm} {
		s.Add(0, unknown, labels, 1)
		s.Add(0, s.Intern(nil), labels, 2)
	}
	want := "[unknown] 3\nsh 2\nsh;[unknown] 1\n"
	if diff := cmp.Diff(want, folded(t, s, Options{})); diff != "" {
		t.Error(diff)
	}
}

// TestSortLarge reaches what is only done with many lines: partitioning, several
// goroutines.
func TestSortLarge(t *testing.T) {
	for _, s := range []*stacks.Set{stackstest.Wide(30_000, 12, 40), stackstest.Wide(50_000, 3, 300), stackstest.Wide(20_000, 40, 20_000)} {
		if naive(s, Options{}) != folded(t, s, Options{}) {
			t.Error("large Set: lines differ from the naive ones")
		}
	}
}

func FuzzTidy(f *testing.F) {
	fuzztest.Add(f)
	for _, n := range stackstest.OddNames {
		f.Add(n, "java")
	}
	f.Fuzz(func(t *testing.T, name, comm string) {
		defer memtest.Within(t, 8<<20+1000*(len(name)+len(comm)))()
		s := stackstest.SetOf([]stackstest.Row{stackstest.NewRow(comm, 1, 1, name, "x", "outer", "x"), stackstest.NewRow(comm, 1, 1, name+"x", name)})
		for _, o := range []Options{{}, {PlainNames: true}} {
			out := folded(t, s, o)
			if out != naive(s, o) {
				t.Errorf("%q, naively %q", out, naive(s, o))
			}
			if n := strings.Count(out, "\n"); n < 1 || n > 2 || strings.Contains(out, "\r") {
				t.Errorf("%d lines: %q", n, out)
			}
		}
	})
}

// TestFoldedLargeSum: values of two stacks that read the same add up to more than a line can say,
// which is no number below 0.
func TestFoldedLargeSum(t *testing.T) {
	s := stackstest.SetOf([]stackstest.Row{
		stackstest.NewRow("", 1, 1<<62, "leaf", "/bin/x", "main", "/bin/x"),
		stackstest.NewRow("", 1, 1<<62, "leaf", "/bin/y", "main", "/bin/x"),
	})
	var large *stacks.TooLargeSumError
	if err := Write(&bytes.Buffer{}, s, Options{}); !errors.As(err, &large) {
		t.Errorf("the sum of 2^62 twice was written: %v", err)
	}
}
