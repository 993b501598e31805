package symbolize

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
)

// miniature compiles testdata/kernel.c, and returns the file, its build id, and
// the addresses of its symbols.
func miniature(t testing.TB, flags ...string) (path, id string, addrs map[string]uint64) {
	t.Helper()
	livetest.RequirePrograms(t, "gcc")
	path = filepath.Join(t.TempDir(), "vmlinux")
	livetest.Run(t, "gcc", append([]string{"-O2", "-g", "-nostdlib", "-Wl,-e,main", "-Wl,--build-id", "-o", path, "testdata/kernel.c"}, flags...)...)
	addrs = map[string]uint64{}
	for _, s := range elfSymbols(t, path) {
		addrs[s.Name] = s.Value
	}
	file, err := elfsym.Open(path, elfsym.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return path, hex.EncodeToString(file.BuildID()), addrs
}

// place copies a file below root.
func install(t testing.TB, file, root, path string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	livetest.WriteFile(t, to, data)
}

// chain resolves one address, and writes its frames as "name file:line".
func chain(t testing.TB, s *Symbolizer, m Mapping, addr uint64) (string, error) {
	t.Helper()
	frames, err := s.Resolve(context.Background(), m, []uint64{addr})
	var b strings.Builder
	for _, f := range frames[0] {
		fmt.Fprintf(&b, "%s %s:%d from %d\n", f.Name, filepath.Base(f.File), f.Line, f.StartLine)
	}
	return b.String(), err
}

func TestVmlinux(t *testing.T) {
	for _, test := range []struct {
		name  string
		flags []string
	}{
		{"fixed", []string{"-static", "-no-pie", "-Wl,-Ttext-segment=0x81000000"}},
		{"ET_DYN", []string{"-static-pie"}},
	} {
		path, id, addrs := miniature(t, test.flags...)
		for _, shift := range []uint64{0, 0x1e00000, 1<<64 - 0x10000} {
			for _, start := range []string{"_text", "_stext"} {
				m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: start, BuildID: id, Offset: addrs[start] + shift}
				addr := addrs["vfs_read"] + shift + 6
				for _, want := range []struct {
					opts Options
					text string
				}{
					// Both names are of one address; the kernel says the one with more underscores.
					{Options{}, "__se_sys_read .:0 from 0\n"},
					{Options{Lines: true}, "__se_sys_read kernel.c:19 from 17\n"},
					{Options{Inline: true}, "fdget kernel.c:8 from 5\n__se_sys_read kernel.c:19 from 17\n"},
				} {
					want.opts.Vmlinux, want.opts.Foreign = path, true
					s := New(want.opts)
					if got, err := chain(t, s, m, addr); got != want.text || err != nil {
						t.Errorf("%s, moved by %#x: %v, got\n%swant\n%s", test.name, shift, err, got, want.text)
					}
					if got, err := chain(t, s, m, addrs["_text"]+shift-1<<20); got != "" {
						t.Errorf("%s: outside: %s %v", test.name, got, err)
					}
					s.Close()
				}
			}
		}
	}
}

func TestVmlinuxOfAnotherBuild(t *testing.T) {
	path, id, addrs := miniature(t)
	other := "00112233445566778899aabbccddeeff00112233"
	m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", BuildID: other, Offset: addrs["_text"]}

	s := New(Options{Vmlinux: path, Foreign: true})
	_, err := chain(t, s, m, addrs["vfs_write"])
	var wrong *BuildIDError
	if !errors.As(err, &wrong) || *wrong != (BuildIDError{path, other, id}) {
		t.Errorf("error %v, want both build ids", err)
	}
	s.Close()

	s = New(Options{Vmlinux: path, Foreign: true, Force: true})
	for range 2 {
		if got, err := chain(t, s, m, addrs["vfs_write"]); !strings.HasPrefix(got, "vfs_write ") || err != nil {
			t.Errorf("forced: %q, %v", got, err)
		}
	}
	if o := s.Overridden(); len(o) != 1 || *o[0] != (BuildIDError{path, other, id}) {
		t.Errorf("overridden: %v", o)
	}
	s.Close()

	s = New(Options{Vmlinux: path, Foreign: true})
	defer s.Close()
	m.BuildID, m.Offset = id, 0
	if got, err := chain(t, s, m, addrs["vfs_write"]); got != "" || !errors.Is(err, errUnplaced) {
		t.Errorf("moved nobody knows how far: %q, %v", got, err)
	}
	for _, path := range []string{"/none", "/", "testdata/kernel.c"} {
		s := New(Options{Vmlinux: path, Foreign: true})
		if _, err := chain(t, s, m, 1); err == nil {
			t.Errorf("%s taken for a vmlinux", path)
		}
		s.Close()
	}
}

// TestBootImage: a bzImage is known for what it is, the recorded kernel or
// another, and is refused for having no symbols.
func TestBootImage(t *testing.T) {
	path, id, addrs := miniature(t)
	vmlinux, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(vmlinux); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	// Documentation/arch/x86/boot.rst: one sector of setup code, then the payload.
	image := make([]byte, 2*512)
	image[0x1f1] = 1
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint32(image[0x24c:], uint32(packed.Len()))
	vmlinuz := filepath.Join(t.TempDir(), "vmlinuz")
	livetest.WriteFile(t, vmlinuz, append(image, packed.Bytes()...))
	other := "00112233445566778899aabbccddeeff00112233"
	for _, tt := range []struct {
		recorded string
		want     error
	}{
		{id, &BootImageError{vmlinuz, "bzImage", id}},
		{"", &BootImageError{vmlinuz, "bzImage", id}},
		{other, &BuildIDError{vmlinuz, other, id}},
	} {
		s := New(Options{Vmlinux: vmlinuz, Foreign: true, Force: true})
		m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", BuildID: tt.recorded, Offset: addrs["_text"]}
		got, err := chain(t, s, m, addrs["vfs_read"])
		var given *VmlinuxError
		if got != "" || !errors.As(err, &given) || given.Error() != tt.want.Error() {
			t.Errorf("recorded %q: %q, %v, want %v", tt.recorded, got, err, tt.want)
		}
		s.Close()
	}
}

// TestWithoutLines: names are there, lines are not, and why is told, only where
// they are wanted.
func TestWithoutLines(t *testing.T) {
	path, id, addrs := miniature(t)
	stripped, debug := path+".stripped", path+".debug"
	livetest.Run(t, "objcopy", "--only-keep-debug", path, debug)
	livetest.Run(t, "strip", "--strip-debug", "-o", stripped, path)
	kernel := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", BuildID: id, Offset: addrs["_text"]}
	names := func() Options {
		return Options{Foreign: true, Kallsyms: strings.NewReader(fmt.Sprintf("%x T _text\n%x T vfs_read\n", addrs["_text"], addrs["vfs_read"]))}
	}
	for _, tt := range []struct {
		name string
		opts Options
		want error
	}{
		{"not wanted", Options{Foreign: true, Vmlinux: stripped}, nil},
		{"stripped of them", Options{Foreign: true, Vmlinux: stripped, Lines: true}, elfsym.ErrNoDebugInfo},
		{"there", Options{Foreign: true, Vmlinux: path, Lines: true}, nil},
		{"no vmlinux", func() Options { o := names(); o.Root, o.Lines = t.TempDir(), true; return o }(), fs.ErrNotExist},
		{"no vmlinux, not wanted", names(), nil},
	} {
		s := New(tt.opts)
		got, err := chain(t, s, kernel, addrs["vfs_read"])
		var e *Error
		switch {
		case !strings.Contains(got, "read "):
			t.Errorf("%s: no name: %q, %v", tt.name, got, err)
		case tt.want == nil && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != nil && (!errors.As(err, &e) || e.Err != nil || !errors.Is(e.Debug, tt.want)):
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		s.Close()
	}
}

func TestVmlinuxIsFound(t *testing.T) {
	path, id, addrs := miniature(t)
	decoy, _, _ := miniature(t, "-DDECOY", "-O1")
	m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", BuildID: id, Offset: addrs["_text"]}
	const rel = "6.1.0-99-test"
	for _, where := range []string{
		"/usr/lib/debug/lib/modules/" + rel + "/vmlinux",
		"/usr/lib/debug/boot/vmlinux-" + rel,
		"/boot/vmlinux-" + rel,
		"/boot/vmlinux-5.10.0-other",
		"/lib/modules/" + rel + "/build/vmlinux",
		"/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug",
	} {
		root := t.TempDir()
		install(t, decoy, root, "/boot/vmlinux-"+rel+"-decoy")
		install(t, decoy, root, "/boot/vmlinux")
		install(t, path, root, where)
		s := New(Options{Root: root, Foreign: true, Release: rel, Inline: true})
		if got, err := chain(t, s, m, addrs["vfs_read"]+6); !strings.HasPrefix(got, "fdget ") || err != nil {
			t.Errorf("%s: %q, %v", where, got, err)
		}
		s.Close()
	}
	cache := t.TempDir()
	install(t, path, cache, "/.build-id/"+id[:2]+"/"+id[2:]+"/vmlinux")
	s := New(Options{Root: t.TempDir(), BuildIDCache: cache, Foreign: true})
	defer s.Close()
	if got, err := chain(t, s, m, addrs["vfs_read"]); got == "" || err != nil {
		t.Errorf("perf's cache: %q, %v", got, err)
	}

	root := t.TempDir()
	install(t, decoy, root, "/boot/vmlinux-"+rel)
	s = New(Options{Root: root, Foreign: true, Release: rel})
	defer s.Close()
	var wrong *BuildIDError
	if got, err := chain(t, s, m, addrs["vfs_read"]); got != "" || !errors.As(err, &wrong) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrForeign) {
		t.Errorf("only another kernel's: %q, %v", got, err)
	}
}

// TestInlineFramesBesideKallsyms takes names from kallsyms and the rest from the
// vmlinux, where both were moved by different amounts.
func TestInlineFramesBesideKallsyms(t *testing.T) {
	path, id, addrs := miniature(t)
	root := t.TempDir()
	install(t, path, root, "/boot/vmlinux-x")
	const booted, recorded = 0x40000000, 0x90000000
	var text strings.Builder
	for _, name := range []string{"_text", "_stext", "vfs_read", "vfs_write"} {
		fmt.Fprintf(&text, "%x T %s\n", addrs[name]+booted, name)
	}
	fmt.Fprintf(&text, "%x t only_here\n%x t bpf_prog_x\t[bpf]\n", uint64(0xa0000000), uint64(0xa0001000))
	m := Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_stext", BuildID: id, Offset: addrs["_stext"] + recorded}
	for _, given := range []string{"", path} {
		s := New(Options{Root: root, Foreign: true, Inline: true, Vmlinux: given, Kallsyms: strings.NewReader(text.String())})
		name := "vfs_read"
		if given != "" {
			name = "__se_sys_read"
		}
		want := "fdget kernel.c:8 from 5\n" + name + " kernel.c:19 from 17\n"
		if got, err := chain(t, s, m, addrs["vfs_read"]+recorded+6); got != want || err != nil {
			t.Errorf("%v, got\n%swant\n%s", err, got, want)
		}
		if got, err := chain(t, s, m, 0xa0000000+recorded-booted); !strings.HasPrefix(got, "only_here ") {
			t.Errorf("only in kallsyms: %q, %v", got, err)
		}
		// Modules and programs do not move with the kernel.
		if got, err := chain(t, s, m, 0xa0001000+recorded-booted); strings.Contains(got, "bpf_prog_x") {
			t.Errorf("of another boot: %q, %v", got, err)
		}
		s.Close()
	}
}

func TestModule(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "ld", "objcopy", "strip", "xz", "gzip", "zstd")
	dir := t.TempDir()
	object, ko := filepath.Join(dir, "m.o"), filepath.Join(dir, "ext4.ko")
	livetest.Run(t, "gcc", "-O2", "-g", "-c", "-ffreestanding", "-fno-pie", "-o", object, "testdata/module.c")
	livetest.Run(t, "ld", "-r", "--build-id", "-o", ko, object)
	debug, stripped := ko+".debug", filepath.Join(dir, "stripped.ko")
	livetest.Run(t, "objcopy", "--only-keep-debug", ko, debug)
	livetest.Run(t, "strip", "--strip-debug", "-o", stripped, ko)
	file, err := elfsym.Open(ko, elfsym.Options{Module: true})
	if err != nil {
		t.Fatal(err)
	}
	id := hex.EncodeToString(file.BuildID())
	file.Close()
	packed := map[string]string{"": ko}
	for suffix, command := range map[string][]string{".xz": {"xz", "-kc"}, ".gz": {"gzip", "-kc"}, ".zst": {"zstd", "-qc"}} {
		packed[suffix] = ko + suffix
		livetest.WriteFile(t, ko+suffix, livetest.Run(t, command[0], append(command[1:], ko)...))
	}

	// Where the kernel has the functions: .text first, then .text.unlikely.
	addrs := map[string]uint64{"ext4_map": 0, "ext4_error": 0}
	f, err := elf.Open(ko)
	if err != nil {
		t.Fatal(err)
	}
	text := f.Section(".text")
	unlikely := f.Section(".text.unlikely")
	f.Close()
	addrs["ext4_error"] = (text.Size + unlikely.Addralign - 1) &^ (unlikely.Addralign - 1)

	const base = 0xffffffffc0a00000
	m := Mapping{Kind: mapping.Module, File: "[ext4]", BuildID: id, Start: base, Limit: base + 0x10000}
	inlined := map[string]string{
		"ext4_map":   "ext4_journal module.c:6 from 4\next4_map module.c:12 from 10\n",
		"ext4_error": "ext4_journal module.c:6 from 4\next4_error module.c:17 from 15\n",
	}
	const rel = "6.1.0-99-test"
	tree := "/lib/modules/" + rel + "/kernel/fs/ext4/ext4.ko"
	tests := []struct {
		name, file, at string
		m              Mapping
		lines          bool
	}{
		{"debug tree by build id", debug, "/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug", m, true},
		{"debug tree by name", debug, "/usr/lib/debug" + tree + ".debug", m, true},
		{"debug tree by name, whole", ko, "/usr/lib/debug" + tree, m, true},
		{"stripped", stripped, tree, m, false},
	}
	for suffix, file := range packed {
		tests = append(tests, struct {
			name, file, at string
			m              Mapping
			lines          bool
		}{"modules" + suffix, file, tree + suffix, m, true})
	}
	recorded := m
	recorded.File = "/opt/ext4.ko"
	tests = append(tests, struct {
		name, file, at string
		m              Mapping
		lines          bool
	}{"recorded path", ko, "/opt/ext4.ko", recorded, true})
	for _, test := range tests {
		root := t.TempDir()
		install(t, test.file, root, test.at)
		for _, inline := range []bool{false, true} {
			s := New(Options{Root: root, Foreign: true, Release: rel, Inline: inline})
			for name, addr := range addrs {
				want := name + " .:0 from 0\n"
				if inline && test.lines {
					want = inlined[name]
				}
				got, err := chain(t, s, test.m, base+addr+3)
				var e *Error
				if inline && !test.lines && errors.As(err, &e) && e.Err == nil && errors.Is(e.Debug, elfsym.ErrNoDebugInfo) {
					err = nil
				}
				if got != want || err != nil {
					t.Errorf("%s, inline %v: %v, got\n%swant\n%s", test.name, inline, err, got, want)
				}
			}
			s.Close()
		}
		s := New(Options{Root: root, Foreign: true, Release: rel})
		m := test.m
		m.BuildID = "00112233445566778899aabbccddeeff00112233"
		if got, err := chain(t, s, m, base); got != "" || err == nil {
			t.Errorf("%s, another build: %q, %v", test.name, got, err)
		}
		s.Close()
	}
}

// TestModuleBehindStubs: the kernel decides when it loads a module how much room its stubs take, which
// arm64 has in front of .text. Where its functions are, the kernel's symbols tell.
func TestModuleBehindStubs(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "ld")
	const base, stubs, rel = 0xffffffffc0a00000, 0x140, "6.1.0-99-test"
	root := t.TempDir()
	ko := filepath.Join(root, "/lib/modules", rel, "ext4.ko")
	if err := os.MkdirAll(filepath.Dir(ko), 0o777); err != nil {
		t.Fatal(err)
	}
	livetest.KernelModule(t, "testdata/module.c", ko)
	file := livetest.Open(t, elf.Open, ko)
	text, unlikely := file.Section(".text"), file.Section(".text.unlikely")
	addrs := map[string]uint64{
		"ext4_map":   base + stubs,
		"ext4_error": (base + stubs + text.Size + unlikely.Addralign - 1) &^ (unlikely.Addralign - 1),
	}
	symbols := fmt.Sprintf("ffffffff81000000 T _text\nffffffffc09ff000 t ext4_map\t[other]\n%x t ext4_map\t[ext4]\n%x t ext4_error\t[ext4]\n",
		addrs["ext4_map"], addrs["ext4_error"])
	opened, err := elfsym.Open(ko, elfsym.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id := hex.EncodeToString(opened.BuildID())
	opened.Close()
	s := New(Options{Root: root, Foreign: true, Release: rel, Inline: true, Kallsyms: strings.NewReader(symbols)})
	defer s.Close()
	m := Mapping{Kind: mapping.Module, File: "[ext4]", BuildID: id, Start: base, Limit: base + 0x10000}
	for name, want := range map[string]string{
		"ext4_map":   "ext4_journal module.c:6 from 4\next4_map module.c:12 from 10\n",
		"ext4_error": "ext4_journal module.c:6 from 4\next4_error module.c:17 from 15\n",
	} {
		if got, err := chain(t, s, m, addrs[name]+3); got != want || err != nil {
			t.Errorf("%v, got\n%swant\n%s", err, got, want)
		}
	}
}

func TestCompressedBomb(t *testing.T) {
	livetest.RequirePrograms(t, "gzip")
	path := filepath.Join(t.TempDir(), "ext4.ko.gz")
	raw := strings.TrimSuffix(path, ".gz")
	livetest.WriteFile(t, raw, bytes.Repeat([]byte{0}, 1<<26))
	livetest.Run(t, "gzip", "-9", raw)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elfsym.FromCompressed(f, path, elfsym.Options{}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("error %v", err)
	}
}
