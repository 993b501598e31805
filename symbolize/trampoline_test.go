package symbolize

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
)

// TestSignalFrame names the return address of a signal handler of a Go program,
// looked up one byte before as all callers are: the function that ends there is
// not its caller.
func TestSignalFrame(t *testing.T) {
	exe := goProgram(t)
	f, err := elfsym.Open(exe, elfsym.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const name = "runtime.sigreturn__sigaction.abi0"
	vaddr := symbolAddr(t, exe, name)
	off, ok := f.Offset(vaddr)
	if !ok {
		t.Fatalf("%s at %#x is not in a segment", name, vaddr)
	}
	s := New(Options{})
	defer s.Close()
	frames, err := s.Resolve(context.Background(), Mapping{Kind: mapping.User, File: exe}, []uint64{off - 1, off - 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(frames[0]) == 0 || frames[0][0].Name != name {
		t.Errorf("the byte before it: %v, want %s", frames[0], name)
	}
	if len(frames[1]) > 0 && frames[1][0].Name == name {
		t.Errorf("two bytes before it: %v", frames[1])
	}
}

// TestSignalReturn names the address behind the last instruction of what signal handlers return
// to, where a program is while the kernel executes that: but not behind other functions.
func TestSignalReturn(t *testing.T) {
	livetest.RequirePrograms(t, "gcc")
	src, exe := filepath.Join(t.TempDir(), "a.s"), filepath.Join(t.TempDir(), "a")
	text := ".text\n"
	for _, name := range []string{"__kernel_rt_sigreturn", "other"} {
		text += fmt.Sprintf(".globl %[1]s\n.type %[1]s, %%function\n%[1]s: .8byte 0\n.size %[1]s, 8\n.8byte 0\n", name)
	}
	livetest.WriteFile(t, src, text)
	if out, err := exec.Command("gcc", "-nostdlib", "-static", "-Wl,-e,other", "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := elfsym.Open(exe, elfsym.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	off, ok := f.Offset(symbolAddr(t, exe, "__kernel_rt_sigreturn"))
	if !ok {
		t.Fatal("the code is in no segment")
	}
	s := New(Options{})
	defer s.Close()
	frames, err := s.Resolve(t.Context(), Mapping{Kind: mapping.User, File: exe}, []uint64{off + 8, off + 9, off + 24})
	if err != nil {
		t.Fatal(err)
	}
	if len(frames[0]) != 1 || frames[0][0].Name != "__kernel_rt_sigreturn" {
		t.Errorf("behind the last instruction: %v", frames[0])
	}
	if len(frames[1]) > 0 || len(frames[2]) > 0 {
		t.Errorf("further behind: %v; behind another function: %v", frames[1], frames[2])
	}
}

// TestStubOfIFUNC names the stub of a function that is chosen at start-up, whose relocation has
// no name: by its symbol, and where that was stripped as what it is.
func TestStubOfIFUNC(t *testing.T) {
	livetest.RequirePrograms(t, "gcc")
	source := filepath.Join(t.TempDir(), "chosen.c")
	livetest.WriteFile(t, source, `
		static int one(void) { return 1; }
		static void *pick(void) { return one; }
		__attribute__((visibility("hidden"))) int chosen(void) __attribute__((ifunc("pick")));
		int f(void) { return chosen() + 1; }`)
	for flag, want := range map[string]string{"-g": "chosen@plt", "-s": "@plt"} {
		library := source + flag + ".so"
		livetest.Run(t, "gcc", "-O1", "-shared", "-fPIC", "-nostdlib", "-fcf-protection=none", flag, "-o", library, source)
		off, ok := pltStub(t, library)
		if !ok {
			t.Skip("needs a linker for x86-64")
		}
		s := New(Options{})
		frames, _ := s.Resolve(context.Background(), Mapping{Kind: mapping.User, File: library}, []uint64{off}) // that it is stripped is known
		s.Close()
		if len(frames[0]) != 1 || frames[0][0].Name != want {
			t.Errorf("%s: stub at offset %#x: %v, want %s", flag, off, frames[0], want)
		}
	}
}

// elfSymbols reads the symbols of a file.
func elfSymbols(t testing.TB, path string) []elf.Symbol {
	t.Helper()
	f := livetest.Open(t, elf.Open, path)
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return syms
}

// symbolAddr is the value of a symbol.
func symbolAddr(t *testing.T, path, name string) uint64 {
	t.Helper()
	for _, s := range elfSymbols(t, path) {
		if s.Name == name {
			return s.Value
		}
	}
	t.Fatalf("%s has no symbol %s", path, name)
	return 0
}

// pltStub returns the file offset of the first stub of .plt that jumps where a relocation has
// no symbol (R_X86_64_IRELATIVE).
func pltStub(t *testing.T, path string) (off uint64, ok bool) {
	t.Helper()
	f := livetest.Open(t, elf.Open, path)
	rel, plt := f.Section(".rela.plt"), f.Section(".plt")
	if rel == nil || plt == nil {
		return 0, false
	}
	b, err := rel.Data()
	code, err2 := plt.Data()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	unnamed := map[uint64]bool{}
	for ; len(b) >= 24; b = b[24:] {
		unnamed[f.ByteOrder.Uint64(b)] = elf.R_SYM64(f.ByteOrder.Uint64(b[8:])) == 0
	}
	for i := uint64(16); i+16 <= uint64(len(code)); i += 16 {
		to := plt.Addr + i + 6 + uint64(int64(int32(f.ByteOrder.Uint32(code[i+2:]))))
		if code[i] == 0xff && code[i+1] == 0x25 && unnamed[to] {
			return plt.Offset + i, true
		}
	}
	return 0, false
}

// goProgram builds a program that does nothing. Those that go test builds have no symbols.
func goProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	exe, src := filepath.Join(dir, "program"), filepath.Join(dir, "main.go")
	livetest.WriteFile(t, src, "package main\n\nfunc main() {}\n")
	if out, err := exec.Command("go", "build", "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}
