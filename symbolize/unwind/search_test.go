package unwind

import (
	"bytes"
	"testing"
)

// searchable is an .eh_frame of two functions, at 0x1000 and at 0x1100, and its .eh_frame_hdr as
// linkers write it (Linux Standard Base, 10.6.2), changed by edit.
func searchable(edit func(hdr []byte)) File {
	const frameAddr, hdrAddr = 0x5000, 0x4000
	data := append(le.AppendUint32(nil, 19), 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, encUData8, cfaDef, 7, 8, cfaOffset|16, 1, 0)
	var at [2]int
	for i := range at {
		at[i] = len(data)
		data = le.AppendUint32(data, 4+8+8+1+2)
		data = le.AppendUint32(data, uint32(len(data))) // back to the CIE
		data = le.AppendUint64(data, 0x1000+0x100*uint64(i))
		data = le.AppendUint64(data, 0x80)
		data = append(data, 0, cfaDefOffset, byte(16+16*i))
	}
	hdr := []byte{1, encPCRel | encSData4, encUData4, encDataRel | encSData4}
	hdr = le.AppendUint32(hdr, frameAddr-hdrAddr-4)
	hdr = le.AppendUint32(hdr, 2)
	for i := range at {
		hdr = le.AppendUint32(hdr, uint32(0x1000+0x100*i-hdrAddr)) // of the function
		hdr = le.AppendUint32(hdr, uint32(frameAddr+at[i]-hdrAddr))
	}
	edit(hdr)
	return File{
		EHFrame: Section{frameAddr, append(data, 0, 0, 0, 0)}, EHFrameHdr: Section{hdrAddr, hdr},
		Code: []Segment{{Off: 0, Addr: 0x1000, Size: 0x1000}},
	}
}

// TestSearchTable: functions are found by the table of a linker where it has the form that is read, and
// by a walk through all of them where it has another one, or is damaged.
func TestSearchTable(t *testing.T) {
	for _, c := range []struct {
		name  string
		edit  func(hdr []byte)
		taken bool
	}{
		{"as linkers write it", func([]byte) {}, true},
		{"one function of two", func(h []byte) { h[8] = 1 }, true},
		{"another version", func(h []byte) { h[0] = 2 }, false},
		{"addresses of another form", func(h []byte) { h[3] = encPCRel | encSData4 }, false},
		{"no functions", func(h []byte) { h[8] = 0 }, false},
		{"more than there are", func(h []byte) { h[8] = 3 }, false},
		{"far more", func(h []byte) { h[11] = 0xff }, false},
	} {
		table, err := New(searchable(c.edit))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		f := table.frames[0]
		if taken := f.search != nil; taken != c.taken || taken != (f.index == nil) {
			t.Errorf("%s: taken %v", c.name, taken)
		}
		for off, want := range map[uint64]int64{0: 16, 0x7f: 16, 0x80: 0, 0x100: 32, 0x17f: 32, 0x180: 0, 1 << 40: 0} {
			if c.name == "one function of two" && off >= 0x100 {
				want = 0
			}
			r := table.row(off)
			if (r != nil) != (want > 0) || r != nil && r.cfa.off != want {
				t.Errorf("%s: at %#x %+v, want a CFA of sp+%d", c.name, off, r, want)
			}
		}
		for i := range f.len() {
			off, ok := f.at(i)
			if fde, ok2 := f.fde(off); !ok || !ok2 || fde.start != 0x1000+0x100*uint64(i) {
				t.Errorf("%s: function %d is at %#x, begins at %#x", c.name, i, off, fde.start)
			}
		}
		if with, without := table.FramePointers(X86_64); with != 0 || without != f.len() {
			t.Errorf("%s: %d functions with frame pointers, %d without", c.name, with, without)
		}
	}
	table, err := New(searchable(func(h []byte) { h[17] = 0x70 }))
	if err != nil {
		t.Fatal(err)
	}
	if off, ok := table.frames[0].at(0); ok {
		t.Errorf("a function beyond the section, at %#x", off)
	}
}

// TestVersions: call frame information of the versions that DWARF 2 to 5 have of it.
func TestVersions(t *testing.T) {
	for version := range byte(6) {
		rec := append(le.AppendUint32(nil, 0xffffffff), version, 0)
		if version == 4 {
			rec = append(rec, 8, 0)
		}
		rec = append(rec, 1, 0x78) // units of 1 and of -8
		if version == 1 {
			rec = append(rec, 0x90) // a byte: no such register
		} else {
			rec = append(rec, 0x90, 0) // LEB128: 16
		}
		rec = append(rec, cfaDef, 7, 8)
		data := append(le.AppendUint32(nil, uint32(len(rec))), rec...)
		f := frames{Section: Section{Data: data}, debug: true}
		d, ok := f.cie(0)
		if want := version == 1 || version == 3 || version == 4; ok != want {
			t.Errorf("version %d is read: %v", version, ok)
		}
		ra := uint64(16)
		if version == 1 {
			ra = 0x90
		}
		if ok && (d.codeAlign != 1 || d.dataAlign != -8 || d.ra != ra || !bytes.Equal(d.initial, []byte{cfaDef, 7, 8})) {
			t.Errorf("version %d: %+v", version, d)
		}
	}
}

// TestLeafCaller: where a function of AArch64 returns to is in the link register as long as call frame
// information has no rule for it.
func TestLeafCaller(t *testing.T) {
	frame := func(more ...regRule) *row {
		return &row{cfa: rule{kind: register, reg: armSP}, ra: armLR, regs: more}
	}
	signal, moved := frame(), frame()
	signal.signal, moved.ra = true, 15
	table := rowsAt(map[uint64]*row{
		0x100: frame(), 0x200: frame(regRule{armFP, rule{kind: offset, off: -16}}),
		0x300: frame(regRule{armLR, rule{kind: offset, off: -8}}), 0x400: signal, 0x500: moved,
	})
	for _, c := range []struct {
		name     string
		m        Machine
		pc, link uint64
		ret      uint64 // 0 for none
	}{
		{"a leaf", ARM64, 0x1100, 0x1800, 0x1800},
		{"a signed address", ARM64, 0x1100, 0x2a<<48 | 0x1800, 0x1800},
		{"that saved the frame pointer", ARM64, 0x1200, 0x1800, 0x1800},
		{"that saved the link register", ARM64, 0x1300, 0x1800, 0},
		{"a signal's frame", ARM64, 0x1400, 0x1800, 0},
		{"with its return address elsewhere", ARM64, 0x1500, 0x1800, 0},
		{"of which nothing is known", ARM64, 0x1600, 0x1800, 0},
		{"called last of all in a file", ARM64, 0x1100, 0x2000, 0x2000},
		{"called from nowhere", ARM64, 0x1100, 0x1000, 0},
		{"of no file", ARM64, 0x3100, 0x1800, 0},
		{"of another machine", X86_64, 0x1100, 0x1800, 0},
	} {
		ret, ok := c.m.LeafCaller(c.pc, c.link, &code{table, 0x1000, 0x2000})
		if ok != (c.ret != 0) || ok && ret != c.ret {
			t.Errorf("%s: %#x %v, want %#x", c.name, ret, ok, c.ret)
		}
	}
	for _, c := range []struct {
		m    Machine
		mask uint64
		want int
	}{
		{ARM64, 1<<33 - 1, 30}, {ARM64, 1 << 30, 0}, {ARM64, 1<<30 | 1<<29 | 1, 2}, {ARM64, 1<<29 | 1<<31, -1}, {X86_64, 1<<33 - 1, -1},
	} {
		if got := c.m.LinkRegister(c.mask); got != c.want {
			t.Errorf("machine %d, mask %#x: the link register is at %d, want %d", c.m, c.mask, got, c.want)
		}
	}
}

// TestStepFramePointer: two words are a frame, of 8 bytes or of 4, and the caller's stack begins behind them.
func TestStepFramePointer(t *testing.T) {
	for m, stack := range map[Machine][]byte{X86_64: words(0x7100, 0x1234), I386: words32(0x7100, 0x1234)} {
		r := registersOf(m)
		regs := Registers{}
		regs.General[r.sp], regs.General[r.fp] = 0x7000, 0x7000
		more, _ := regs.stepFramePointer(r, &Stack{Base: 0x7000, Data: stack, narrow: m == I386}, &code{FramePointers, 0x1000, 0x2000})
		if want := 0x7000 + 2*r.word; !more || regs.PC != 0x1234 || regs.General[r.fp] != 0x7100 || regs.General[r.sp] != want {
			t.Errorf("machine %d: %v, pc %#x, fp %#x, sp %#x, want %#x", m, more, regs.PC, regs.General[r.fp], regs.General[r.sp], want)
		}
	}
}

// TestRegistersNeeded: without a stack pointer, or without a program counter, no stack is walked.
func TestRegistersNeeded(t *testing.T) {
	for _, c := range []struct {
		m     Machine
		mask  uint64
		walks bool
	}{
		{X86_64, 1<<7 | 1<<8, true}, {X86_64, 1<<6 | 1<<8, false}, {X86_64, 1<<6 | 1<<7, false},
		{ARM64, 1<<31 | 1<<32, true}, {ARM64, 1<<29 | 1<<32, false}, {I386, 1<<7 | 1<<8, true},
	} {
		if _, ok := c.m.LayoutOf(c.mask); ok != c.walks {
			t.Errorf("machine %d, mask %#x: walks %v", c.m, c.mask, ok)
		}
	}
}

// TestLeads: a call may be the last thing in a file, and returns to where nothing is mapped then.
func TestLeads(t *testing.T) {
	f := &code{FramePointers, 0x1000, 0x2000}
	for ret, want := range map[uint64]bool{0: true, 0x1000: false, 0x1001: true, 0x2000: true, 0x2001: false} {
		if leads(f, ret) != want {
			t.Errorf("%#x leads to code: %v", ret, !want)
		}
	}
}
