//go:build linux

package event

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
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
		if off, err := probeOffset(program, Probe{User: true, Addr: 1}); off != 1 || err != nil {
			t.Errorf("an offset in no function: %#x, %v", off, err)
		}
	}
}
