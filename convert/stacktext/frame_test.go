package stacktext

import (
	"strings"
	"testing"
	"time"

	"kprof/convert/stacks"
)

// TestSplitDSO: the file is what stands in the last parentheses, though names of functions and of files
// have such too.
func TestSplitDSO(t *testing.T) {
	for _, c := range []struct{ in, symbol, dso string }{
		{"f+0x1 (/bin/x)", "f+0x1", "/bin/x"},
		{"(/bin/x)", "", "/bin/x"},
		{"f+0x1 (/bin/x (deleted))", "f+0x1", "/bin/x (deleted)"},
		{"f+0x1 (/opt/a (b)/x)", "f+0x1", "/opt/a (b)/x"},
		{"f (/bin/x)", "f", "/bin/x"},
		{"[unknown] (/opt/a (b)/x)", "[unknown]", "/opt/a (b)/x"},
		{"operator()(int)+0x4 (/bin/x)", "operator()(int)+0x4", "/bin/x"},
		{"f(int, char) (/bin/x)", "f(int, char)", "/bin/x"},
		{"f(int (&)[3]) (/bin/x (deleted))", "f(int (&)[3])", "/bin/x (deleted)"},
		{"f(void (*)(int))", "f(void (*)(int))", ""}, // no file
		{"f()", "f()", ""},
		{"+0x (/bin/x)", "+0x", "/bin/x"}, // no offset
	} {
		symbol, dso := splitDSO([]byte(c.in))
		if string(symbol) != c.symbol || string(dso) != c.dso {
			t.Errorf("%s: %q in %q, want %q in %q", c.in, symbol, dso, c.symbol, c.dso)
		}
	}
}

// TestKindOf: files by the names that perf gives them (tools/perf/util/dso.c, map.c).
func TestKindOf(t *testing.T) {
	for kind, names := range map[stacks.Kind][]string{
		stacks.KindKernel: {"[kernel.kallsyms]", "[kernel.kallsyms]_text", "[kernel]", "/boot/vmlinux-6.1", "vmlinuz"},
		stacks.KindGuest:  {"[guest.kernel.kallsyms]", "[guest.kernel.kallsyms.12]"},
		stacks.KindVDSO:   {"[vdso]", "[vdso32]", "[vdsox32]"},
		stacks.KindBPF:    {"bpf_prog_6deef7357e7b4530", "[bpf]"},
		stacks.KindAnon:   {"[heap]", "[stack]", "[vsyscall]", "//anon", "/tmp/perf-12.map"},
		stacks.KindModule: {"[ext4]", "/lib/modules/6.1/kernel/fs/ext4/ext4.ko", "/lib/modules/6.1/ext4.ko.xz"},
		stacks.KindUser:   {"/bin/true", "/tmp/perf-12", "libc.so.6", "/home/x.ko/bin", "/vmlinux/bin"},
	} {
		for _, name := range names {
			if got := kindOf(name); got != kind {
				t.Errorf("%s: kind %v, want %v", name, got, kind)
			}
		}
	}
}

// TestNumbers: times, numbers of tasks and of lines at the ends of their ranges.
func TestNumbers(t *testing.T) {
	for in, want := range map[string]uint64{
		"1.5": 1500000000, "0.000000001": 1, "12.000345": 12000345000, "18446744072.999999999": 18446744072999999999, "7.123456789": 7123456789,
	} {
		if ns, ok := parseTime([]byte(in)); !ok || ns != want {
			t.Errorf("time %s: %d %v, want %d", in, ns, ok, want)
		}
	}
	for _, in := range []string{"1", "1.", ".5", "18446744073.0", "1.0000000001", "1.5x", "-1.5", ""} {
		if ns, ok := parseTime([]byte(in)); ok {
			t.Errorf("time %q: %d", in, ns)
		}
	}
	for in, want := range map[string]int32{"0": 0, "-1": -1, "2147483647": 1<<31 - 1} {
		if id, ok := parseID([]byte(in)); !ok || id != want {
			t.Errorf("task %s: %d %v", in, id, ok)
		}
	}
	for _, in := range []string{"2147483648", "-2", "", "1x"} {
		if id, ok := parseID([]byte(in)); ok {
			t.Errorf("task %q: %d", in, id)
		}
	}
	for in, want := range map[string]struct {
		file string
		line int64
	}{"a.c:0": {"a.c", 0}, "/x y/a.c:12 (discriminator 4)": {"/x y/a.c", 12}, "C:5": {"C", 5}, "a:b.c:7": {"a:b.c", 7}} {
		if file, line, ok := sourceLine(in); !ok || file != want.file || line != want.line {
			t.Errorf("%s: line %d of %q, %v", in, line, file, ok)
		}
	}
	for _, in := range []string{"??:0", ":5", "libc.so.6[27b25]", "a.c:-1", "a.c:"} {
		if file, line, ok := sourceLine(in); ok {
			t.Errorf("%s: line %d of %q", in, line, file)
		}
	}
	for in, want := range map[string]uint64{"[64, 128)  2 |@@@  |": 2, "(..., 0) 5 |@|": 5, "[1]  3 |@|": 3, "[0, 10] 7 ||": 7} {
		if n, ok := histogramRow([]byte(in)); !ok || n != want {
			t.Errorf("%s: %d %v", in, n, ok)
		}
	}
	for _, in := range []string{"", "[64, 128) |@|", "64 2 |@|", "[64 2 |@|", "[64, 128)  2", "5 |"} {
		if n, ok := histogramRow([]byte(in)); ok {
			t.Errorf("%q: %d", in, n)
		}
	}
}

// TestCutBranchesLong: what a long line takes does not grow with the square of its length.
func TestCutBranchesLong(t *testing.T) {
	const size = 4 << 20
	for _, x := range []string{" (x", " +0x1 (", "[unknown] (", "/-/-/0 ("} {
		line := []byte("f" + strings.Repeat(x, size/len(x)) + "/P/-/-/4/")
		begin := time.Now()
		if got := cutBranches(line); len(got) != len(line) {
			t.Errorf("%q: %d bytes are left of %d", x, len(got), len(line))
		}
		if took := time.Since(begin); took > 5*time.Second { // it is milliseconds; half a minute by the square
			t.Errorf("%q: %v", x, took)
		}
	}
}

// TestFrameTable: frames of a name and file are one location, those of a file have one mapping, and what is
// in no file is the kernel's by its address alone.
func TestFrameTable(t *testing.T) {
	set := stacks.New()
	table := newFrameTable(set)
	of := func(line string) uint32 {
		f, ok := parseFrame([]byte(line))
		if !ok {
			t.Fatalf("%q is no frame", line)
		}
		return table.of(&f)
	}
	f, g, k := of("55d0c0ffee00 f+0x10 (/bin/x)"), of("55d0c0ffee40 g+0x10 (/bin/x)"), of("ffffffff81000000 f ([kernel.kallsyms])")
	for _, x := range []struct {
		line string
		want uint32
		same bool
	}{
		{"55d0c0ffee77 f+0x87 (/bin/x)", f, true}, {"55d0c0ffee77 f+0x87 (/bin/y)", f, false}, {"55d0c0ffee77 g+0x87 (/bin/x)", g, true}, {"55d0c0ffee77 f+0x87", f, false},
		{"ffffffff81000010 f ([kernel.kallsyms])", k, true},
	} {
		if got := of(x.line); (got == x.want) != x.same {
			t.Errorf("%s: location %d, and %d", x.line, got, x.want)
		}
	}
	if len(set.Mappings) != 3 || set.Locations[f].Kind != stacks.KindUser || set.Locations[k].Kind != stacks.KindKernel {
		t.Errorf("%+v, %+v", set.Mappings, set.Locations)
	}
	if a, b := of("ffffffff81000000 h"), of("55d0c0ffee00 h"); set.Locations[a].Kind != stacks.KindKernel || set.Locations[b].Kind != stacks.KindUser || set.Locations[a].Mapping >= 0 {
		t.Errorf("without a file: %+v, %+v", set.Locations[a], set.Locations[b])
	}
	// A line of source makes another location of it, and each line one.
	one, two := table.withSource(f, []byte("x.c:7")), table.withSource(f, []byte("x.c:8"))
	if one == f || two == f || one == two || table.withSource(f, []byte("x.c:7")) != one || table.withSource(f, []byte("x[1a]")) != f || table.withSource(f, []byte("??:0")) != f {
		t.Errorf("%d, %d and %d", f, one, two)
	}
	l := set.Lines(one)
	if fn := set.Functions[l[0].Function]; l[0].Line != 7 || fn.File != "x.c" || fn.Name != "f" || set.Locations[one].Mapping != set.Locations[f].Mapping || !set.Mappings[set.Locations[f].Mapping].HasLineNumbers {
		t.Errorf("%+v of %+v", l, fn)
	}
	unnamed := of("55d0c0ffee00 [unknown] (/bin/x)")
	if got := table.withSource(unnamed, []byte("x.c:7")); got != unnamed || len(set.Lines(unnamed)) != 0 {
		t.Errorf("a line of what has no name: %d, %d", unnamed, got)
	}
	for s, want := range map[string]bool{
		"x.c:7": true, "x.c:7 (discriminator 3)": true, "libc.so.6[27b25]": true, "a[0]": true, "x.c:": false, "x.c": false, ":7": true, "7": false, "[27b25]": true, "27b25]": false, "]": false, "": false, "x.c:7b": false,
	} {
		if got := isSource([]byte(s)); got != want {
			t.Errorf("%q: a line of source: %v", s, got)
		}
	}
}
