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
// the others, whichever stub is theirs. Such a stub has no name of its own.
func TestPLTOfIFUNCs(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "objdump")
	dir := t.TempDir()
	source, library := filepath.Join(dir, "chosen.c"), filepath.Join(dir, "chosen.so")
	livetest.WriteFile(t, source, `
		int getpid(void), getppid(void), rand(void);
		static int one(void) { return 1; }
		static void *pick(void) { return one; }
		__attribute__((visibility("hidden"))) int chosen(void) __attribute__((ifunc("pick")));
		int f(void) { return getpid() + chosen() + getppid() + rand(); }`)
	livetest.Run(t, "gcc", "-O1", "-shared", "-fPIC", "-Wl,-z,lazy", "-o", library, source)
	f := open(t, library, Options{})
	found := map[string]bool{}
	label := regexp.MustCompile(`(?m)^([0-9a-f]+) <(\w+|\*ABS\*\+0x\w+)@plt>:`)
	for _, m := range label.FindAllStringSubmatch(livetest.Run(t, "objdump", "-d", library), -1) {
		addr, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		want := m[2]
		if strings.HasPrefix(want, "*") {
			want = ""
		}
		found[want] = true
		if sym, ok := f.Lookup(addr); !ok || sym.Name != want || !sym.PLT {
			t.Errorf("Lookup(%#x) = %+v, want %s@plt", addr, sym, want)
		}
	}
	for _, name := range []string{"getpid", "", "getppid", "rand"} {
		if !found[name] {
			t.Errorf("objdump shows no stub of %q, but of %v", name, found)
		}
	}
}
