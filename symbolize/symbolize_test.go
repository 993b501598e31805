package symbolize

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/perfevent/procfs"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
)

// nobody is the number of a process that there is not.
const nobody = 1 << 30

func write(t *testing.T, path, text string) {
	t.Helper()
	livetest.WriteFile(t, path, text)
}

// names resolves addresses, and joins the names at each.
func names(t *testing.T, s *Symbolizer, m Mapping, addrs ...uint64) ([]string, error) {
	t.Helper()
	frames, err := s.Resolve(context.Background(), m, addrs)
	if len(frames) != len(addrs) {
		t.Fatalf("Resolve of %d addresses gives %d", len(addrs), len(frames))
	}
	var wrapped *Error
	if err != nil && (!errors.As(err, &wrapped) || wrapped.Mapping != m) {
		t.Errorf("error %v is no *Error of the mapping", err)
	}
	out := make([]string, len(frames))
	for i, list := range frames {
		for j, f := range list {
			if j > 0 {
				out[i] += " "
			}
			out[i] += f.Name
		}
	}
	return out, err
}

// program compiles C source; it returns the path, and offset and build id of
// function f.
func program(t *testing.T, source string, flags ...string) (path string, off uint64, id string) {
	t.Helper()
	livetest.RequirePrograms(t, "gcc", "nm")
	dir := t.TempDir()
	src := filepath.Join(dir, "prog.c")
	livetest.WriteFile(t, src, source)
	path = filepath.Join(dir, "prog")
	livetest.Run(t, "gcc", append([]string{"-O1", "-w", "-Wl,--build-id", "-o", path, src}, flags...)...)
	file, err := elfsym.Open(path, elfsym.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for line := range strings.Lines(string(livetest.Run(t, "nm", path))) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[2] == "f" {
			vaddr, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			off, _ = file.Offset(vaddr)
		}
	}
	return path, off, hex.EncodeToString(file.BuildID())
}

const waiting = `#include <unistd.h>
int f(int n) { return n + NUMBER; }
int main(int c, char **v) { if (c > 1) { write(1, "x", 1); pause(); } return f(c) == 0; }`

// TestLongBuildID: a program with a build id of 32 or 64 bytes is known by the 20 that
// perf.data has room for, and by all of them.
func TestLongBuildID(t *testing.T) {
	for _, size := range []int{21, 32, 64} {
		path, off, id := program(t, waiting, "-DNUMBER=1", "-Wl,--build-id=0x"+strings.Repeat("a7", size))
		if len(id) != 2*size {
			t.Fatalf("build id %s, not of %d bytes", id, size)
		}
		for recorded, want := range map[string]string{
			id: "f", id[:40]: "f", strings.ToUpper(id[:40]): "f",
			id[:38]: "", id[:39] + "0": "", id[:42] + "00": map[bool]string{true: "f"}[size == 21],
		} {
			s := New(Options{})
			got, err := names(t, s, Mapping{Kind: mapping.User, File: path, BuildID: recorded}, off)
			var wrong *BuildIDError
			if got[0] != want || errors.As(err, &wrong) != (want == "") {
				t.Errorf("%d bytes, recorded %s: %q, %v", size, recorded, got[0], err)
			}
			s.Close()
		}
	}
}

func TestUserFile(t *testing.T) {
	path, off, id := program(t, waiting, "-DNUMBER=1")
	_, _, otherID := program(t, waiting, "-DNUMBER=2")
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	livetest.MakeFIFO(t, fifo)
	text := filepath.Join(dir, "text")
	livetest.WriteFile(t, text, bytes.Repeat([]byte("x"), 100))
	tests := []struct {
		name    string
		m       Mapping
		want    string
		wantErr error // nil for any when want is empty
	}{
		{"by path", Mapping{File: path}, "f", nil},
		{"by path and build id", Mapping{File: path, BuildID: id}, "f", nil},
		{"build id padded by perf", Mapping{File: path, BuildID: strings.ToUpper(id) + "000000"}, "f", nil},
		{"of a process gone", Mapping{File: path, BuildID: id, PID: 1 << 30}, "f", nil},
		{"deleted, but there by build id", Mapping{File: path + " (deleted)", BuildID: id}, "f", nil},
		{"deleted, and something there", Mapping{File: path + " (deleted)"}, "", fs.ErrNotExist},
		{"another build", Mapping{File: path, BuildID: otherID}, "", nil},
		{"nothing", Mapping{File: path + "x"}, "", fs.ErrNotExist},
		{"no path", Mapping{}, "", fs.ErrNotExist},
		{"relative path", Mapping{File: "user.go"}, "", fs.ErrNotExist},
		{"a FIFO", Mapping{File: fifo}, "", ErrNotRegular},
		{"a device", Mapping{File: "/dev/zero"}, "", ErrNotRegular},
		{"a directory", Mapping{File: dir}, "", ErrNotRegular},
		{"no ELF file", Mapping{File: text}, "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.m.Kind = mapping.User
			s := New(Options{})
			defer s.Close()
			got, err := names(t, s, test.m, off, 1<<40)
			if got[0] != test.want || got[1] != "" {
				t.Errorf("names %q, want %q (%v)", got, test.want, err)
			}
			if (err == nil) != (test.want != "") || test.wantErr != nil && !errors.Is(err, test.wantErr) {
				t.Errorf("error %v, want %v", err, test.wantErr)
			}
			if test.name != "another build" {
				return
			}
			var wrong *BuildIDError
			if !errors.As(err, &wrong) || wrong.Recorded != otherID || wrong.Found != id || wrong.Path != path {
				t.Errorf("error %v does not name both builds", err)
			}
		})
	}
}

// start runs a program that waits, and returns its process.
func start(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(path, "wait")
	livetest.StartWaiting(t, cmd)
	return cmd
}

// TestReplacedFile resolves a program whose file was removed, and then replaced
// by another, while it runs.
func TestReplacedFile(t *testing.T) {
	path, off, id := program(t, waiting, "-DNUMBER=1")
	other, _, _ := program(t, waiting, "-DNUMBER=2", "-Df=g")
	pid := start(t, path).Process.Pid
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := Mapping{Kind: mapping.User, File: path, PID: pid}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "r-xp") && strings.HasSuffix(line, path+"\n") {
			if _, err := fmt.Sscanf(line, "%x-%x r-xp %x", &m.Start, &m.Limit, &m.Offset); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Start, m.Limit)
	if f, err := os.Open(link); err != nil {
		t.Skipf("needs to open %s: %v", link, err)
	} else {
		f.Close()
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"removed", "replaced"} {
		for _, m.BuildID = range []string{"", id} {
			s := New(Options{})
			if got, err := names(t, s, m, off); got[0] != "f" || err != nil {
				t.Errorf("%s, build id %q: name %q (%v), want f", state, m.BuildID, got[0], err)
			}
			s.Close()
			s = New(Options{Foreign: true})
			m := m
			m.BuildID = id
			if got, err := names(t, s, m, off); got[0] != "" || err == nil {
				t.Errorf("%s, foreign: name %q (%v), want an error", state, got[0], err)
			}
			s.Close()
		}
		if err := os.WriteFile(path, data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRootAndBuildIDCache(t *testing.T) {
	path, off, id := program(t, waiting, "-DNUMBER=3")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(dir, name string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, file, data)
		return dir
	}
	cache := put(t.TempDir(), filepath.Join(".build-id", id[:2], id[2:], "elf"))
	root := put(t.TempDir(), "/opt/prog")
	m := Mapping{Kind: mapping.User, File: "/opt/prog", BuildID: id}
	for _, test := range []struct {
		opts Options
		want string
	}{
		{Options{}, ""},
		{Options{Root: root}, "f"},
		{Options{Root: t.TempDir()}, ""},
		{Options{BuildIDCache: cache}, "f"},
		{Options{BuildIDCache: cache, Root: t.TempDir(), Foreign: true}, "f"},
	} {
		s := New(test.opts)
		if got, err := names(t, s, m, off); got[0] != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%+v: name %q (%v), want %q", test.opts, got[0], err, test.want)
		}
		s.Close()
	}
}

func TestStripped(t *testing.T) {
	path, off, id := program(t, waiting, "-DNUMBER=4", "-rdynamic")
	livetest.Run(t, "strip", path)
	m := Mapping{Kind: mapping.User, File: path, BuildID: id}
	s := New(Options{})
	defer s.Close()
	if got, err := names(t, s, m, off); got[0] != "f" || err != nil {
		t.Errorf("exported function: %q (%v)", got[0], err)
	}
	// What .dynsym does not name is missing, and the reason told.
	if got, err := names(t, s, m, off, 0); got[0] != "f" || got[1] != "" || !errors.Is(err, ErrStripped) {
		t.Errorf("with an unknown address: %q (%v), want %v", got, err, ErrStripped)
	}
}

const kernelText = "ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff81000100 T vfs_read\n" +
	"ffffffff81000200 T vfs_write\nffffffffc0000000 t ext4_map\t[ext4]\nffffffffc0000100 t ext4_end\t[ext4]\n" +
	"ffffffffc0100000 t bpf_prog_1234_x\t[bpf]\n"

func TestKernel(t *testing.T) {
	tests := []struct {
		name string
		m    Mapping
		addr uint64
		want string
	}{
		{"kernel", Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text"}, 0xffffffff81000110, "vfs_read"},
		{"kernel where it was recorded", Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", Offset: 0xffffffff81000000}, 0xffffffff81000110, "vfs_read"},
		{"kernel of another boot", Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", Offset: 0xffffffff9e000000}, 0xffffffff9e000210, "vfs_write"},
		{"kernel by _stext", Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_stext", Offset: 0xffffffff71000000}, 0xffffffff71000110, "vfs_read"},
		{"module", Mapping{Kind: mapping.Module, File: "[ext4]"}, 0xffffffffc0000010, "ext4_map"},
		{"module by file", Mapping{Kind: mapping.Module, File: "/lib/modules/6.1/fs/ext4.ko.xz"}, 0xffffffffc0000010, "ext4_map"},
		{"another module was there", Mapping{Kind: mapping.Module, File: "[xfs]"}, 0xffffffffc0000010, ""},
		{"announced symbol", Mapping{Kind: mapping.BPF, File: "bpf_prog_77_y"}, 0xffffffffc0100010, "bpf_prog_77_y"},
		{"bpf program from kallsyms", Mapping{Kind: mapping.BPF}, 0xffffffffc0100010, "bpf_prog_1234_x"},
		{"past the end", Mapping{Kind: mapping.Kernel}, 0xffffffffc0300000, ""},
		{"build id of the kernel is not asked of a given table", Mapping{Kind: mapping.Kernel, BuildID: "abcd"}, 0xffffffff81000110, "vfs_read"},
	}
	path := filepath.Join(t.TempDir(), "kallsyms")
	livetest.WriteFile(t, path, kernelText)
	for _, test := range tests {
		for _, opts := range []Options{{Kallsyms: strings.NewReader(kernelText), Foreign: true}, {KallsymsPath: path}} {
			s := New(opts)
			if got, err := names(t, s, test.m, test.addr); got[0] != test.want || err != nil {
				t.Errorf("%s: %q (%v), want %q", test.name, got[0], err, test.want)
			}
			s.Close()
		}
	}
}

func TestKernelUnavailable(t *testing.T) {
	zero := strings.NewReader("0000000000000000 T _text\n0000000000000000 T f\n")
	for _, test := range []struct {
		name string
		opts Options
		m    Mapping
		want error
	}{
		{"hidden", Options{Kallsyms: zero}, Mapping{Kind: mapping.Kernel}, ErrRestricted},
		{"no file", Options{KallsymsPath: "/none"}, Mapping{Kind: mapping.Kernel}, fs.ErrNotExist},
		{"a directory", Options{KallsymsPath: "/"}, Mapping{Kind: mapping.Kernel}, ErrNotRegular},
		{"other machine", Options{Foreign: true}, Mapping{Kind: mapping.Kernel}, ErrForeign},
		{"other machine's module", Options{Foreign: true}, Mapping{Kind: mapping.Module, File: "[x]"}, ErrForeign},
		{"other boot", Options{}, Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", Offset: 0x1234000}, ErrForeign},
		{"other machine's file", Options{Foreign: true}, Mapping{Kind: mapping.User, File: "/proc/self/exe"}, ErrForeign},
		{"other vdso", Options{Foreign: true}, Mapping{Kind: mapping.VDSO}, ErrForeign},
		{"other map", Options{Foreign: true}, Mapping{Kind: mapping.Anon, PID: 1}, ErrForeign},
		{"heap", Options{}, Mapping{Kind: mapping.Unknown}, ErrNoSymbols},
		{"anonymous memory of nobody", Options{}, Mapping{Kind: mapping.Anon}, ErrNoSymbols},
	} {
		s := New(test.opts)
		got, err := names(t, s, test.m, 0xffffffff81000110)
		if errors.Is(err, ErrRestricted) && test.opts.Kallsyms == nil {
			t.Logf("%s: this machine hides its kernel symbols", test.name)
		} else if got[0] != "" || !errors.Is(err, test.want) {
			t.Errorf("%s: %q (%v), want %v", test.name, got[0], err, test.want)
		}
		s.Close()
	}
}

func TestKernelBuildID(t *testing.T) {
	livetest.UseMachine(t) // which may hide the kernel's symbols
	if _, err := os.ReadFile(sysfs + "/" + procfs.KernelNotes); err != nil {
		t.Skipf("needs the kernel's notes: %v", err)
	}
	id := ownBuildID(procfs.KernelNotes)
	if id == "" {
		t.Fatalf("no build id in %s", procfs.KernelNotes)
	}
	s := New(Options{})
	defer s.Close()
	_, err := names(t, s, Mapping{Kind: mapping.Kernel, BuildID: "0123456789abcdef0123456789abcdef01234567"}, 1)
	var wrong *BuildIDError
	if !errors.As(err, &wrong) || wrong.Found != id {
		t.Errorf("error %v, want a wrong build id, found %s", err, id)
	}
	if _, err := names(t, s, Mapping{Kind: mapping.Kernel, BuildID: id}, 1); err != nil {
		t.Error(err)
	}
}

func TestVDSO(t *testing.T) {
	file, err := ownVDSO()
	if errors.Is(err, errNoVDSO) {
		t.Skip("needs a vdso")
	} else if err != nil {
		t.Fatal(err)
	}
	var off uint64
	for o := range uint64(1 << 14) {
		if sym, ok := file.LookupOffset(o); ok && strings.HasSuffix(sym.Name, "clock_gettime") {
			off = o
		}
	}
	if off == 0 {
		t.Fatal("the vdso has no clock_gettime")
	}
	id := hex.EncodeToString(file.BuildID())
	s := New(Options{})
	defer s.Close()
	for _, buildID := range []string{"", id} {
		got, err := names(t, s, Mapping{Kind: mapping.VDSO, File: "[vdso]", BuildID: buildID}, off, 0)
		if !strings.HasSuffix(got[0], "clock_gettime") || err != nil {
			t.Errorf("build id %q: %q (%v)", buildID, got, err)
		}
	}
	if strconv.IntSize == 64 {
		narrow := Mapping{Kind: mapping.VDSO, File: "[vdso]", BuildID: id, Start: 0xf7fc1000, Limit: 0xf7fc3000}
		if got, err := names(t, s, narrow, off); got[0] != "" || !errors.Is(err, errNarrowVDSO) {
			t.Errorf("that of a program of 32 bits: %q (%v)", got, err)
		}
	}
	// One of another kernel, of which perf keeps a copy.
	contents, err := file.Contents()
	if err != nil {
		t.Fatal(err)
	}
	image, err := io.ReadAll(contents)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(image, file.BuildID())
	image[at]++
	other := hex.EncodeToString(image[at : at+len(file.BuildID())])
	cache := t.TempDir()
	kept := filepath.Join(cache, ".build-id", other[:2], other[2:])
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	livetest.WriteFile(t, filepath.Join(kept, "vdso"), image)
	for _, foreign := range []bool{false, true} {
		s := New(Options{BuildIDCache: cache, Foreign: foreign})
		defer s.Close()
		got, err := names(t, s, Mapping{Kind: mapping.VDSO, File: "[vdso]", BuildID: other}, off)
		if !strings.HasSuffix(got[0], "clock_gettime") || err != nil {
			t.Errorf("in perf's cache: %q (%v)", got, err)
		}
	}
	got, err := names(t, s, Mapping{Kind: mapping.VDSO, BuildID: "aabb"}, off)
	var wrong *BuildIDError
	if got[0] != "" || !errors.As(err, &wrong) {
		t.Errorf("another build id: %q (%v)", got, err)
	}
}

func TestResolveConcurrently(t *testing.T) {
	path, off, id := program(t, waiting, "-DNUMBER=5")
	s := New(Options{Kallsyms: strings.NewReader(kernelText)})
	defer s.Close()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			m := Mapping{Kind: mapping.User, File: path}
			if i%2 == 0 {
				m.BuildID = id
			}
			frames, err := s.Resolve(context.Background(), m, []uint64{off})
			if err != nil || len(frames[0]) != 1 || frames[0][0].Name != "f" {
				t.Errorf("frames %v, %v", frames, err)
			}
			frames, err = s.Resolve(context.Background(), Mapping{Kind: mapping.Kernel}, []uint64{0xffffffff81000110})
			if err != nil || len(frames[0]) != 1 || frames[0][0].Name != "vfs_read" {
				t.Errorf("frames %v, %v", frames, err)
			}
		})
	}
	wg.Wait()
	if n := len(s.files.entries); n != 1 {
		t.Errorf("the file was read %d times", n)
	}
}

func TestResolveEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := New(Options{Kallsyms: strings.NewReader(kernelText)})
	if _, err := s.Resolve(ctx, Mapping{Kind: mapping.Kernel}, []uint64{1}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
