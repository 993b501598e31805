//go:build linux

package event

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent"
	"kprof/perfevent/livetest"
	"kprof/perfevent/spanrule"
)

// link compiles and links text in a directory of its own, without the C library.
func link(t *testing.T, source string, flags ...string) string {
	t.Helper()
	livetest.RequirePrograms(t, "gcc")
	dir := t.TempDir()
	name, program := filepath.Join(dir, "p.c"), filepath.Join(dir, "program")
	livetest.WriteFile(t, name, source)
	if out, err := exec.Command("gcc", append([]string{"-nostdlib", "-o", program, name}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// TestUserBoundary: of a function with instructions that x86asm does not know, or takes to be
// longer than they are, all places between two are good and no others, by name and by offset in the file.
func TestUserBoundary(t *testing.T) {
	const source = `asm(".text; .globl _start; .type _start, @function; _start: vzeroupper; .byte 0x66,0x0f,0x38,0xf6,0xc9; movl $0x90909090, %eax; ret; .size _start, . - _start");`
	starts := map[uint64]bool{0: true, 3: true, 8: true, 13: true}
	for _, bits := range []string{"-m64", "-m32"} {
		program := link(t, source, bits, "-static")
		start, err := probeOffset(program, Probe{User: true, Symbol: "_start"})
		if err != nil {
			t.Fatal(err)
		}
		for off := range uint64(14) {
			for _, p := range []Probe{{User: true, Symbol: "_start", Off: off}, {User: true, Addr: start + off}} {
				got, err := probeOffset(program, p)
				if starts[off] != (err == nil) || err == nil && got != start+off {
					t.Errorf("%s, %+v: %#x, %v", bits, p, got, err)
				}
			}
		}
		_, err = probeOffset(program, Probe{User: true, Addr: start + 9})
		if want := fmt.Sprintf("offset %#x is inside an instruction of _start, which lies between %#x and %#x", start+9, start+8, start+13); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
		for p, ok := range map[Probe]bool{
			{Symbol: "_start"}: true, {Addr: start}: true, {Symbol: "_start", Off: 3}: false, {Addr: start + 3}: false,
		} {
			p.User, p.Return = true, true
			if _, err := probeOffset(program, p); ok != (err == nil) || !ok && !strings.Contains(err.Error(), "a return probe stands at a function's entry: ") {
				t.Errorf("%s, %+v: %v", bits, p, err)
			}
		}
		if off, err := probeOffset(program, Probe{User: true, Addr: 1}); off != 1 || err != nil {
			t.Errorf("an offset in no function: %#x, %v", off, err)
		}
	}
}

// TestUserVersions: of a function with versions the default one is probed, with what linkers write
// into symtab and without; the others by their names.
func TestUserVersions(t *testing.T) {
	const source = `
asm(".symver old, f@V1; .symver new, f@@V2; .symver same1, g@V1; .symver same2, g@@V2; .symver gone1, h@V1");
int old(void) { return 1; }
int new(void) { return 2; }
int same1(void) { return 3; }
extern __typeof(same1) same2 __attribute__((alias("same1")));
int gone1(void) { return 4; }`
	versions := filepath.Join(t.TempDir(), "versions")
	livetest.WriteFile(t, versions, "V1 { global: f; g; h; }; V2 { global: f; g; } V1;")
	for _, flags := range [][]string{nil, {"-s"}} {
		library := link(t, source, append(flags, "-shared", "-fPIC", "-Wl,--version-script="+versions)...)
		e := livetest.Open(t, elf.Open, library)
		dynsym, err := e.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		addrs := map[string]uint64{}
		for _, s := range dynsym {
			addrs[s.Name+"@"+s.Version] = s.Value
		}
		for name, want := range map[string]struct {
			of     string
			others []string
		}{
			"f": {"f@V2", []string{"f@V1"}}, "f@V1": {"f@V1", nil}, "f@V2": {"f@V2", nil}, "f@@V2": {"f@V2", nil},
			"g": {"g@V2", nil}, "h": {"h@V1", nil}, "h@V1": {"h@V1", nil},
		} {
			got, others, err := findFunctions(e, name)
			if err != nil || len(got) != 1 || got[0].Value == 0 || got[0].Value != addrs[want.of] || !slices.Equal(others, want.others) {
				t.Errorf("%v, %s: %+v, %v, %v; want %s at %#x, %v", flags, name, got, others, err, want.of, addrs[want.of], want.others)
			}
		}
		if _, _, err := findFunctions(e, "f@V3"); err == nil || !strings.Contains(err.Error(), "did you mean f@V1 or f@V2?") {
			t.Errorf("a version that is not there: %v", err)
		}
		notes := otherVersions(Probe{User: true, Path: library, Symbol: "f"})
		if len(notes) != 1 || !strings.HasSuffix(notes[0], "does not see: f@V1") {
			t.Errorf("%q", notes)
		}
	}
}

// TestSeveralUserFunctions: where several functions have one name, each is offered by its place, by
// which it can be probed.
func TestSeveralUserFunctions(t *testing.T) {
	livetest.RequirePrograms(t, "gcc")
	one := filepath.Join(t.TempDir(), "one.c")
	livetest.WriteFile(t, one, "static __attribute__((noinline, used)) int work(void) { return 1; } int once(void) { return work(); }")
	program := link(t, "static __attribute__((noinline, used)) int work(void) { return 2; } int once(void); int _start(void) { return work() + once(); }", one)
	for _, kind := range []string{"uprobe:", "uretprobe:"} {
		spec := mustSpec(t, kind+program+":work")
		_, err := probeOffset(program, spec.Probe)
		m := regexp.MustCompile(`^2 functions are called work; probe one by its place: (\S+) of p\.c, (\S+) of one\.c$`).FindStringSubmatch(fmt.Sprint(err))
		if m == nil || !errors.Is(err, os.ErrInvalid) {
			t.Fatal(err)
		}
		last := uint64(0)
		for _, text := range m[1:] {
			off, err := probeOffset(program, mustSpec(t, text).Probe)
			if err != nil || off <= last || !strings.HasPrefix(text, kind) {
				t.Errorf("%s: %#x, %v", text, off, err)
			}
			last = off
		}
	}
	if _, err := probeOffset(program, Probe{User: true, Symbol: "once"}); err != nil {
		t.Error(err)
	}
}

// TestMallocArguments: what functions are called with is fetched as the program's architecture has it,
// which need not be the kernel's.
func TestMallocArguments(t *testing.T) {
	for _, tt := range []struct{ bits, malloc, memalign, returned string }{
		{"-m64", "kprof_bytes=%di", "kprof_slot=%di kprof_bytes=%dx", "kprof_ret=$retval kprof_stack0=$stack0 kprof_stack1=$stack1"},
		{"-m32", "kprof_bytes=+4(%sp):u32", "kprof_slot=+4(%sp):u32 kprof_bytes=+12(%sp):u32", "kprof_ret=$retval:u32 kprof_stack0=+0(%sp):u32 kprof_stack1=+4(%sp):u32"},
	} {
		program := link(t, "void malloc() {} void free() {} void posix_memalign() {} void _start() {}", tt.bits, "-fno-builtin")
		rule, err := spanrule.Parse("span:malloc:" + program)
		if err != nil {
			t.Fatal(err)
		}
		specs, err := new(Resolver).SpanSpecs(rule)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, s := range specs {
			kind, _, _ := strings.Cut(s.Text, ":")
			got[kind+":"+s.Probe.Symbol] = s.Probe.Args
		}
		for probe, want := range map[string]string{
			"uprobe:malloc": tt.malloc, "uretprobe:malloc": strings.Fields(tt.returned)[0], "uprobe:posix_memalign": tt.memalign,
			"uretprobe:posix_memalign": tt.returned, "uprobe:free": strings.Replace(tt.malloc, "bytes", "address", 1),
		} {
			if !strings.HasPrefix(got[probe]+" ", "kprof_sp=$stack "+want+" ") {
				t.Errorf("%s, %s: %s; want %s", tt.bits, probe, got[probe], want)
			}
		}
	}
	// e_machine of another architecture.
	program := link(t, "void malloc() {} void free() {} void _start() {}", "-fno-builtin")
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint16(b[18:], uint16(elf.EM_SPARCV9))
	livetest.WriteFile(t, program, b)
	rule, err := spanrule.Parse("span:malloc:" + program)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(Resolver).SpanSpecs(rule); !errors.Is(err, perfevent.ErrNotSupported) {
		t.Errorf("of SPARC: %v", err)
	}
}
