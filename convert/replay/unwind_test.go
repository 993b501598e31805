package replay

import (
	"fmt"
	"strings"
	"testing"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata/perftext"
	"kprof/symbolize/unwind"
)

// TestUnwindCopies walks copies of stacks by frame pointers, in code of which nothing
// else is known, and tells those that end early.
func TestUnwindCopies(t *testing.T) {
	const sp, bp, ip = 7, 6, 8
	attr := abi.Attr{
		Type: abi.TypeSoftware, SamplePeriod: 1, SampleRegsUser: 1<<bp | 1<<sp | 1<<ip,
		SampleType: abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCallchain | abi.SampleRegsUser | abi.SampleStackUser,
		Flags:      abi.FlagSampleIDAll | abi.FlagExcludeCallchainUser,
	}
	o := abi.LittleEndian
	words := func(w ...uint64) (b []byte) {
		for _, v := range w {
			b = o.AppendUint64(b, v)
		}
		return b
	}
	const pid, base = 7, 0x7000
	task := uint64(pid)<<32 | pid
	// addr, time; a chain; ABI and registers; a stack of 48 bytes, and how much of it.
	sample := func(time uint64, misc abi.Misc, chain []uint64, regs []uint64, stack []byte) []byte {
		body := words(append([]uint64{0x1000, task, time, uint64(len(chain))}, chain...)...)
		body = append(body, words(regs...)...)
		if len(regs) > 1 {
			body = append(append(append(body, words(48)...), stack...), words(48)...)
		} else {
			body = append(body, words(0)...)
		}
		h := abi.Header{Type: abi.RecordSample, Misc: misc, Size: uint16(abi.HeaderSize + len(body))}
		return append(h.AppendTo(nil, o), body...)
	}
	whole := words(1, 2, base+0x20, 0x1101, 0, 0x1201)
	narrow := words(1, 2, 0x1101<<32|base+0x18, 0x1201<<32, 0, 0)
	records := [][]byte{
		// With a vector of two words behind the registers.
		sample(1, abi.MiscUser, nil, []uint64{2 | 4, base + 0x10, base, 0x1000, 1 | 2<<16, 11, 12}, whole),
		sample(2, abi.MiscKernel, []uint64{abi.ContextKernel, 0xffffffff81000010}, []uint64{2, base + 0x10, base, 0x1000}, whole),
		sample(3, abi.MiscUser, nil, []uint64{2, base + 0x800, base, 0x1000}, whole), // the copy does not reach there
		sample(4, abi.MiscUser, nil, []uint64{1, base + 0x10, base, 0x1000}, narrow), // of 32 bits
		sample(5, abi.MiscUser, nil, []uint64{0}, nil),                               // a kernel thread has none
	}
	mmap := func() []byte {
		body := append(words(task, 0x1000, 0x1000, 0), "/x\x00\x00\x00\x00\x00\x00"...)
		body = append(body, words(task, 0)...) // its sample id
		return append(abi.Header{Type: abi.RecordMmap, Misc: abi.MiscUser, Size: uint16(abi.HeaderSize + len(body))}.AppendTo(nil, o), body...)
	}()
	unwindX := &Unwind{Machine: unwind.X86_64, Frames: func(m stacks.Mapping) *unwind.Table {
		if m.File != "/x" {
			t.Errorf("asked for %+v", m)
		}
		return unwind.FramePointers
	}}
	const wantX = `cycles :7/7: /x+0x0 < /x+0x100 < /x+0x200 = 2 2
cycles :7/7: /x+0x0 = 2 2
cycles :7/7: kernel? 0xffffffff81000010 < /x+0x0 < /x+0x100 < /x+0x200 = 1 1
unnamed: 5
unmapped frames: 1
cut 1 unwalked 0`
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{Unwind: unwindX}, wantX},
		{Options{Unwind: &Unwind{Frames: unwindX.Frames}}, wantX}, // the registers tell the machine
		{Options{}, `cycles :7/7: /x+0x0 = 4 4
cycles :7/7: kernel? 0xffffffff81000010 = 1 1
unnamed: 5
unmapped frames: 1
cut 0 unwalked 4`},
	} {
		col := NewCollector(o, []abi.Event{{Attr: attr, Name: "cycles"}}, c.opts)
		for _, r := range append([][]byte{mmap}, records...) {
			if err := col.Write(r, nil); err != nil {
				t.Fatal(err)
			}
		}
		set, st, err := col.Finish()
		got := dump(set, st, err) + fmt.Sprintf("cut %d unwalked %d", st.TruncatedStacks, st.UnwalkedStacks)
		if got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

// TestUnwindBigEndian: stacks of big-endian arm64 are told as not walked, not as too short.
func TestUnwindBigEndian(t *testing.T) {
	const mask = 1<<33 - 1 // x0 to x28, fp, lr, sp, pc
	attr := abi.Attr{
		Type: abi.TypeSoftware, SamplePeriod: 1, SampleRegsUser: mask,
		SampleType: abi.SampleIP | abi.SampleTID | abi.SampleRegsUser | abi.SampleStackUser,
	}
	regs := make([]uint64, 33)
	regs[29], regs[30], regs[31], regs[32] = 0x7000, 0x1101, 0x7000, 0x1000
	body := append(append([]uint64{0x1000, 7<<32 | 7, 2}, regs...), 32, 0x7010, 0x1101, 0, 0x1201, 32)
	o := abi.BigEndian
	record := func(typ abi.RecordType, body []byte) []byte {
		return append(abi.Header{Type: typ, Misc: abi.MiscUser, Size: uint16(abi.HeaderSize + len(body))}.AppendTo(nil, o), body...)
	}
	var sample, mmap []byte
	for _, w := range body {
		sample = o.AppendUint64(sample, w)
	}
	for _, w := range []uint64{7<<32 | 7, 0x1000, 0x1000, 0} {
		mmap = o.AppendUint64(mmap, w)
	}
	col := NewCollector(o, []abi.Event{{Attr: attr, Name: "cycles"}}, Options{Unwind: &Unwind{
		Frames: func(stacks.Mapping) *unwind.Table { return unwind.FramePointers },
	}})
	for _, rec := range [][]byte{record(abi.RecordMmap, append(mmap, "/x\x00\x00\x00\x00\x00\x00"...)), record(abi.RecordSample, sample)} {
		if err := col.Write(rec, nil); err != nil {
			t.Fatal(err)
		}
	}
	set, st, err := col.Finish()
	got, _, _ := strings.Cut(dump(set, st, err), "\n")
	if got != "cycles :7/7: /x+0x0 = 1 1" || st.UnwalkedStacks != 1 || st.TruncatedStacks != 0 {
		t.Errorf("%s; %d stacks unwalked, %d too short", got, st.UnwalkedStacks, st.TruncatedStacks)
	}
}

// copySample is a sample with registers and a copy of the stack, by text: a record
// whose payload is that of event 1 with ip, tid, time, callchain and both.
func copySample(misc abi.Misc, chain, regs []uint64, stack string) string {
	w := append([]uint64{0x1000, 7<<32 | 7, 1, uint64(len(chain))}, chain...)
	w = append(w, regs...)
	return fmt.Sprintf("record type=9 misc=%d data=%s%s%s%s\n", misc, words(w...), words(uint64(len(stack)/2)), stack, words(uint64(len(stack)/2)))
}

// TestUnwindEnds: where a walk does not come to the end of the stack, what the
// registers tell remains, and a chain that the kernel made goes on where the copy ends.
func TestUnwindEnds(t *testing.T) {
	const user, kernel = abi.MiscUser, abi.MiscKernel
	const in = abi.ContextUser
	x86 := []uint64{2, 0x7010, 0x7000, 0x1000} // bp, sp, ip
	cutBehind2 := words(1, 2, 0x7020, 0x1101, 0x8000, 0x1201)
	for _, c := range []struct {
		name, sample, want string
		machine            unwind.Machine
		mask               uint64
	}{
		{"joined", copySample(user, []uint64{in, 0x1000, 0x1201, 0x1301, 0x1401}, x86, cutBehind2), "/x+0x0 < /x+0x100 < /x+0x200 < /x+0x300 < /x+0x400", unwind.X86_64, 0x1c0},
		{"nothing in common", copySample(user, []uint64{in, 0x1001, 0x1211}, x86, cutBehind2), "/x+0x0 < /x+0x100 < /x+0x200", unwind.X86_64, 0x1c0},
		{"leaf in common", copySample(user, []uint64{in, 0x1000, 0x1211, 0x1301}, x86, cutBehind2), "/x+0x0 < /x+0x100 < /x+0x200", unwind.X86_64, 0x1c0},
		{"chain out of code", copySample(user, []uint64{in, 0x1000, 0x1201, 0x1301, 0x9001, 0x1401}, x86, cutBehind2), "/x+0x0 < /x+0x100 < /x+0x200 < /x+0x300", unwind.X86_64, 0x1c0},
		{"chain through data", copySample(user, []uint64{in, 0x1000, 0x1201, 0x2101, 0x1401}, x86, cutBehind2), "/x+0x0 < /x+0x100 < /x+0x200", unwind.X86_64, 0x1c0},
		{"empty copy", copySample(user, []uint64{in, 0x1000, 0x1301}, x86, ""), "/x+0x0 < /x+0x300", unwind.X86_64, 0x1c0},
		{"behind the kernel", copySample(kernel, []uint64{abi.ContextKernel, 0xffffffff81000010, in, 0x1000, 0x1201, 0x1301}, x86, cutBehind2),
			"kernel? 0xffffffff81000010 < /x+0x0 < /x+0x100 < /x+0x200 < /x+0x300", unwind.X86_64, 0x1c0},
		{"no marker", copySample(user, []uint64{0x1000, 0x1201, 0x1301}, x86, cutBehind2), "/x+0x0 < /x+0x100 < /x+0x200 < /x+0x300", unwind.X86_64, 0x1c0},
		{"whole", copySample(user, []uint64{in, 0x1000, 0x1201, 0x1301}, x86, words(1, 2, 0x7020, 0x1101, 0, 0x1201)), "/x+0x0 < /x+0x100 < /x+0x200", unwind.X86_64, 0x1c0},
		{"no caller", copySample(user, []uint64{in, 0x1000, 0x1201}, []uint64{2, 0x6000, 0x7000, 0x1000}, cutBehind2), "/x+0x0 < /x+0x200", unwind.X86_64, 0x1c0},
		{"data", copySample(user, []uint64{in}, []uint64{2, 0x7010, 0x7000, 0x2000}, words(1, 2, 0x7020, 0x1101, 0x7030, 0x2101)), "//anon(7) 0x2000 < /x+0x100", unwind.X86_64, 0x1c0},
		{"unmapped", copySample(user, []uint64{in}, []uint64{2, 0x6000, 0x7000, 0x5000}, cutBehind2), "? 0x5000", unwind.X86_64, 0x1c0},
		{"arm", copySample(kernel, []uint64{abi.ContextKernel, 0xffffffff81000010}, append([]uint64{1}, append(make([]uint64, 15), 0x1040)...), cutBehind2), "kernel? 0xffffffff81000010 < /x+0x40", 0, 1<<16 - 1},
		{"arm's chain", copySample(user, []uint64{in, 0x1040, 0x1101}, append([]uint64{1}, append(make([]uint64, 15), 0x1040)...), cutBehind2), "/x+0x40 < /x+0x100", 0, 1<<16 - 1},
		{"arm on arm64", copySample(user, []uint64{in}, append([]uint64{1}, append(make([]uint64, 32), 0x1040)...), cutBehind2), "/x+0x40", unwind.ARM64, 1<<33 - 1},
		{"s390x", copySample(user, []uint64{in}, []uint64{2, 9, 0x1040}, cutBehind2), "/x+0x40", unwind.S390X, 1<<15 | 1<<33},
		{"no program counter", copySample(user, []uint64{in}, []uint64{2, 9, 0x1040}, cutBehind2), "/x+0x0", unwind.S390X, 1<<15 | 1<<16},
		{"no machine", copySample(user, []uint64{in, 0x1000, 0x1101}, []uint64{2, 9, 0x1040}, cutBehind2), "/x+0x0 < /x+0x100", 0, 1<<15 | 1<<16},
	} {
		rec := perftext.MustParse("event cycles type=hardware sample=ip,tid,time,callchain flags=sample_id_all\n" +
			"mmap t=0 pid=7 addr=0x1000 len=0x1000 file=/x\nmmap2 t=0 pid=7 addr=0x2000 len=0x1000 file=//anon prot=3\n" + c.sample)
		a := &rec.Events[0].Attr
		a.SampleType |= abi.SampleRegsUser | abi.SampleStackUser
		a.SampleRegsUser = c.mask
		opts := Options{Unwind: &Unwind{Machine: c.machine, Frames: func(stacks.Mapping) *unwind.Table { return unwind.FramePointers }}}
		for _, f := range []form{{}, {Form: perftext.Form{Pipe: true}}, {Form: perftext.Form{Pipe: true}, stream: true}} {
			set, st, err := f.convert(rec, opts)
			if got, _, _ := strings.Cut(dump(set, st, err), "\n"); got != "cycles :7/7: "+c.want+" = 1 1" {
				t.Errorf("%s, %v: got %s\nwant %s", c.name, f, got, c.want)
			}
			// Copies of 32-bit arm are told, unless the kernel's chain is there.
			if want := map[string]uint64{"arm": 1, "arm on arm64": 1, "s390x": 1, "no program counter": 1}[c.name]; st.UnwalkedStacks != want {
				t.Errorf("%s, %v: %d stacks unwalked, not %d", c.name, f, st.UnwalkedStacks, want)
			}
		}
	}
}

// TestLeafCaller: on arm64 a callchain by frame records has no caller of a function without a
// frame. Where call frame information says that the link register has it, it is put there.
func TestLeafCaller(t *testing.T) {
	const user, kernel = abi.MiscUser, abi.MiscKernel
	const in, signed = abi.ContextUser, 0x2a << 48
	const link, vectors = 1 << 30, 1 << 46
	// Rows of /x, by offset: without a frame, with one, the outermost; as unwind.Decode reads them.
	table, _, err := unwind.Decode([]byte{3, 3,
		0, 1, 30, 0, 4, 31, 0, 0, 0,
		0x10, 2, 30, 0, 4, 31, 32, 0, 1, 30, 2, 0, 31, 0,
		0x10, 3, 30, 0, 4, 31, 0, 0, 1, 30, 1, 0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		misc    abi.Misc
		chain   []uint64
		regs    []uint64
		want    string
		machine unwind.Machine
		mask    uint64
	}{
		{"without a frame", user, []uint64{in, 0x1000, 0x1201}, []uint64{2, 0x1101}, "/x+0x0 < /x+0x100 < /x+0x200", unwind.ARM64, link},
		{"of an unknown machine", user, []uint64{in, 0x1000, 0x1201}, []uint64{2, 0x1101}, "/x+0x0 < /x+0x100 < /x+0x200", 0, link},
		{"among others", user, []uint64{in, 0x1000, 0x1201}, []uint64{2, 9, 0x1101, 8}, "/x+0x0 < /x+0x100 < /x+0x200", unwind.ARM64, 1 | link | vectors},
		{"signed", user, []uint64{in, 0x1000, 0x1201}, []uint64{2, signed | 0x1101}, "/x+0x0 < /x+0x100 < /x+0x200", unwind.ARM64, link},
		{"alone", user, []uint64{in, 0x1000}, []uint64{2, 0x1101}, "/x+0x0 < /x+0x100", unwind.ARM64, link},
		{"a system call", kernel, []uint64{abi.ContextKernel, 0xffffffff81000010, in, 0x1000, 0x1201}, []uint64{2, 0x1101},
			"kernel? 0xffffffff81000010 < /x+0x0 < /x+0x100 < /x+0x200", unwind.ARM64, link},
		{"there already", user, []uint64{in, 0x1000, 0x1101}, []uint64{2, 0x1101}, "/x+0x0 < /x+0x100", unwind.ARM64, link},
		{"with a frame", user, []uint64{in, 0x1010, 0x1201}, []uint64{2, 0x1101}, "/x+0x10 < /x+0x200", unwind.ARM64, link},
		{"outermost", user, []uint64{in, 0x1020}, []uint64{2, 0x1101}, "/x+0x20", unwind.ARM64, link},
		{"nothing known", user, []uint64{in, 0x1030, 0x1201}, []uint64{2, 0x1101}, "/x+0x30 < /x+0x200", unwind.ARM64, link},
		{"to no code", user, []uint64{in, 0x1000, 0x1201}, []uint64{2, 0x9101}, "/x+0x0 < /x+0x200", unwind.ARM64, link},
		{"32 bits", user, []uint64{in, 0x1000, 0x1201}, []uint64{1, 0x1101}, "/x+0x0 < /x+0x200", unwind.ARM64, link},
		{"a kernel thread", kernel, []uint64{abi.ContextKernel, 0xffffffff81000010}, []uint64{0}, "kernel? 0xffffffff81000010", unwind.ARM64, link},
		{"x86", user, []uint64{in, 0x1000, 0x1201}, []uint64{2, 0x1101}, "/x+0x0 < /x+0x200", unwind.X86_64, link},
	} {
		body := append([]uint64{0x1000, 7<<32 | 7, 1, uint64(len(c.chain))}, c.chain...)
		rec := perftext.MustParse("event cycles type=hardware sample=ip,tid,time,callchain flags=sample_id_all\n" +
			"mmap t=0 pid=7 addr=0x1000 len=0x1000 file=/x\n" +
			fmt.Sprintf("record type=9 misc=%d data=%s\n", c.misc, words(append(body, c.regs...)...)))
		a := &rec.Events[0].Attr
		a.SampleType |= abi.SampleRegsUser
		a.SampleRegsUser = c.mask
		opts := Options{Unwind: &Unwind{Machine: c.machine, Frames: func(stacks.Mapping) *unwind.Table { return table }}}
		for _, f := range []form{{}, {Form: perftext.Form{Pipe: true}, stream: true}} {
			set, st, err := f.convert(rec, opts)
			if got, _, _ := strings.Cut(dump(set, st, err), "\n"); got != "cycles :7/7: "+c.want+" = 1 1" {
				t.Errorf("%s, %v: got %s\nwant %s", c.name, f, got, c.want)
			}
		}
	}
}
