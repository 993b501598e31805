package unwind

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// open reads the call frame information of an ELF file.
func open(t testing.TB, path string) (*Table, *elf.File) {
	t.Helper()
	f := livetest.Open(t, elf.Open, path)
	section := func(name string) (s Section) {
		if have := f.Section(name); have != nil {
			b, err := have.Data()
			if err != nil {
				t.Fatal(err)
			}
			s.Data, s.Addr = b, have.Addr
		}
		return s
	}
	file := File{EHFrame: section(".eh_frame"), EHFrameHdr: section(".eh_frame_hdr"), DebugFrame: section(".debug_frame")}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			file.Code = append(file.Code, Segment{p.Off, p.Vaddr, p.Filesz})
		}
	}
	table, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	return table, f
}

func offsetOf(t testing.TB, f *elf.File, addr uint64) uint64 {
	t.Helper()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && addr-p.Vaddr < p.Filesz {
			return addr - p.Vaddr + p.Off
		}
	}
	t.Fatalf("%#x is in no segment", addr)
	return 0
}

// TestAgainstReadelf compares each row of programs and of the C library with what
// readelf prints of them.
func TestAgainstReadelf(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "g++", "readelf")
	dir := t.TempDir()
	build := func(compiler, name, source string, flags ...string) string {
		t.Helper()
		src, out := filepath.Join(dir, name), filepath.Join(dir, name+".out")
		livetest.WriteFile(t, src, source)
		if b, err := exec.Command(compiler, append(flags, "-o", out, src)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", compiler, err, b)
		}
		return out
	}
	libc, err := exec.Command("gcc", "-print-file-name=libc.so.6").Output()
	if err != nil {
		t.Fatal(err)
	}
	goProgram := filepath.Join(dir, "go.out")
	goBuild := exec.Command("go", "build", "-o", goProgram, "../../testdata/bench/load")
	goBuild.Env = append(os.Environ(), "GOARCH=") // of this machine, as the others are
	if out, err := goBuild.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const c = `#include <stdlib.h>
#include <alloca.h>
int cmp(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(int n, char **v) { int *p = alloca(n * 400); for (int i = 0; i < n * 100; i++) p[i] = rand(); qsort(p, n * 100, 4, cmp); return p[n]; }
`
	const cpp = `#include <string>
#include <stdexcept>
#include <cstdio>
struct S { std::string s; ~S() { puts(s.c_str()); } };
int f(int n) { S s{std::to_string(n)}; if (n > 3) throw std::runtime_error("x"); return f(n + 1) + 1; }
int main(int n, char **v) { try { return f(n); } catch (std::exception &e) { return 1; } }
`
	for name, path := range map[string]string{
		"C":                  build("gcc", "a.c", c, "-O2"),
		"C without pointers": build("gcc", "b.c", c, "-O2", "-fomit-frame-pointer", "-fcf-protection=full"),
		"no search table":    build("gcc", "n.c", c, "-O2", "-Wl,--no-eh-frame-hdr"),
		"debug_frame":        build("gcc", "g.c", c, "-O2", "-g", "-fno-asynchronous-unwind-tables", "-fno-exceptions"),
		"C++":                build("g++", "c.cc", cpp, "-O2"),
		"libc":               strings.TrimSpace(string(libc)),
		"Go":                 goProgram,
	} {
		t.Run(name, func(t *testing.T) {
			table, f := open(t, path)
			out, err := exec.Command("readelf", "-wF", path).Output()
			if len(out) == 0 { // it fails if it has warned of other sections
				t.Fatal(err)
			}
			rows := compareRows(t, table, f, out)
			if rows < 10 {
				t.Errorf("only %d rows compared", rows)
			}
		})
	}
}

var x86Names = strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 ra")

// compareRows compares what readelf -wF prints, and returns the number of rows.
func compareRows(t *testing.T, table *Table, f *elf.File, printed []byte) (rows int) {
	t.Helper()
	var columns []string
	var end uint64
	wrong := 0
	lines := strings.Split(string(printed), "\n")
	for i, line := range lines {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			columns = nil
			continue
		case strings.Contains(line, " FDE "):
			pc := line[strings.Index(line, "pc=")+3:]
			_, last, _ := strings.Cut(pc, "..")
			end, _ = strconv.ParseUint(strings.Fields(last)[0], 16, 64)
			continue
		case strings.Contains(line, " CIE "):
			end = 0
			continue
		case words[0] == "LOC":
			columns = words[1:]
			continue
		case columns == nil || len(words) != len(columns)+1:
			continue
		}
		addr, err := strconv.ParseUint(words[0], 16, 64)
		if err != nil || addr >= end {
			continue
		}
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], words[0]) {
			continue // it stands for no code
		}
		rows++
		row := table.row(offsetOf(t, f, addr))
		if got, want := rowText(row, columns), strings.Join(words[1:], " "); got != want {
			if wrong++; wrong <= 5 {
				t.Errorf("%#x: %s are %s, readelf has %s", addr, columns, got, want)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d rows differ", wrong, rows)
	}
	return rows
}

// rowText is a row as readelf prints it.
func rowText(r *row, columns []string) string {
	if r == nil {
		return "none"
	}
	var words []string
	for _, name := range columns {
		if name == "CFA" {
			if r.cfa.kind == valExpr {
				words = append(words, "exp")
			} else {
				words = append(words, fmt.Sprintf("%s%+d", x86Names[r.cfa.reg], r.cfa.off))
			}
			continue
		}
		reg := uint8(slices.Index(x86Names, name))
		i := slices.IndexFunc(r.regs, func(rr regRule) bool { return rr.reg == reg })
		if i < 0 {
			words = append(words, "u")
			continue
		}
		rr := r.regs[i]
		words = append(words, map[ruleKind]string{
			undefined: "u", offset: fmt.Sprintf("c%+d", rr.off), valOffset: fmt.Sprintf("v%+d", rr.off),
			expr: "exp", valExpr: "vexp", register: x86Names[rr.rule.reg&15],
		}[rr.kind])
	}
	return strings.Join(words, " ")
}

// TestExpression evaluates the expressions that linkage tables and signal frames
// have.
func TestExpression(t *testing.T) {
	// What ld writes for .plt: rsp+8, and 8 more from the 11th byte of 16 on.
	plt := []byte{opBreg0 + 7, 8, opBreg0 + 16, 0, opLit0 + 15, opAnd, opLit0 + 11, opGe, opLit0 + 3, opShl, opPlus}
	var regs [numRegs + 1]uint64
	regs[7] = 0x1000
	for pc, want := range map[uint64]uint64{0x400020: 0x1008, 0x40002a: 0x1008, 0x40002b: 0x1010, 0x40002f: 0x1010} {
		regs[16] = pc
		if got, ok := eval(plt, &regs, &Stack{}); !ok || got != want {
			t.Errorf("at %#x: %#x %v, want %#x", pc, got, ok, want)
		}
	}
	stack := &Stack{Base: 0x1000, Data: []byte{1, 2, 0, 0, 0, 0, 0, 0, 9}}
	for _, c := range []struct {
		code []byte
		want uint64
		ok   bool
	}{
		{[]byte{opBreg0 + 7, 0, opDeref}, 0x201, true},
		{[]byte{opBreg0 + 7, 2, opDeref}, 0, false}, // one byte too far
		{[]byte{opConst1s, 0xff}, ^uint64(0), true},
		{[]byte{opLit0 + 7, opLit0 + 3, opMinus}, 4, true},
		{[]byte{opLit0, opBra, 1, 0, opLit0 + 5, opLit0 + 6}, 6, true},
		{[]byte{opLit0 + 1, opBra, 1, 0, opLit0 + 5, opLit0 + 6, opPlus}, 0, false},
		{[]byte{opSkip, 0xfd, 0xff}, 0, false}, // for ever
		{[]byte{opPlus}, 0, false},
		{[]byte{0xe0}, 0, false},
		{nil, 0, false},
	} {
		if got, ok := eval(c.code, &regs, stack); ok != c.ok || ok && got != c.want {
			t.Errorf("%x: %#x %v, want %#x %v", c.code, got, ok, c.want, c.ok)
		}
	}
}

// code is a Finder for one file that is mapped as it is.
type code struct {
	table      *Table
	start, end uint64
}

func (c *code) Find(pc uint64) (*Table, uint64, bool) {
	if pc < c.start || pc >= c.end {
		return nil, 0, false
	}
	return c.table, pc - c.start, true
}

// words are the bytes of a stack.
func words(w ...uint64) (b []byte) {
	for _, v := range w {
		b = le.AppendUint64(b, v)
	}
	return b
}

// TestFramePointers walks code without call frame information, on both machines.
func TestFramePointers(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     Machine
		table *Table
		fp    uint64
		stack []byte
		want  []uint64
		end   End
	}{
		{"two callers", X86_64, FramePointers, 0x7010, words(1, 2, 0x7020, 0x1100, 0, 0x1200), []uint64{0x1000, 0x10ff, 0x11ff}, Outermost},
		{"signed", ARM64, FramePointers, 0x7010, words(1, 2, 0x7020, 0x2a<<48|0x1100, 0, 0x1200), []uint64{0x1000, 0x10ff, 0x11ff}, Outermost},
		{"copy too short", X86_64, FramePointers, 0x7010, words(1, 2, 0x7040, 0x1100), []uint64{0x1000, 0x10ff}, CutOff},
		{"pointer down the stack", X86_64, FramePointers, 0x7010, words(1, 2, 0x7000, 0x1100), []uint64{0x1000, 0x10ff}, Lost},
		{"pointer to itself", X86_64, FramePointers, 0x7010, words(1, 2, 0x7010, 0x1100), []uint64{0x1000, 0x10ff}, Lost},
		{"caller elsewhere", X86_64, FramePointers, 0x7010, words(1, 2, 0x7020, 0x9100, 0, 0), []uint64{0x1000}, Lost},
		{"file missing", X86_64, nil, 0x7010, words(1, 2, 0x7020, 0x1100, 0, 0x1200), []uint64{0x1000}, Lost},
		{"no caller", X86_64, FramePointers, 0x7010, words(1, 2, 0x7020, 0), []uint64{0x1000}, Outermost},
	} {
		r := registersOf(c.m)
		regs := Registers{PC: 0x1000}
		regs.General[r.sp], regs.General[r.fp] = 0x7000, c.fp
		got, end := c.m.Walk(nil, &regs, &Stack{Base: 0x7000, Data: c.stack}, &code{c.table, 0x1000, 0x2000})
		if !slices.Equal(got, c.want) || end != c.end {
			t.Errorf("%s: %#x, end %d, want %#x, %d", c.name, got, end, c.want, c.end)
		}
	}
}

// TestLayout takes registers out of dumps with gaps.
func TestLayout(t *testing.T) {
	const bp, sp, ip, r8, r15 = 6, 7, 8, 16, 23
	l, ok := X86_64.LayoutOf(1<<bp | 1<<sp | 1<<ip | 1<<9 | 1<<r8 | 1<<r15)
	var regs Registers
	at, ok2 := l.Registers(&regs, []uint64{60, 70, 80, 90, 160, 230})
	if !ok || !ok2 || at != 70 || regs.PC != 80 || regs.General[6] != 60 || regs.General[8] != 160 || regs.General[15] != 230 {
		t.Errorf("x86_64: %v %v %d %+v", ok, ok2, at, regs)
	}
	l, ok = ARM64.LayoutOf(1<<33 - 1)
	dump := make([]uint64, 33)
	for i := range dump {
		dump[i] = uint64(i)
	}
	at, ok2 = l.Registers(&regs, dump)
	if !ok || !ok2 || at != 31 || regs.PC != 32 || regs.General[29] != 29 {
		t.Errorf("arm64: %v %v %d %+v", ok, ok2, at, regs)
	}
	if _, ok := l.Registers(&regs, dump[:20]); ok {
		t.Error("registers of a dump that is too short")
	}
	if _, ok := X86_64.LayoutOf(1 << sp); ok {
		t.Error("a layout without a program counter")
	}
}

// FuzzWalk walks by arbitrary sections, stacks and registers.
func FuzzWalk(f *testing.F) {
	fuzztest.Add(f)
	for _, path := range []string{"../../testdata/symfs/opt/kprof-demo/load"} {
		file, err := elf.Open(path)
		if err != nil {
			f.Fatal(err)
		}
		frame, err := file.Section(".eh_frame").Data()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame, []byte(nil), bytes.Repeat([]byte{0x60, 1, 0x40, 0, 0, 0, 0, 0}, 20), file.Section(".eh_frame").Addr, true)
		f.Add(frame, frame, make([]byte, 64), uint64(0), false)
	}
	f.Fuzz(func(t *testing.T, frame, hdr, stack []byte, addr uint64, x86 bool) {
		// 41 rows are computed, with maxKept states remembered of each: some 90 kB.
		defer memtest.Within(t, 5<<20+500*(len(frame)+len(hdr)+len(stack)))()
		if len(frame) > 1<<14 || len(stack) > 1<<12 {
			return
		}
		file := File{EHFrame: Section{addr, frame}, EHFrameHdr: Section{addr + 0x1000, hdr}, Code: []Segment{{0, 0x400000, 1 << 20}}}
		if !x86 {
			file.DebugFrame = Section{0, hdr}
		}
		table, err := New(file)
		if err != nil {
			return
		}
		m := ARM64
		if x86 {
			m = X86_64
		}
		const base = 0x7000
		r := registersOf(m)
		for pc := uint64(0x400000); pc < 0x400800; pc += 0x33 {
			regs := Registers{PC: pc}
			regs.General[r.sp], regs.General[r.fp] = base, base+8
			frames, end := m.Walk(nil, &regs, &Stack{Base: base, Data: stack}, &code{table, 0x400000, 0x500000})
			if len(frames) == 0 || len(frames) > maxFrames || frames[0] != pc || end > Lost {
				t.Fatalf("at %#x: %#x, end %d", pc, frames, end)
			}
		}
	})
}
