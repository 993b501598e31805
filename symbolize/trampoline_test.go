package symbolize

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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

// TestUnnamedStub names a stub of the C library's PLT for a function that has no
// name: perf calls it "@plt".
func TestUnnamedStub(t *testing.T) {
	libc, err := filepath.EvalSymlinks("/lib/x86_64-linux-gnu/libc.so.6")
	if err != nil {
		t.Skip("needs an x86-64 glibc: ", err)
	}
	off, ok := pltStub(t, libc)
	if !ok {
		t.Skip("needs a C library with IFUNCs in .plt")
	}
	s := New(Options{})
	defer s.Close()
	frames, err := s.Resolve(context.Background(), Mapping{Kind: mapping.User, File: libc}, []uint64{off})
	if err != nil {
		t.Fatal(err)
	}
	if len(frames[0]) != 1 || frames[0][0].Name != "@plt" {
		t.Errorf("stub at offset %#x: %v, want @plt", off, frames[0])
	}
}

// elfSymbols reads the symbols of a file.
func elfSymbols(t testing.TB, path string) []elf.Symbol {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
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

// pltStub returns the file offset of the first stub of .plt whose relocation has
// no symbol (R_X86_64_IRELATIVE).
func pltStub(t *testing.T, path string) (off uint64, ok bool) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rel, plt := f.Section(".rela.plt"), f.Section(".plt")
	if rel == nil || plt == nil {
		return 0, false
	}
	b, err := rel.Data()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; len(b) >= 24; i, b = i+1, b[24:] {
		if elf.R_SYM64(f.ByteOrder.Uint64(b[8:])) == 0 {
			return plt.Offset + 16*uint64(i+1), true
		}
	}
	return 0, false
}

// goProgram builds a program that does nothing. Those that go test builds have no symbols.
func goProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	exe, src := filepath.Join(dir, "program"), filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}
