//go:build linux

package event

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// usdtProgram compiles testdata/usdt.c.
func usdtProgram(t *testing.T) string {
	t.Helper()
	livetest.Require(t, livetest.Program("gcc"), livetest.Program("readelf"), livetest.Program("objcopy"))
	program := filepath.Join(t.TempDir(), "usdt")
	if out, err := exec.Command("gcc", "-O2", "-o", program, "testdata/usdt.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

func openUSDT(t *testing.T, program string) (*elf.File, []usdt) {
	t.Helper()
	e := livetest.Open(t, elf.Open, program)
	all, err := readUSDT(e)
	if err != nil {
		t.Fatal(err)
	}
	return e, all
}

// TestUSDTAgainstReadelf reads what readelf -n shows of the same program.
func TestUSDTAgainstReadelf(t *testing.T) {
	program := usdtProgram(t)
	e, all := openUSDT(t, program)
	out, err := exec.Command("readelf", "-n", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	vaddr := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	offset := func(text string) uint64 {
		at := vaddr(text)
		for _, p := range e.Progs {
			if p.Type == elf.PT_LOAD && at >= p.Vaddr && at < p.Vaddr+p.Filesz {
				return p.Off + at - p.Vaddr
			}
		}
		return 0
	}
	var want []usdt
	for _, m := range regexp.MustCompile(`Provider: (\S+)\s+Name: (\S+)\s+Location: (\w+), Base: \w+, Semaphore: (\w+)\s+Arguments: ?(.*)`).FindAllStringSubmatch(string(out), -1) {
		want = append(want, usdt{provider: m[1], name: m[2], vaddr: vaddr(m[3]), off: offset(m[3]), counter: offset(m[4]), args: strings.TrimSpace(m[5])})
	}
	if len(want) != 5 {
		t.Fatalf("readelf shows %d probes", len(want))
	}
	if diff := cmp.Diff(want, all, cmp.AllowUnexported(usdt{})); diff != "" {
		t.Error(diff)
	}
}

// TestUSDTPrelinked: when .stapsdt.base has moved, so has everything.
func TestUSDTPrelinked(t *testing.T) {
	program := usdtProgram(t)
	_, before := openUSDT(t, program)
	moved := program + ".moved"
	if out, err := exec.Command("objcopy", "--change-section-address", ".stapsdt.base-4", "--no-change-warnings", program, moved).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, after := openUSDT(t, moved)
	if len(after) != len(before) || len(after) == 0 {
		t.Fatalf("%d probes, %d before", len(after), len(before))
	}
	for i := range after {
		if after[i].off != before[i].off-4 {
			t.Errorf("%+v, before %+v", after[i], before[i])
		}
	}
}

func TestFetchUSDT(t *testing.T) {
	for _, tt := range []struct {
		machine     elf.Machine
		note, asked string
		want        string // with "error: " what an error says
	}{
		{elf.EM_X86_64, "-4@%edi 8@%r12", "$arg1 $arg2", "arg1=%di:s32 arg2=%r12:u64"},
		{elf.EM_X86_64, "-1@%al 2@%r8w 4@%r9d 1@%sil", "$arg1 $arg2 $arg3 $arg4", "arg1=%ax:s8 arg2=%r8:u16 arg3=%r9:u32 arg4=%si:u8"},
		{elf.EM_X86_64, "8@-16(%rbp) 8@(%rsi) 4@0x20(%rsp)", "$arg1 n=$arg2 $arg3", "arg1=-16(%bp):u64 n=+0(%si):u64 arg3=+0x20(%sp):u32"},
		{elf.EM_X86_64, "-4@$-7 8@%rdx", "$arg1 text=+0($arg2):ustring", `arg1=\-7:s32 text=+0(%dx):ustring`},
		{elf.EM_X86_64, "8@%rax", "$arg1:x64 x=$arg1:x8 $comm", "arg1=%ax:x64 x=%ax:x8 $comm"},
		{elf.EM_X86_64, "%rax", "$arg1", "arg1=%ax:u64"},
		{elf.EM_X86_64, "8@%rax", "", ""},
		{elf.EM_X86_64, "8@%rax", "$arg2", "error: $arg2: the probe has 1 arguments"},
		{elf.EM_X86_64, "8@%rax", "$arg0", "error: $arg0: the probe has 1 arguments"},
		{elf.EM_X86_64, "8f@%xmm0", "$arg1", "error: floating point"},
		{elf.EM_X86_64, "8@8(%rax,%rbx,2)", "$arg1", `error: cannot fetch "8(%rax,%rbx,2)": its fetch arguments add no more than a constant to a register`},
		{elf.EM_X86_64, "8@(,%rbx,8)", "$arg1", "error: no more than a constant"},
		{elf.EM_X86_64, "8@counter(%rip)", "$arg1", "error: counter, where the argument is, is not among the symbols"},
		{elf.EM_X86_64, "8@16+counter(%rip) 8@counter-0x10", "$arg2", "error: counter, where the argument is, is not among the symbols"},
		{elf.EM_X86_64, "8@$counter", "$arg1", "error: cannot fetch"},
		{elf.EM_X86_64, "1@%ah", "$arg1", "error: cannot fetch"},
		{elf.EM_X86_64, "8@%r16", "$arg1", "error: cannot fetch"},
		{elf.EM_AARCH64, "-4@w0 8@x19 8@sp", "$arg1 $arg2 $arg3", "arg1=%x0:s32 arg2=%x19:u64 arg3=%sp:u64"},
		{elf.EM_AARCH64, "8@[sp, 40] -4@[x29, -8] 8@[x1]", "$arg1 $arg2 $arg3", "arg1=+40(%sp):u64 arg2=-8(%x29):s32 arg3=+0(%x1):u64"},
		{elf.EM_AARCH64, "-4@-7 8@x0", "$arg1 $arg2", `arg1=\-7:s32 arg2=%x0:u64`},
		{elf.EM_AARCH64, "8@[x0, x1]", "$arg1", "error: no more than a constant"},
		{elf.EM_386, "4@%eax -4@-12(%ebp) 1@%dl -4@$-7", "$arg1 $arg2 $arg3 $arg4", `arg1=%ax:u32 arg2=-12(%bp):s32 arg3=%dx:u8 arg4=\-7:s32`},
		{elf.EM_RISCV, "8@a0", "$arg1", "error: cannot fetch"},
	} {
		got, err := usdt{args: tt.note}.fetch(&elf.File{FileHeader: elf.FileHeader{Class: elf.ELFCLASS64, Machine: tt.machine}}, tt.asked)
		if want, fails := strings.CutPrefix(tt.want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q of %q: %q, %v; want %q", tt.asked, tt.note, got, err, want)
			}
		} else if err != nil || got != tt.want {
			t.Errorf("%q of %q: %q, %v; want %q", tt.asked, tt.note, got, err, tt.want)
		}
	}
}

// stapsdtNote is a note as an assembler would write it.
func stapsdtNote(o binary.AppendByteOrder, pc, base, semaphore uint64, text string) []byte {
	desc := o.AppendUint64(o.AppendUint64(o.AppendUint64(nil, pc), base), semaphore)
	desc = append(desc, text...)
	b := o.AppendUint32(o.AppendUint32(o.AppendUint32(nil, 8), uint32(len(desc))), 3)
	b = append(append(b, "stapsdt\x00"...), desc...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// FuzzUSDT reads notes that anybody may have written. What is read lies where the
// program's segments are.
func FuzzUSDT(f *testing.F) {
	fuzztest.Add(f)
	f.Add(bytes.Join([][]byte{
		stapsdtNote(binary.LittleEndian, 0x1010, 0x2000, 0x3004, "kprof\x00guarded\x00-4@%edi 8@-8(%rbp)\x00"),
		stapsdtNote(binary.LittleEndian, 0x1020, 0x2000, 0, "kprof\x00plain\x00\x00"),
	}, nil), false, true)
	f.Add(stapsdtNote(binary.BigEndian, 0x1010, 0, 0, "a\x00b\x008@[sp, 40] 1@w0\x00"), true, true)
	f.Add([]byte("\x08\x00\x00\x00\xff\xff\xff\xff\x03\x00\x00\x00stapsdt\x00"), false, false)
	f.Fuzz(func(t *testing.T, b []byte, big, wide bool) {
		defer memtest.Within(t, 1<<20+500*len(b))()
		e := &elf.File{FileHeader: elf.FileHeader{Class: elf.ELFCLASS32, ByteOrder: binary.LittleEndian}}
		if big {
			e.ByteOrder = binary.BigEndian
		}
		if wide {
			e.Class = elf.ELFCLASS64
		}
		for i, flags := range []elf.ProgFlag{elf.PF_X, elf.PF_R, elf.PF_W} {
			e.Progs = append(e.Progs, &elf.Prog{ProgHeader: elf.ProgHeader{Type: elf.PT_LOAD, Flags: flags, Vaddr: 0x1000 * uint64(i+1), Filesz: 0x800, Off: 0x10000}})
		}
		all, err := parseUSDT(e, b, 0x2000)
		if err != nil && all != nil {
			t.Errorf("%d probes and %v", len(all), err)
		}
		for _, u := range all {
			if u.off-0x10000 >= 0x800 || u.counter != 0 && u.counter-0x10000 >= 0x800 || u.provider == "" || u.name == "" {
				t.Errorf("%+v", u)
			}
			for _, machine := range []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64} {
				e.Machine = machine
				fetch, err := u.fetch(e, "a=$arg1")
				if err == nil && !regexp.MustCompile(`^a=(%[a-z0-9]+|[+-](0x)?[0-9a-f]+\(%[a-z0-9]+\)|\\\S+):[us](8|16|32|64)$`).MatchString(fetch) {
					t.Errorf("%q of %q", fetch, u.args)
				}
			}
		}
	})
}

// TestUSDTResolved: what becomes of a probe, both ways of making it.
func TestUSDTResolved(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.PMU("uprobe"))
	program := usdtProgram(t)
	_, all := openUSDT(t, program)
	find := func(name string) (found []usdt) {
		for _, u := range all {
			if u.name == name {
				found = append(found, u)
			}
		}
		return found
	}
	resolve := func(r *Resolver, text string) ([]Event, error) {
		s := mustSpec(t, text)
		return r.Resolve(s)
	}
	r := &Resolver{MountTracefs: true}
	guarded := find("guarded")[0]
	events, err := resolve(r, "usdt:"+program+":kprof:guarded")
	if err != nil {
		t.Fatal(err)
	}
	// Bits 32 to 63, as format/ref_ctr_offset says (kernel/events/core.c,
	// PERF_UPROBE_REF_CTR_OFFSET_SHIFT).
	if a := events[0].Attr; len(events) != 1 || a.Config2 != guarded.off || a.Config != guarded.counter<<32 || guarded.counter == 0 {
		t.Errorf("%d events, %+v", len(events), a)
	}
	events, err = resolve(r, "usdt:"+program+":kprof:twice")
	if err != nil {
		t.Fatal(err)
	}
	for i, u := range find("twice") {
		if want := fmt.Sprintf("usdt:%s:kprof:twice@%#x", program, u.off); len(events) != 2 || events[i].Name != want || events[i].Attr.Config2 != u.off {
			t.Errorf("%d: %+v, want %s", i, events, want)
		}
	}
	if n := events[0].Notes; len(n) != 1 || !strings.HasPrefix(n[0], "2 places in ") {
		t.Errorf("%q", n)
	}
	livetest.Errors(t, func(text string) ([]Event, error) { return resolve(r, "usdt:"+program+text) }, map[string]string{
		":kprof:planned":     "has no probe kprof:planned (it has kprof:plain, kprof:twice, kprof:guarded, kprof:variables)",
		":kprof:plain $arg9": `$arg9: the probe has 4 arguments`,
	})
	if _, err := resolve(r, "usdt:/bin/true:kprof:plain"); err == nil || !strings.Contains(err.Error(), "no statically defined probes") {
		t.Error(err)
	}
	if _, err = resolve(r, "usdt:"+program+":kprof:guarded on=$comm"); err != nil {
		t.Fatal(err)
	}
	left := leftProbes(t)
	place := fmt.Sprintf("%s:0x%016x(0x%x)", program, guarded.off, guarded.counter)
	if len(left) != 1 || left[0].Place != place || left[0].Name != "kprof_guarded" {
		t.Errorf("%+v, want %s", left, place)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
