package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
	"kprof/perfevent/procfs/procfstest"
)

// build compiles testdata/prog.c.
func build(t testing.TB, flags ...string) string {
	t.Helper()
	livetest.RequirePrograms(t, "gcc")
	path := filepath.Join(t.TempDir(), "prog")
	args := append([]string{"-O1", "-o", path, "testdata/prog.c", "-Wl,--build-id"}, flags...)
	livetest.Run(t, "gcc", args...)
	return path
}

func open(t testing.TB, path string, opts Options) *File {
	t.Helper()
	f, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// layouts are ways to link, each of which places code differently in the file
// and in memory.
var layouts = []struct {
	name  string
	flags []string
}{
	{"pie", nil},
	{"pie in few segments", []string{"-Wl,-z,noseparate-code"}},
	{"fixed", []string{"-no-pie"}},
	{"fixed elsewhere", []string{"-no-pie", "-Wl,-Ttext-segment=0x10000000"}},
	{"fixed in few segments", []string{"-no-pie", "-Wl,-z,noseparate-code"}},
	{"static", []string{"-static"}},
	{"static pie", []string{"-static-pie"}},
	{"prelinked", []string{"-pie", "-Wl,-Ttext-segment=0x3000000000"}},
	{"split sections", []string{"-ffunction-sections", "-Wl,--section-start=.text.far=0x7000000"}},
	{"huge pages", []string{"-Wl,-z,max-page-size=0x200000", "-Wl,-z,noseparate-code"}},
	{"text away", []string{"-no-pie", "-Wl,-Ttext=0x5000040"}},
}

// TestOffsetsOfARunningProgram asks programs themselves where their functions
// are in the file.
func TestOffsetsOfARunningProgram(t *testing.T) {
	for _, layout := range layouts {
		t.Run(layout.name, func(t *testing.T) {
			path := build(t, layout.flags...)
			f := open(t, path, Options{})
			count := 0
			for line := range strings.Lines(livetest.Run(t, path)) {
				var (
					name      string
					addr, off uint64
				)
				if _, err := fmt.Sscanf(line, "%s %x %x", &name, &addr, &off); err != nil {
					t.Fatal(err)
				}
				count++
				for _, o := range []uint64{off, off + 2} {
					sym, ok := f.LookupOffset(o)
					if !ok || sym.Name != name || sym.PLT {
						t.Errorf("LookupOffset(%#x) = %+v, want %s", o, sym, name)
					}
				}
				vaddr, ok := f.Vaddr(off)
				if back, ok2 := f.Offset(vaddr); !ok || !ok2 || back != off {
					t.Errorf("offset %#x has vaddr %#x, and that has offset %#x", off, vaddr, back)
				}
			}
			if count != 6 {
				t.Errorf("program shows %d functions, want 6", count)
			}
		})
	}
}

// TestEveryFunctionOfReadelf looks up each function that readelf lists.
func TestEveryFunctionOfReadelf(t *testing.T) {
	livetest.RequirePrograms(t, "readelf")
	for _, layout := range layouts {
		t.Run(layout.name, func(t *testing.T) {
			path := build(t, layout.flags...)
			f := open(t, path, Options{})
			names := map[uint64]map[string]bool{}
			functions := map[uint64]bool{}
			for line := range strings.Lines(livetest.Run(t, "readelf", "-sW", path)) {
				// Num: Value Size Type Bind Vis Ndx Name
				fields := strings.Fields(line)
				if len(fields) < 8 || fields[6] == "UND" || fields[6] == "ABS" {
					continue
				}
				addr, err := strconv.ParseUint(fields[1], 16, 64)
				if err != nil {
					continue // the heading
				}
				if names[addr] == nil {
					names[addr] = map[string]bool{}
				}
				name, _, _ := strings.Cut(fields[7], "@") // a version
				names[addr][name] = true
				if fields[3] == "FUNC" || fields[3] == "IFUNC" {
					functions[addr] = true
				}
			}
			if len(functions) < 8 {
				t.Fatalf("readelf lists %d functions", len(functions))
			}
			for addr := range functions {
				sym, ok := f.Lookup(addr)
				if !ok || sym.Start != addr || !names[addr][sym.Name] {
					t.Errorf("Lookup(%#x) = %+v, want one of %v", addr, sym, names[addr])
				}
			}
		})
	}
}

// TestFunctionsEndWithTheirSection looks for _init, which has no size, where
// stubs follow its section.
func TestFunctionsEndWithTheirSection(t *testing.T) {
	f := open(t, build(t), Options{})
	for _, name := range []string{".plt", ".plt.got"} {
		sec := f.elf.Section(name)
		if sec == nil {
			t.Fatalf("no section %s", name)
		}
		for addr := sec.Addr; addr < sec.Addr+sec.Size; addr++ {
			if sym, ok := f.Lookup(addr); ok && !sym.PLT {
				t.Fatalf("Lookup(%#x) in %s = %+v", addr, name, sym)
			}
		}
	}
	if sym, ok := f.Lookup(f.elf.Section(".init").Addr); !ok || sym.Name != "_init" {
		t.Errorf("start of .init is %+v", sym)
	}
}

func TestPLTAgainstObjdump(t *testing.T) {
	livetest.RequirePrograms(t, "objdump")
	label := regexp.MustCompile(`(?m)^([0-9a-f]+) <(\w+)@plt>:`)
	for _, flags := range [][]string{
		nil, {"-no-pie"}, {"-Wl,-z,lazy"}, {"-fcf-protection=full", "-Wl,-z,ibtplt", "-Wl,-z,lazy"}, {"-DSIZELESS"},
	} {
		path := build(t, append(flags, "-Wl,-z,norelro", "-Wl,-z,lazy")...)
		if flags != nil && flags[0] == "-DSIZELESS" {
			leaveOutStubSize(t, path)
		}
		f := open(t, path, Options{})
		stubs, got := 0, 0
		for _, m := range label.FindAllStringSubmatch(livetest.Run(t, "objdump", "-d", path), -1) {
			addr, err := strconv.ParseUint(m[1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			stubs++
			if sectionAt(f.elf, addr) == pltGOT {
				got++
			}
			for _, a := range []uint64{addr, addr + 6} {
				if sym, ok := f.Lookup(a); !ok || sym.Name != m[2] || !sym.PLT {
					t.Errorf("%v: Lookup(%#x) = %+v, want %s@plt", flags, a, sym, m[2])
				}
			}
		}
		if stubs < 3 || f.elf.Section(pltGOT) != nil && got == 0 {
			t.Errorf("%v: objdump shows %d stubs, %d of .plt.got", flags, stubs, got)
		}
	}
}

// leaveOutStubSize makes of the section headers of .plt what LLVM's linker writes.
func leaveOutStubSize(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	const size, entsize = 64, 56 // of Elf64_Shdr
	headers := b[f.ByteOrder.Uint64(b[40:]):]
	for i, s := range f.Sections {
		if s.Name == ".plt" {
			f.ByteOrder.PutUint64(headers[size*i+entsize:], 0)
		}
	}
	livetest.WriteFile(t, path, b)
}

// TestPLTOfArm64: stubs are larger where one begins with a landing pad or authenticates where it
// jumps to.
func TestPLTOfArm64(t *testing.T) {
	const nop, bti, adrp, ldr, add, aut, br = 0xd503201f, 0xd503245f, 0x90000010, 0xf9400a11, 0x91004210, 0xd503219f, 0xd61f0220
	header := []uint32{bti, 0xa9bf7bf0, adrp, ldr, add, br, nop, nop}
	for _, test := range []struct {
		stubs []uint32
		size  uint64
	}{
		{[]uint32{adrp, ldr, add, br, adrp, ldr, add, br}, 16},
		{[]uint32{bti, adrp, ldr, add, br, nop, bti, adrp, ldr, add, br, nop}, 24},
		{[]uint32{adrp, ldr, add, aut, br, nop, adrp, ldr, add, aut, br, nop}, 24},
		{[]uint32{bti, adrp, ldr, add, br, nop, adrp, ldr, add, br, nop, nop}, 24},
		{nil, 16},
	} {
		var code []byte
		for _, ins := range append(header[:8:8], test.stubs...) {
			code = binary.LittleEndian.AppendUint32(code, ins)
		}
		if h, stub := stubSize(elf.EM_AARCH64, &elf.Section{}, code); h != 32 || stub != test.size {
			t.Errorf("%x: a header of %d bytes, and stubs of %d, want %d", test.stubs, h, stub, test.size)
		}
	}
}

func sectionAt(f *elf.File, addr uint64) string {
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && addr >= s.Addr && addr-s.Addr < s.Size {
			return s.Name
		}
	}
	return ""
}

// TestAddr2line compares with addr2line, which reads debug information.
func TestAddr2line(t *testing.T) {
	livetest.RequirePrograms(t, "addr2line")
	path := build(t, "-g", "-static")
	f := open(t, path, Options{})
	args := []string{"-f", "-e", path}
	var want []string
	for _, name := range []string{"local", "elsewhere", "main"} {
		for line := range strings.Lines(livetest.Run(t, "nm", path)) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[2] == name {
				args = append(args, "0x"+fields[0])
				want = append(want, fields[0])
			}
		}
	}
	lines := strings.Split(livetest.Run(t, "addr2line", args...), "\n")
	for i, addr := range want {
		vaddr, err := strconv.ParseUint(addr, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if sym, _ := f.Lookup(vaddr); sym.Name != lines[2*i] {
			t.Errorf("Lookup(%s) = %q, addr2line says %q", addr, sym.Name, lines[2*i])
		}
	}
}

func TestBuildID(t *testing.T) {
	livetest.RequirePrograms(t, "readelf")
	for _, flags := range [][]string{nil, {"-Wl,--build-id=md5"}, {"-Wl,--build-id=0xabcdef01"}, {"-Wl,--build-id=0x" + hex.EncodeToString([]byte(procfstest.LongBuildID))}, {"-Wl,--build-id=none"}} {
		path := build(t, flags...)
		want := ""
		if m := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindStringSubmatch(livetest.Run(t, "readelf", "-n", path)); m != nil {
			want = m[1]
		}
		if (want == "") != (len(flags) > 0 && flags[0] == "-Wl,--build-id=none") {
			t.Fatalf("%v: readelf shows build id %q", flags, want)
		}
		if got := hex.EncodeToString(open(t, path, Options{}).BuildID()); got != want {
			t.Errorf("%v: build id %s, readelf says %s", flags, got, want)
		}
	}
}

func TestSettle(t *testing.T) {
	names := strings.Join([]string{"", "foo", "_foo", "foo_longer", "SySx", "sysX", "_Zx"}, "\x00") + "\x00"
	at := func(name string) uint32 { return uint32(strings.Index(names, "\x00"+name+"\x00") + 1) }
	local, global, weak := uint8(elf.STB_LOCAL), uint8(elf.STB_GLOBAL), uint8(elf.STB_WEAK)
	type in struct {
		name       string
		start, end uint64
		bind       uint8
	}
	tests := []struct {
		name string
		in   []in
		want string
	}{
		{"sized before sizeless", []in{{"foo", 16, 16, global}, {"_foo", 16, 20, weak}, {"sysX", 32, 40, local}}, "_foo 16-20, sysX 32-40"},
		{"strong before weak", []in{{"foo_longer", 16, 20, weak}, {"_foo", 16, 20, local}}, "_foo 16-20"},
		{"global before local", []in{{"foo", 16, 20, local}, {"_foo", 16, 20, global}}, "_foo 16-20"},
		{"fewer underscores", []in{{"_foo", 16, 20, global}, {"foo", 16, 20, global}}, "foo 16-20"},
		{"longer name", []in{{"foo", 16, 20, global}, {"foo_longer", 16, 20, global}}, "foo_longer 16-20"},
		{"not SyS", []in{{"SySx", 16, 20, global}, {"sysX", 16, 20, global}}, "sysX 16-20"},
		{"else the first", []in{{"sysX", 16, 20, global}, {"SySx", 16, 20, global}}, "sysX 16-20"},
		{"demangled underscores", []in{{"_foo", 16, 20, global}, {"_Zx", 16, 20, global}}, "_Zx 16-20"},
		{"ends", []in{{"sysX", 100, 100, global}, {"foo", 16, 16, global}, {"SySx", 32, 48, global}}, "foo 16-32, SySx 32-48, sysX 100-8192"},
	}
	for _, test := range tests {
		tab := &table{strings: [2]string{names}}
		l := loader{table: tab, demangle: func(name string) string { return strings.TrimPrefix(name, "_Z") + "demangled" }}
		var syms []symbol
		for _, s := range test.in {
			syms = append(syms, symbol{start: s.start, end: s.end, name: at(s.name), bind: s.bind})
		}
		var got []string
		for _, s := range settle(syms, tab.name, func(name string) string {
			if !strings.HasPrefix(name, "_Z") {
				return name
			}
			return l.readable(name)
		}) {
			got = append(got, fmt.Sprintf("%s %d-%d", tab.name(&s), s.start, s.end))
		}
		if g := strings.Join(got, ", "); g != test.want {
			t.Errorf("%s: %s, want %s", test.name, g, test.want)
		}
	}
}

// TestSettleMembers: aliases of one constructor are told to be that without making their names
// readable, which takes long; others are not.
func TestSettleMembers(t *testing.T) {
	type names struct{ a, b string }
	for same, pairs := range map[bool][]names{
		true: {{"_ZN1AC1Ev", "_ZN1AC2Ev"}, {"_ZN1AD1Ev", "_ZN1AD2Ev"}},
		false: {
			{"_ZN1AD1Ev", "_ZN1AC1Ev"}, {"_ZN2C12C1Ev", "_ZN2C12C2Ei"},
			{"_ZN2C1aEv", "_ZN2C2aEv"}, // it is called so
			{"_ZN2a1Ev", "_ZN2a2Ev"}, {"_ZN3SySC1Ev", "_ZN3SySC2Ev"}, {"_ZN1AC1Ev", "_ZN1AC1Ev"},
			{"foo1", "foo2"}, {"_ZNC1", "_ZNC2"}, {"", ""},
		},
	} {
		for _, x := range pairs {
			names := "\x00" + x.a + "\x00" + x.b + "\x00"
			tab := &table{strings: [2]string{names}}
			asked := false
			got := settle([]symbol{{start: 16, end: 20, name: 1}, {start: 16, end: 20, name: uint32(len(x.a) + 2)}}, tab.name, func(name string) string {
				asked = true
				return name
			})
			if len(got) != 1 || tab.name(&got[0]) != x.a || asked == same {
				t.Errorf("%s, %s: %d symbols, asked for readable names: %v", x.a, x.b, len(got), asked)
			}
		}
	}
}

func FuzzNew(f *testing.F) {
	fuzztest.Add(f)
	for _, flags := range [][]string{nil, {"-no-pie", "-m32"}, {"-c"}, {"-c", "-g"}, {"-g", "-gz"}} {
		if _, err := exec.LookPath("gcc"); err != nil {
			break
		}
		path := filepath.Join(f.TempDir(), "prog")
		args := append([]string{"-O1", "-w", "-o", path, "testdata/prog.c"}, flags...)
		if exec.Command("gcc", args...).Run() != nil {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		defer memtest.Within(t, 32<<20+500*len(data))()
		file, err := New(bytes.NewReader(data), Options{DWARF: true, Module: len(data)%2 == 0})
		if err != nil {
			return
		}
		defer file.Close()
		file.Load()
		var dst []Function
		for off := uint64(0); off < uint64(len(data)); off += 61 {
			if sym, ok := file.LookupOffset(off); ok && sym.End <= sym.Start {
				t.Fatalf("symbol %+v", sym)
			}
			if vaddr, ok := file.Vaddr(off); ok {
				dst = file.AppendFunctions(dst[:0], vaddr, true)
			}
		}
		file.Lookup(^uint64(0))
		file.DebugErr()
		file.KernelSymbols()
	})
}

func FuzzUnpack(f *testing.F) {
	fuzztest.Add(f)
	plain := strings.Repeat("what modules are made of ", 100)
	for kind, command := range map[string][]string{"gzip": {"gzip", "-c"}, "xz": {"xz", "-c"}, "zstd": {"zstd", "-qc"}, "lz4": {"lz4", "-lc"}} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdin = strings.NewReader(plain)
		if packed, err := cmd.Output(); err == nil {
			f.Add(packed)
			if got, err := unpack(bytes.NewReader(packed), compression(packed), 1<<20); err != nil || string(got) != plain {
				f.Errorf("%s: %d bytes, %v", kind, len(got), err)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		defer memtest.Within(t, 256<<20+200*len(data))()
		const limit = 1 << 16
		out, err := unpack(bytes.NewReader(data), compression(data), limit)
		if err == nil && len(out) > limit {
			t.Fatalf("%d bytes, more than %d", len(out), limit)
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	path := build(b, "-static")
	b.ReportAllocs()
	for b.Loop() {
		f, err := Open(path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Load(); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkLookupOffset(b *testing.B) {
	f := open(b, build(b, "-static"), Options{})
	if err := f.Load(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	off := uint64(0)
	for b.Loop() {
		f.LookupOffset(off & 0x3ffff)
		off += 997
	}
}
