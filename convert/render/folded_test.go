package render

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
)

var countAndTime = []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}

func oneEvent() stacks.Event { return stacks.Event{Name: "cpu-clock", Values: countAndTime} }

// frame is a frame as perf script prints it; an empty name is "[unknown]".
type frame struct{ name, dso string }

// row is a sample of a test: outermost frame last, as perf script has it.
type row struct {
	comm   string
	pid    int
	weight int64
	frames []frame
}

// setOf makes a Set with a location for each frame of each row.
func setOf(rows []row) *stacks.Set {
	s := stacks.New(oneEvent())
	mappings := map[string]int32{"[unknown]": stacks.NoMapping}
	for i, r := range rows {
		var chain []uint32
		for _, f := range r.frames {
			m, ok := mappings[f.dso]
			if !ok {
				m = s.AddMapping(stacks.Mapping{File: f.dso})
				mappings[f.dso] = m
			}
			l := s.AddLocation(m, uint64(i), stacks.KindUser)
			if f.name != "" {
				s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: f.name, SystemName: fmt.Sprint(i % 3)})})
			}
			chain = append(chain, l)
		}
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: r.comm}, {Key: "pid", Num: int64(r.pid)}})
		s.Add(0, s.Intern(chain), labels, r.weight, 7)
	}
	return s
}

// script is what perf script --no-inline prints for rows.
func script(rows []row) string {
	var b strings.Builder
	for i, r := range rows {
		fmt.Fprintf(&b, "%s %5d/%-5d [000]  12.%06d: %10d cpu-clock: \n", r.comm, r.pid, r.pid, i, r.weight)
		for j, f := range r.frames {
			if f.name == "" {
				fmt.Fprintf(&b, "\t%16x [unknown] (%s)\n", i*100+j, f.dso)
			} else {
				fmt.Fprintf(&b, "\t%16x %s+0x%x (%s)\n", i*100+j, f.name, j, f.dso)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func folded(t testing.TB, s *stacks.Set, o FoldedOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Folded(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// names that the script does something about, and some like them.
var oddNames = []string{
	"", "", "main", "do_syscall_64", "foo(int, char*)", "ns::f(int) const", "operator()", "a::operator->",
	"a::operator->() const", "(anonymous namespace)::f(int)", "ns::(anonymous namespace)::g(int)",
	"x::(anonymous namespace)::y::(anonymous namespace)::z()", "(x)", "()",
	"net/http.(*Client).Do", "main.(*T).f(0x1)", "a.(b).c->d.(e).f", "runtime.mcall", "f.(g)",
	"Ljava/lang/String;::hashCode", "Lorg/mozilla/javascript/MemberBox;.<init>(Ljava/lang/reflect/Method;)V",
	"La;b", "L", "L/", "Interpreter", "RegExp:[&<>\"\\']", "it's", "\"->\"", "a->b->c", "->a", "a->", "a->->b", "a->_[i]",
	"<alloc::vec::Vec<T> as core::fmt::Debug>::fmt", "core::ops::function::FnOnce<fn(u8) -> u8>::call_once{{vtable.shim}}",
	"a;b;c", ";", "x y z", "foo.isra.0", "foo.cold", "foo", "fo", "foo+0x12", "naïve", "名前", "[unknown]", "[x]", "_[i]", "a-b", "a>b",
}

var oddFiles = []string{
	"[kernel.kallsyms]", "[vdso]", "[ext4]", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/tmp/perf-12.map",
	"[unknown]", "/memfd:jit (deleted)", "/opt/a b/c", "x", "inode:[1]", "/opt/My App (x86)/run", "/tmp/it's",
}

func oddRows(seed uint64, n int) []row {
	r := rand.New(rand.NewPCG(seed, 1))
	comms := []string{"bash", "java", "javac", "Java", "kworker/0:1", "swapper", "a b", "x:y", "V8 Worker", "zz\"q'", "ab ", "x(y)"}
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{comm: comms[r.IntN(len(comms))], pid: r.IntN(3) + 1, weight: r.Int64N(4) + 1}
		for range r.IntN(4) {
			f := frame{oddNames[r.IntN(len(oddNames))], oddFiles[r.IntN(len(oddFiles))]}
			if f.name != "" && strings.Contains(f.dso, " (") || f.name == "[unknown]" {
				// The offset becomes part of the name; and a function of that name
				// is none: not to be had from a symbol table.
				f.name = "main"
				f.dso = "x"
			}
			rows[i].frames = append(rows[i].frames, f)
		}
	}
	return rows
}

// naive folds without ids, hashes or ranks.
func naive(s *stacks.Set, o FoldedOptions) string {
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
		s := setOf(oddRows(seed, 2000))
		for _, o := range []FoldedOptions{{}, {Column: 1}, {PlainNames: true}} {
			if diff := cmp.Diff(naive(s, o), folded(t, s, o)); diff != "" {
				t.Fatalf("seed %d, %+v: %s", seed, o, diff)
			}
		}
	}
}

// TestFoldedAgainstScript runs stackcollapse-perf.pl where it is installed, or
// named by STACKCOLLAPSE_PERF, on the text that perf script would print.
func TestFoldedAgainstScript(t *testing.T) {
	pl := os.Getenv("STACKCOLLAPSE_PERF")
	if pl == "" {
		pl, _ = exec.LookPath("stackcollapse-perf.pl")
	}
	perl, err := exec.LookPath("perl")
	if pl == "" || err != nil {
		t.Skip("needs perl, and stackcollapse-perf.pl in PATH or STACKCOLLAPSE_PERF")
	}
	for seed := range uint64(20) {
		rows := oddRows(seed+1000, 1000)
		in := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(in, []byte(script(rows)), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(perl, pl, in)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		want, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), folded(t, setOf(rows), FoldedOptions{})); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func TestFoldedBetterThanScript(t *testing.T) {
	one := []frame{{"f", "x"}}
	s := setOf([]row{
		{"a", 1, 1, one}, {"a b 12 c", 1, 1, one}, {"a;b", 1, 1, one}, {" lead", 1, 1, one}, {"x\ny", 1, 1, one}, {"#1", 1, 1, one},
		{"rust", 1, 1, []frame{{"f", "/memfd:x (deleted)"}}},
	})
	want := "#1;f 1\n_lead;f 1\na:b;f 1\na;f 1\na_b_12_c;f 1\nrust;f 1\nx_y;f 1\n"
	if diff := cmp.Diff(want, folded(t, s, FoldedOptions{})); diff != "" {
		t.Error(diff)
	}
}

func TestFoldedAnonymousMemory(t *testing.T) {
	s := stacks.New(oneEvent())
	for _, m := range []stacks.Mapping{{File: "//anon", PID: 12}, {File: "//anon"}, {File: "/dev/zero (deleted)", PID: 5}, {File: "[heap]", PID: 12}, {File: "[vdso]", PID: 12}} {
		l := s.AddLocation(s.AddMapping(m), 1, stacks.KindAnon)
		s.Add(0, s.Intern([]uint32{l}), 0, 1, 1)
	}
	want := "[[vdso]] 1\n[anon] 1\n[perf-12.map] 2\n[perf-5.map] 1\n"
	if diff := cmp.Diff(want, folded(t, s, FoldedOptions{})); diff != "" {
		t.Error(diff)
	}
}

// Inlined frames stand outermost first, a row without frames or comm is kept, a
// line that sums to nothing is not, and other events are not in it.
func TestFoldedRows(t *testing.T) {
	s := stacks.New(oneEvent(), stacks.Event{Name: "other", Values: countAndTime[:1]})
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
		o    FoldedOptions
		want string
	}{
		{FoldedOptions{}, "[unknown] 2\nmain;outer;middle;innermost 3\n"},
		{FoldedOptions{Column: 1}, "[unknown] 20\nmain 10\nmain;outer;middle;innermost 30\n"},
		{FoldedOptions{Event: 1}, "main;main 9\n"},
	} {
		if diff := cmp.Diff(c.want, folded(t, s, c.o)); diff != "" {
			t.Errorf("%+v: %s", c.o, diff)
		}
	}
	for _, o := range []FoldedOptions{{Event: 2}, {Event: -1}, {Column: 2}, {Column: -1}, {Event: 1, Column: 1}} {
		if err := Folded(&bytes.Buffer{}, s, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

var errFull = errors.New("disk full")

type failing struct{ n int }

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.n {
		return f.n, errFull
	}
	f.n -= len(b)
	return len(b), nil
}

func TestFoldedWriteErrors(t *testing.T) {
	s := wide(20_000, 20, 1000)
	whole := len(folded(t, s, FoldedOptions{}))
	for _, n := range []int{0, whole / 3, whole - 1} {
		if err := Folded(&failing{n}, s, FoldedOptions{}); !errors.Is(err, errFull) {
			t.Errorf("error after %d of %d bytes: %v", n, whole, err)
		}
	}
	if err := Folded(&failing{whole}, s, FoldedOptions{}); err != nil {
		t.Error(err)
	}
}

// Stacks whose hashes are equal by chance are told apart by their names.
func TestStackHashCollisions(t *testing.T) {
	s := setOf(oddRows(3, 200))
	f := newFrames(s, FoldedOptions{})
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
	if diff := cmp.Diff(want, folded(t, s, FoldedOptions{})); diff != "" {
		t.Error(diff)
	}
}

// TestSortLarge reaches what is only done with many lines: partitioning, several
// goroutines.
func TestSortLarge(t *testing.T) {
	for _, s := range []*stacks.Set{wide(30_000, 12, 40), wide(50_000, 3, 300), wide(20_000, 40, 20_000)} {
		if naive(s, FoldedOptions{}) != folded(t, s, FoldedOptions{}) {
			t.Error("large Set: lines differ from the naive ones")
		}
	}
}

func FuzzTidy(f *testing.F) {
	for _, n := range oddNames {
		f.Add(n, "java")
	}
	f.Fuzz(func(t *testing.T, name, comm string) {
		s := setOf([]row{{comm, 1, 1, []frame{{name, "x"}, {"outer", "x"}}}, {comm, 1, 1, []frame{{name + "x", name}}}})
		for _, o := range []FoldedOptions{{}, {PlainNames: true}} {
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

// wide makes n distinct stacks over a number of locations, a third as many names.
func wide(n, depth, locations int) *stacks.Set {
	r := rand.New(rand.NewPCG(3, 4))
	s := stacks.New(oneEvent())
	k := s.AddMapping(stacks.Mapping{File: "[kernel.kallsyms]", Kind: stacks.KindKernel})
	for i := range locations {
		f := s.AddFunction(stacks.Function{Name: fmt.Sprintf("function_%d", r.IntN(locations/3))})
		s.SetLines(s.AddLocation(k, uint64(i), stacks.KindKernel), stacks.Line{Function: f})
	}
	var labels []stacks.LabelsID
	for i := range 300 {
		labels = append(labels, s.InternLabels([]stacks.Label{{Key: "comm", Str: fmt.Sprintf("worker%d", i%20)}, {Key: "pid", Num: int64(i)}}))
	}
	c := make([]uint32, depth)
	for i := range n {
		for j := range c {
			if i%16 == 0 || j < depth/2 {
				c[j] = r.Uint32N(uint32(locations))
			}
		}
		s.Add(0, s.Intern(c), labels[r.IntN(len(labels))], 1, 10_000_000)
	}
	return s
}
