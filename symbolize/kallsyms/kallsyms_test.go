package kallsyms

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
	"kprof/perfevent/procfs/procfstest"
)

func mustParse(t testing.TB, text string) *Table {
	t.Helper()
	table, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// dump writes a table as text, one function a line.
func dump(table *Table) string {
	var b strings.Builder
	for s := range table.Symbols {
		fmt.Fprintf(&b, "%x-%x %s", s.Start, s.End, s.Name)
		if s.Module != "" {
			fmt.Fprintf(&b, " [%s]", s.Module)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestParse(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{
			"ends at the next symbol, the last one with the next page",
			"ffffffff81000000 T a\nffffffff81000010 t b\nffffffff81000020 W c\nffffffff81000123 w d\n",
			"ffffffff81000000-ffffffff81000010 a\nffffffff81000010-ffffffff81000020 b\n" +
				"ffffffff81000020-ffffffff81000123 c\nffffffff81000123-ffffffff81002000 d\n",
		},
		{
			"any order, no newline at the end",
			"3000 T c\n1000 T a\n2000 T b",
			"1000-2000 a\n2000-3000 b\n3000-4000 c\n",
		},
		{
			"the last alias, as perf 6.1",
			"1000 T long_alias\n1000 t __a\n1000 W x\n2000 T end\n",
			"1000-2000 x\n2000-3000 end\n",
		},
		{
			"data ends a function and has no name",
			"1000 T a\n1100 D data\n1200 b bss\n1300 T b\n1300 B data_there\n1400 R rodata\n",
			"1000-1100 a\n1300-3000 b\n",
		},
		{
			"absolute and per-cpu symbols count for nothing",
			"0 A fixed_percpu_data\n1000 T a\n1010 A irq_stack\n1020 a x\n2000 T b\n",
			"1000-2000 a\n2000-3000 b\n",
		},
		{
			"padding, mapping symbols and labels",
			"1000 T a\n1100 t __pfx_b\n1110 T b\n1110 t $x\n1120 t $d\n1130 t .L99\n2000 T c\n",
			"1000-1110 a\n1110-2000 b\n2000-3000 c\n",
		},
		{
			"modules, each ending with its page",
			"1000 T a\n9010 t m1\t[one]\n9020 t m2\t[one]\n19000 t n\t[two]\n19080 T k\n" +
				"30000 t bpf_prog_x\t[bpf]\n40000 t tramp\t[__builtin__ftrace]\n",
			"1000-2000 a\n9010-9020 m1 [one]\n9020-b000 m2 [one]\n19000-19080 n [two]\n19080-1b000 k\n" +
				"30000-31000 bpf_prog_x [bpf]\n40000-41000 tramp [__builtin__ftrace]\n",
		},
		{
			"the top of the address space",
			"ffffffffffffe000 T a\nfffffffffffff800 T b\n",
			"ffffffffffffe000-fffffffffffff800 a\nfffffffffffff800-ffffffffffffffff b\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, dump(mustParse(t, test.in))); diff != "" {
				t.Errorf("symbols (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLookup(t *testing.T) {
	table := mustParse(t, "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000040 T f\n"+
		"ffffffff81000080 D data\nffffffffc0000000 t g\t[mod]\n")
	tests := []struct {
		addr uint64
		want string
	}{
		{0, ""},
		{0xffffffff80ffffff, ""},
		{0xffffffff81000000, "_text"},
		{0xffffffff8100003f, "_text"},
		{0xffffffff81000040, "f"},
		{0xffffffff8100007f, "f"},
		{0xffffffff81000080, ""},
		{0xffffffffbfffffff, ""},
		{0xffffffffc0000000, "g"},
		{0xffffffffc0000fff, "g"},
		{0xffffffffc0001000, ""},
		{^uint64(0), ""},
	}
	for _, test := range tests {
		sym, ok := table.Lookup(test.addr)
		if sym.Name != test.want || ok != (test.want != "") {
			t.Errorf("Lookup(%#x) = %q, %v, want %q", test.addr, sym.Name, ok, test.want)
		}
	}
	if text, stext := table.Text(); text != 0xffffffff81000000 || stext != text {
		t.Errorf("Text() = %#x, %#x", text, stext)
	}
}

func TestParseRestricted(t *testing.T) {
	for _, in := range []string{
		"0000000000000000 T _text\n0000000000000000 t a\n0000000000000000 t b\t[m]\n",
		"0000000000000000 A fixed_percpu_data\n0000000000000000 T a\n",
	} {
		table, err := Parse(strings.NewReader(in))
		if !errors.Is(err, ErrRestricted) || table != nil {
			t.Errorf("Parse(%q) = %v, %v, want %v", in, table, err, ErrRestricted)
		}
	}
	for _, in := range []string{"", "\n", "garbage", "1000 D data\n", "0 A abs\n"} {
		table, err := Parse(strings.NewReader(in))
		if err == nil || errors.Is(err, ErrRestricted) || table != nil {
			t.Errorf("Parse(%q) = %v, %v, want another error", in, table, err)
		}
	}
}

func TestParseReportsTheFirstBadLine(t *testing.T) {
	long := "2000 t " + strings.Repeat("x", 2<<16)
	tests := []struct {
		in     string
		offset int64
	}{
		{"1000 T a\nbad line\n3000 T b\nworse\n", 9},
		{"1000 T a\n" + long + "\n3000 T b\n", 9},
		{"1000 T a\n3000 T b\n11112222333344445 T c\n", 18},
		{"1000 T a\n3000 T b\n4000 T c\tmodule\n", 18},
		{"1000 T a\n3000 T b\n4000 T ", 18},
	}
	for _, test := range tests {
		table, err := Parse(strings.NewReader(test.in))
		var format *FormatError
		if !errors.As(err, &format) || format.Offset != test.offset {
			t.Errorf("Parse(%.40q): %v, want a bad line at byte %d", test.in, err, test.offset)
		}
		if table == nil {
			t.Errorf("Parse(%.40q): no table", test.in)
			continue
		}
		if sym, ok := table.Lookup(0x3001); !ok || sym.Name != "b" {
			t.Errorf("Parse(%.40q): Lookup(0x3001) = %q, want b", test.in, sym.Name)
		}
	}
}

func TestParseKeepsWhatWasReadBeforeAnError(t *testing.T) {
	broken := errors.New("broken")
	table, err := Parse(io.MultiReader(strings.NewReader("1000 T a\n2000 T b\n"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if table == nil || dump(table) != "1000-2000 a\n2000-3000 b\n" {
		t.Errorf("table %v", table)
	}
}

// ownKernel reads this machine's kernel symbols, or skips the test.
func ownKernel(t testing.TB) []byte {
	t.Helper()
	livetest.UseMachine(t)
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Skipf("needs /proc/kallsyms: %v", err)
	}
	switch _, err := Parse(bytes.NewReader(text)); {
	case errors.Is(err, ErrRestricted) && os.Geteuid() != 0:
		t.Skipf("needs kernel symbols: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	return text
}

// TestOwnKernel compares every symbol of this kernel with a plain reading of
// the text.
func TestOwnKernel(t *testing.T) {
	text := ownKernel(t)
	table := mustParse(t, string(text))

	names := map[uint64][]string{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		addr, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains("TtWw", f[1]) && !strings.HasPrefix(f[2], "__pfx_") {
			names[addr] = append(names[addr], f[2])
		}
	}
	found := 0
	for addr, aliases := range names {
		sym, ok := table.Lookup(addr)
		if !ok || sym.Start != addr || sym.Name != aliases[len(aliases)-1] {
			t.Errorf("Lookup(%#x) = %q, want the last of %q", addr, sym.Name, aliases)
			continue
		}
		found++
	}
	if found < 1000 {
		t.Errorf("found %d functions in the whole kernel", found)
	}
}

// TestAliasesAsPerf has perf itself choose between aliases.
func TestAliasesAsPerf(t *testing.T) {
	text := ownKernel(t)
	dir := t.TempDir()
	data := dir + "/perf.data"
	var unmet []string
	if _, err := exec.LookPath("perf"); err != nil {
		unmet = append(unmet, "perf")
	} else if out, err := livetest.PerfCommand(t, "record", "-q", "-e", "cpu-clock:k", "-F", "20000", "-o", data,
		"--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do cat /proc/kallsyms >/dev/null; done").CombinedOutput(); err != nil {
		unmet = append(unmet, fmt.Sprintf("perf record of the kernel (%v: %.200s)", err, out))
	}
	if len(unmet) > 0 {
		t.Skipf("needs %s", strings.Join(unmet, "; "))
	}

	// Give every function aliases that differ in all perf could go by.
	var b bytes.Buffer
	for line := range strings.Lines(string(text)) {
		b.WriteString(line)
		f := strings.Fields(line)
		if f[1] == "t" || f[1] == "T" {
			for _, alias := range []string{"W %s_weak_and_longest", "T __%s", "t SyS_%s", "t %s"} {
				fmt.Fprintf(&b, "%s "+alias+"\n", f[0], f[2])
			}
		}
	}
	aliased := dir + "/kallsyms"
	livetest.WriteFile(t, aliased, b.Bytes())
	table := mustParse(t, b.String())

	out, err := livetest.PerfCommand(t, "script", "-i", data, "--kallsyms", aliased, "-F", "ip,sym").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Compact(slices.Sorted(strings.Lines(string(out))))
	for _, line := range lines {
		f := strings.Fields(line)
		addr, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if sym, _ := table.Lookup(addr); sym.Name != f[1] {
			t.Errorf("Lookup(%#x) = %q, perf says %q", addr, sym.Name, f[1])
		}
	}
	if len(lines) < 20 {
		t.Errorf("perf sampled only %d addresses", len(lines))
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	table := mustParse(t, "1000 T a\n2000 t b\t[m]\n")
	if n := testing.AllocsPerRun(100, func() {
		table.Lookup(0x1234)
		table.Lookup(0x2345)
		table.Lookup(0x9999)
	}); n != 0 {
		t.Errorf("Lookup allocates %v times", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("ffffffff81000000 T _text\nffffffff81000040 t a\nffffffffc0000000 t b\t[m]\n0 A c\nff D d"))
	f.Add([]byte("0000000000000000 T a\n"))
	f.Add([]byte("fffffffffffff800 T a\nffffffffffffffff t b\n0 T c\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		defer memtest.Within(t, 1<<20+500*len(in))()
		table, err := Parse(bytes.NewReader(in))
		if table == nil {
			if err == nil {
				t.Fatal("neither table nor error")
			}
			return
		}
		last := uint64(0)
		for s := range table.Symbols {
			if s.Start < last || s.End < s.Start || s.Name == "" {
				t.Fatalf("symbol %+v after %#x", s, last)
			}
			last = s.End
			if got, ok := table.Lookup(s.Start); !ok || got != s {
				t.Fatalf("Lookup(%#x) = %+v, want %+v", s.Start, got, s)
			}
		}
	})
}

// synthetic is the text of a kernel with n functions, a tenth of them in
// modules.
func synthetic(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%016x t function_number_%d", 0xffffffff81000000+uint64(i)*64, i)
		if i > n*9/10 {
			fmt.Fprintf(&b, "\t[module_%d]", i/1000)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func BenchmarkParse300k(b *testing.B) {
	text := synthetic(300_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	table := mustParse(b, string(synthetic(300_000)))
	b.ReportAllocs()
	addr := uint64(0)
	for b.Loop() {
		addr = (addr + 7919*64) % (300_000 * 64)
		table.Lookup(0xffffffff81000000 + addr)
	}
}

func TestParseOdd(t *testing.T) {
	table, err := Parse(strings.NewReader(procfstest.Kallsyms))
	var format *FormatError
	if !errors.As(err, &format) || format.Offset != procfstest.Malformed {
		t.Errorf("%v, want a bad line at byte %d", err, procfstest.Malformed)
	}
	var got []string
	for s := range table.Symbols {
		got = append(got, fmt.Sprintf("%x %s %s", s.Start, s.Name, s.Module))
	}
	if d := cmp.Diff([]string{
		"0 hidden ", "ffffffff81000000 _text ", "ffffffff81000100 work ", "ffffffff81000200 work ",
		"ffffffff81000400 odd[0] ", "ffffffff81000500 _etext ", "ffffffffc0000000 init fuse", "ffffffffc0000100 spaced fuse",
		"ffffffffc0000200 words two words", "ffffffffc0001000 bpf_prog_0123456789abcdef_f bpf",
		"ffffffffc0002000 ftrace_trampoline __builtin__ftrace", "ffffffffc0003000 kprobe_insn_page __builtin__kprobes",
		"ffffffffc0005000 last fuse",
	}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
