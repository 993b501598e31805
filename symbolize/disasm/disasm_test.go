package disasm

import (
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
)

// source has a function that calls another, if SLOW is defined, and data and jumps around
// it; what comes first moves all that follows.
const source = `
#define N __attribute__((noinline))
static volatile long table[64], sum;
#ifdef SLOW
N long before(long n) { for (long i = 0; i < n; i++) sum += table[i % 7] + "moves"[i % 5]; return sum; }
N long added(long n) { for (long i = 0; i < n; i++) sum += table[i & 63]; return sum; }
#endif
N long same(long n) { if (n < 3) return sum; for (long i = 0; i < n; i++) table[i & 63] += i; sum = n; return table[5] + "\1\2\3\4"[n & 3]; }
N long work(long n)
{
	long x = same(n);
#ifdef SLOW
	x += added(n);
#endif
	return x + same(x);
}
#ifdef ODD
__asm__(".globl odd; .type odd, @function; odd: vzeroupper; xorl %eax, %eax; adcx %ecx, %edx; clac; vzeroall; ret; .size odd, . - odd");
#endif
int main(int argc, char **argv) { return work(argc); }
`

// build compiles source.
func build(t testing.TB, flags ...string) string {
	t.Helper()
	name := "gcc"
	if strings.HasPrefix(flags[0], "--target") {
		name = "clang" // it has all targets
	}
	livetest.RequirePrograms(t, name)
	dir := t.TempDir()
	c, out := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	livetest.WriteFile(t, c, source)
	if b, err := exec.Command(name, append([]string{"-O1", "-o", out, c}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return out
}

// disassemble returns the functions of a file by their names.
func disassemble(t testing.TB, path string) map[string][]Instruction {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := make(map[string][]Instruction)
	for s := range f.Functions() {
		list, err := f.Function(s)
		if err != nil {
			t.Fatal(err)
		}
		all[s.Name] = list
	}
	return all
}

// TestBuilds: of two builds of a program, linked any way, those functions differ that the
// source changed, and by the instructions of that change.
func TestBuilds(t *testing.T) {
	for name, flags := range map[string][]string{
		"PIE": {"-fPIE", "-pie"}, "fixed": {"-fno-pie", "-no-pie"}, "object": {"-c"},
		"arm64":   {"--target=aarch64-linux-gnu", "-c"},
		"vmlinux": {"-mcmodel=kernel", "-fno-pie", "-no-pie", "-nostdlib", "-static", "-Wl,-Ttext-segment=0xffffffff81000000", "-Wl,-e,main"},
		"kernel":  {"-c", "-mcmodel=kernel", "-fno-pie", "-ffunction-sections"},
	} {
		t.Run(name, func(t *testing.T) {
			base, new := disassemble(t, build(t, flags...)), disassemble(t, build(t, append(flags, "-DSLOW")...))
			for _, fn := range []string{"same", "main"} {
				if !Equal(base[fn], new[fn]) || len(base[fn]) < 3 {
					t.Errorf("%s differs:\n%s", fn, text(Align(base[fn], new[fn])))
				}
			}
			rows := Align(base["work"], new["work"])
			calls := 0
			for _, r := range rows {
				if r.Changed() && r.New != nil && (strings.HasPrefix(r.New.Text, "call") || strings.HasPrefix(r.New.Text, "bl ")) && strings.HasSuffix(r.New.Text, " added") {
					calls++
				}
				if !r.Changed() && r.Base.Key != r.New.Key {
					t.Errorf("%v is not %v", r.Base, r.New)
				}
			}
			if Equal(base["work"], new["work"]) || calls != 1 || base["added"] != nil || new["added"] == nil {
				t.Errorf("work:\n%s", text(rows))
			}
		})
	}
}

// TestNumberedLabels: labels that the compiler numbers (.LC3) are equal whatever their numbers,
// with and without an addend, what is behind names is not.
func TestNumberedLabels(t *testing.T) {
	for name, arch := range map[string]struct {
		code   string
		decode func(*File, *function) []Instruction
	}{
		"arm64":  {"\x00\x00\x00\x90", decodeARM64},           // adrp x0, .
		"x86-64": {"\x48\x8d\x3d\x00\x00\x00\x00", decodeX86}, // lea 0(%rip), %rdi
	} {
		key := func(symbol string, addend int64) string {
			f := &File{elf: &elf.File{FileHeader: elf.FileHeader{Machine: elf.EM_X86_64}}, relocs: map[uint64]target{}}
			for off := range uint64(len(arch.code)) {
				f.relocs[off] = target{name: symbol, addend: addend}
			}
			return arch.decode(f, &function{Symbol: elfsym.Symbol{Start: 0x1000, End: 0x1100}, code: []byte(arch.code)})[0].Key
		}
		if a, b := key(".LC3", 8), key(".LC14", 8); a != b {
			t.Errorf("%s: %q is not %q", name, a, b)
		}
		if a, b := key(".LC3", 0), key(".LC14", 0); a != b {
			t.Errorf("%s: %q is not %q", name, a, b)
		}
		if a, b, c := key("one", 8), key("two", 8), key("one", 16); a == b || a == c {
			t.Errorf("%s: %q, %q, %q", name, a, b, c)
		}
	}
}

func text(rows []Row) string {
	var b strings.Builder
	for _, r := range rows {
		var cells [2]string
		for i, x := range []*Instruction{r.Base, r.New} {
			if x != nil {
				cells[i] = x.Text + " [" + x.Key + "]"
			}
		}
		fmt.Fprintf(&b, "%-60s %v %s\n", cells[0], r.Changed(), cells[1])
	}
	return b.String()
}

// TestObjdump: each instruction begins where objdump says that one does.
func TestObjdump(t *testing.T) {
	livetest.RequirePrograms(t, "objdump")
	paths := []string{build(t, "-O1"), build(t, "-O2", "-DSLOW", "-g"), build(t, "-DODD"), build(t, "-DODD", "-m32", "-nostdlib", "-Wl,-e,odd")}
	for _, path := range paths {
		out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[string]string) // mnemonic by address
		for _, m := range regexp.MustCompile(`(?m)^ +([0-9a-f]+):\t(\S+)`).FindAllStringSubmatch(string(out), -1) {
			want[m[1]] = m[2]
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		seen := 0
		for s := range f.Functions() {
			list, err := f.Function(s)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range list {
				m, ok := want[fmt.Sprintf("%x", s.Start+x.Off)]
				if seen++; !ok || m[0] != x.Text[0] && !strings.Contains(x.Text, "nop") && !strings.HasPrefix(x.Text, ".byte 0x66,0x0f,0x38,0xf6,") {
					t.Errorf("%s%+#x: %s, objdump has %q", s.Name, x.Off, x.Text, m)
				}
			}
		}
		if seen < 30 {
			t.Errorf("%s: %d instructions", path, seen)
		}
	}
}

// TestAlign: random changes are undone by taking one side's instructions of all rows, and
// no more rows differ than were changed.
func TestAlign(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	side := func(rows []Row, which int) (keys string) {
		for _, r := range rows {
			if x := [2]*Instruction{r.Base, r.New}[which]; x != nil {
				keys += x.Key + " "
			}
		}
		return keys
	}
	keys := func(list []Instruction) (s string) {
		for _, x := range list {
			s += x.Key + " "
		}
		return s
	}
	for range 500 {
		var base, new []Instruction
		edits := 0
		for i := range rnd.IntN(40) {
			x := Instruction{Off: uint64(i), Key: fmt.Sprint(rnd.IntN(6))}
			base = append(base, x)
			switch rnd.IntN(8) {
			case 0:
				edits++
			case 1:
				new = append(new, x, Instruction{Key: "added"})
				edits++
			default:
				new = append(new, x)
			}
		}
		rows := Align(base, new)
		changed := 0
		for _, r := range rows {
			if r.Changed() {
				changed++
			}
		}
		if side(rows, 0) != keys(base) || side(rows, 1) != keys(new) || changed > edits {
			t.Fatalf("%d rows differ after %d edits:\n%s", changed, edits, text(rows))
		}
	}
	// Those that have nothing in common are cut short.
	var base, new []Instruction
	for i := range 5000 {
		base, new = append(base, Instruction{Key: fmt.Sprint("b", i)}), append(new, Instruction{Key: fmt.Sprint("n", i)})
	}
	if rows := Align(base, new); len(rows) != 5000 {
		t.Errorf("%d rows", len(rows))
	}
}
