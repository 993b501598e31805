package elfsym

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestPLTOfIFUNCs: linkers write relocations of functions that are chosen at start-up (IFUNC) behind
// the others, whichever stub is theirs. The relocation of such a stub has no name, which objdump does without.
func TestPLTOfIFUNCs(t *testing.T) {
	for _, flags := range [][]string{
		nil, {"-m32"}, {"-m32", "-Wl,-z,now"}, {"-m32", "-fcf-protection", "-Wl,-z,ibtplt"}, {"-mx32"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) { testPLTOfIFUNCs(t, flags) })
	}
}

func testPLTOfIFUNCs(t *testing.T, flags []string) {
	livetest.RequirePrograms(t, "gcc", "objdump")
	dir := t.TempDir()
	source, library := filepath.Join(dir, "chosen.c"), filepath.Join(dir, "chosen.so")
	livetest.WriteFile(t, source, `
		int getpid(void), getppid(void), rand(void), clock(void), abort(void), (*pointer)(void) = clock;
		static int one(void) { return 1; }
		static void *pick(void) { return one; }
		__attribute__((visibility("hidden"))) int chosen(void) __attribute__((ifunc("pick")));
		int f(void) { return getpid() + chosen() + getppid() + rand(); }
		long g(void) { return chosen() + clock() + (long)abort + abort(); }`)
	livetest.Run(t, "gcc", append([]string{"-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,-z,lazy", "-o", library, source}, flags...)...)
	f := open(t, library, Options{})
	found := map[string]bool{}
	label := regexp.MustCompile(`(?m)^([0-9a-f]+) <(\w+|\*ABS\*(?:\+0x\w+)?)@plt>:`)
	for _, m := range label.FindAllStringSubmatch(livetest.Run(t, "objdump", "-d", library), -1) {
		addr, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		want := m[2]
		if strings.HasPrefix(want, "*") {
			want = "chosen"
		}
		found[want] = true
		if sym, ok := f.Lookup(addr); !ok || sym.Name != want || !sym.PLT {
			t.Errorf("Lookup(%#x) = %+v, want %s@plt", addr, sym, want)
		}
	}
	for _, name := range []string{"getpid", "chosen", "getppid", "rand", "clock", "abort"} {
		if !found[name] {
			t.Errorf("objdump shows no stub of %q, but of %v", name, found)
		}
	}
}

// TestPLTOfStripped: a program that exports nothing still has stubs, as objdump shows.
func TestPLTOfStripped(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "objdump")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	livetest.WriteFile(t, source, "#include <stdlib.h>\nint main(void) { abort(); }\n")
	livetest.Run(t, "gcc", "-s", "-fcf-protection=none", "-o", program, source)
	f := open(t, program, Options{})
	m := regexp.MustCompile(`(?m)^([0-9a-f]+) <abort@plt>:`).FindStringSubmatch(livetest.Run(t, "objdump", "-d", program))
	if m == nil {
		t.Fatal("objdump shows no stub of abort")
	}
	addr, err := strconv.ParseUint(m[1], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	if sym, ok := f.Lookup(addr); !ok || sym.Name != "abort" || !sym.PLT {
		t.Errorf("Lookup(%#x) = %+v", addr, sym)
	}
}

// TestPLTOfStaticPrograms follows the calls of functions that are chosen at start-up in programs that
// no loader finishes: their stubs are all of the procedure linkage table, which has no header then.
func TestPLTOfStaticPrograms(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "objdump")
	dir := t.TempDir()
	source := filepath.Join(dir, "static.c")
	livetest.WriteFile(t, source, `
		static int one(void) { return 1; }
		static void *choose(void) { return one; }
		static void *choice(void) { return one; }
		int first(void) __attribute__((ifunc("choose")));
		int second(void) __attribute__((ifunc("choice")));
		__attribute__((noinline)) int calls_first(void) { return first() + 1; }
		__attribute__((noinline)) int calls_second(void) { return second() + 1; }
		int _start(void) { return calls_first() + calls_second(); }`)
	for _, flags := range [][]string{
		{"-static"}, {"-static", "-m32"}, {"-static", "-fuse-ld=gold"}, {"-static-pie", "-fPIE"}, {"-static-pie", "-fPIE", "-m32"},
	} {
		program := filepath.Join(dir, strings.Join(flags, "")+".prog")
		livetest.Run(t, "gcc", append([]string{"-O1", "-fcf-protection=none", "-nostdlib", "-o", program, source}, flags...)...)
		f := open(t, program, Options{})
		for _, name := range []string{"first", "second"} {
			code := livetest.Run(t, "objdump", "-d", "--disassemble=calls_"+name, program)
			m := regexp.MustCompile(`(?m)\tcall +([0-9a-f]+)`).FindAllStringSubmatch(code, -1)
			if len(m) == 0 {
				t.Fatalf("%v: no call in %s", flags, code)
			}
			addr, err := strconv.ParseUint(m[len(m)-1][1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			if sym, ok := f.Lookup(addr); !ok || sym.Name != name || !sym.PLT || sym.Start != addr {
				t.Errorf("%v: what calls_%s calls at %#x is %+v", flags, name, addr, sym)
			}
		}
	}
}
