package symbolize

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/disasm"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
)

// functionAt disassembles what a Symbolizer says has the code at an address of m.
func functionAt(t *testing.T, s *Symbolizer, m Mapping, addr uint64) (name string, off uint64) {
	t.Helper()
	code, err := s.Code(m)
	if err != nil {
		t.Fatal(err)
	}
	vaddr, ok := code.Vaddr(addr)
	if !ok {
		t.Fatalf("%s has no %#x", code.Path, addr)
	}
	opened, err := code.Open()
	if err != nil {
		t.Fatal(err)
	}
	file, err := disasm.New(opened)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbol, ok := file.At(vaddr)
	if !ok {
		t.Fatalf("%s has no function at %#x", code.Path, vaddr)
	}
	if list, err := file.Function(symbol); err != nil || len(list) == 0 {
		t.Errorf("%s: %d instructions, %v", symbol.Name, len(list), err)
	}
	return symbol.Name, vaddr - symbol.Start
}

// TestCodeOfKernel: the code of a kernel that was moved is found in the vmlinux that was
// named or has its build id, and in no other.
func TestCodeOfKernel(t *testing.T) {
	path, id, addrs := miniature(t, "-static", "-no-pie", "-Wl,-Ttext-segment=0x81000000")
	const shift = 0x1e00000
	m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", BuildID: id, Offset: addrs["_text"] + shift}
	root := t.TempDir()
	install(t, path, root, "/boot/vmlinux-6.1.0-99-test")
	for _, o := range []Options{{Vmlinux: path, Foreign: true}, {Root: root, Foreign: true, Release: "6.1.0-99-test"}} {
		s := New(o)
		if name, off := functionAt(t, s, m, addrs["vfs_read"]+shift+6); name != "__se_sys_read" && name != "vfs_read" || off != 6 {
			t.Errorf("%s+%#x", name, off)
		}
		if code, err := s.Code(m); err != nil {
			t.Error(err)
		} else if _, ok := code.Vaddr(0x1000); ok {
			t.Error("an address outside of the kernel is in it")
		}
		unplaced := m
		unplaced.Offset = 0
		if code, err := s.Code(unplaced); err != nil || !errors.Is(code.Unplaced, errUnplaced) {
			t.Errorf("%+v, %v", code, err)
		} else if _, ok := code.Vaddr(addrs["vfs_read"] + shift); ok {
			t.Error("an address has a place in a kernel of which is not known where it was")
		}
		other := m
		other.BuildID = "00112233445566778899aabbccddeeff00112233"
		var wrong *BuildIDError
		if _, err := s.Code(other); !errors.As(err, &wrong) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrForeign) {
			t.Errorf("%v", err)
		}
		s.Close()
	}
}

// TestCodeOfKernelPlace: arm64 kernels begin well before their first function, so that the
// place of one of the two does not tell where the kernel is, unless it is said of which.
func TestCodeOfKernelPlace(t *testing.T) {
	const begin, shift = 0x81000000, 0x1e00000
	path, id, addrs := miniature(t, "-static", "-no-pie", "-Wl,-Ttext-segment=0x81000000", "-Wl,--defsym=_text=0x81000000")
	if addrs["_text"] != begin || addrs["_stext"] == begin {
		t.Fatalf("_text is at %#x, _stext at %#x", addrs["_text"], addrs["_stext"])
	}
	s := New(Options{Vmlinux: path, Foreign: true})
	defer s.Close()
	for _, symbol := range []string{"_text", "_stext"} {
		m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: symbol, BuildID: id, Offset: addrs[symbol] + shift}
		if name, off := functionAt(t, s, m, addrs["vfs_write"]+shift+2); name != "vfs_write" || off != 2 {
			t.Errorf("%s: %s+%#x", symbol, name, off)
		}
		m.Symbol = ""
		if code, err := s.Code(m); err != nil || !errors.Is(code.Unplaced, errUnplaced) {
			t.Errorf("without %s: %v, %v", symbol, code, err)
		}
	}
}

// TestCodeOfModule: of a module too, compressed or not.
func TestCodeOfModule(t *testing.T) {
	livetest.RequirePrograms(t, "xz")
	ko := filepath.Join(t.TempDir(), "ext4.ko")
	livetest.KernelModule(t, "testdata/module.c", ko)
	livetest.WriteFile(t, ko+".xz", livetest.Run(t, "xz", "-kc", ko))
	file, err := elfsym.Open(ko, elfsym.Options{Module: true})
	if err != nil {
		t.Fatal(err)
	}
	id := hex.EncodeToString(file.BuildID())
	file.Close()
	const base = 0xffffffffc0a00000
	m := Mapping{Kind: mapping.Module, File: "[ext4]", BuildID: id, Start: base, Limit: base + 0x10000}
	for _, suffix := range []string{"", ".xz"} {
		root := t.TempDir()
		install(t, ko+suffix, root, "/lib/modules/6.1.0-99-test/kernel/fs/ext4/ext4.ko"+suffix)
		s := New(Options{Root: root, Foreign: true, Release: "6.1.0-99-test"})
		if name, off := functionAt(t, s, m, base+3); name != "ext4_map" || off != 3 {
			t.Errorf("%q: %s+%#x", suffix, name, off)
		}
		s.Close()
	}
}

// TestCodeOfStripped: the code of a program without symbols is found by those of its debug file,
// which is where names find it.
func TestCodeOfStripped(t *testing.T) {
	path, off, id := program(t, waiting, "-DNUMBER=8")
	stripped, debug := strippedCopy(t, path)
	cache := t.TempDir()
	m := Mapping{Kind: mapping.User, File: "/usr/bin/prog", BuildID: id}
	install(t, stripped, cache, filepath.Join(".build-id", id[:2], id[2:], "elf"))
	install(t, debug, cache, filepath.Join(".build-id", id[:2], id[2:], "debug"))
	byID := t.TempDir()
	install(t, stripped, byID, m.File)
	install(t, debug, byID, filepath.Join("/usr/lib/debug/.build-id", id[:2], id[2:]+".debug"))
	linked := t.TempDir()
	livetest.Run(t, "objcopy", "--add-gnu-debuglink="+debug, stripped)
	install(t, stripped, linked, m.File)
	install(t, debug, linked, filepath.Join("/usr/bin/.debug", filepath.Base(debug)))
	for name, o := range map[string]Options{
		"by build id":     {Root: byID},
		"by link":         {Root: linked},
		"in perf's cache": {Root: t.TempDir(), BuildIDCache: cache},
	} {
		o.Foreign = true
		s := New(o)
		if function, _ := functionAt(t, s, m, off); function != "f" {
			t.Errorf("%s: the code is of %q", name, function)
		}
		s.Close()
	}
}

// TestCodeOfPrograms: the file has to be the one that was recorded.
func TestCodeOfPrograms(t *testing.T) {
	path, id, addrs := miniature(t)
	s := New(Options{Foreign: true, Root: filepath.Dir(path)})
	defer s.Close()
	m := Mapping{Kind: mapping.User, File: "/vmlinux", BuildID: id}
	code, err := s.Code(m)
	if err != nil {
		t.Fatal(err)
	}
	file, err := elfsym.Open(path, elfsym.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	off, ok := file.Offset(addrs["main"])
	if !ok {
		t.Fatal("main is nowhere")
	}
	if name, at := functionAt(t, s, m, off+1); name != "main" || at != 1 {
		t.Errorf("%s+%#x", name, at)
	}
	if code.Path != path {
		t.Errorf("%s, want %s", code.Path, path)
	}
	m.BuildID = "00112233445566778899aabbccddeeff00112233"
	var wrong *BuildIDError
	if _, err := s.Code(m); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
	if _, err := s.Code(Mapping{Kind: mapping.User, File: "/none", BuildID: id}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := New(Options{Foreign: true}).Code(Mapping{Kind: mapping.User, File: path}); !errors.Is(err, ErrForeign) {
		t.Errorf("%v", err)
	}
	if _, err := s.Code(Mapping{Kind: mapping.BPF, File: "bpf_prog"}); !errors.Is(err, ErrNoCodeFile) {
		t.Errorf("%v", err)
	}
}

// TestCodeOfServers: a server is asked for the file of a program that is not here, and for no other.
func TestCodeOfServers(t *testing.T) {
	path, id, _ := miniature(t)
	asked := "/buildid/" + id + "/executable"
	web, url := serve(t, map[string]string{asked: path})
	for file, want := range map[string]int{path: 0, "/none": 1} {
		web.asked = map[string]int{}
		s := New(Options{Foreign: true, DebuginfodURLs: []string{url}})
		code, err := s.Code(Mapping{Kind: mapping.User, File: file, BuildID: id})
		if err != nil {
			t.Fatal(err)
		}
		if n := web.asked[asked]; n != want || (code.Path == path) != (want == 0) {
			t.Errorf("%s: the code is in %s, for which the server was asked %d times", file, code.Path, n)
		}
		s.Close()
	}
}
