package symbolize

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
	"kprof/symbolize/mapping"
)

// dumpWriter writes jitdumps as programs do.
type dumpWriter struct {
	bytes.Buffer
	order binary.ByteOrder
}

func (w *dumpWriter) put(vs ...any) {
	for _, v := range vs {
		switch v := v.(type) {
		case string:
			w.WriteString(v)
		default:
			binary.Write(w, w.order, v)
		}
	}
}

func newDump(order binary.ByteOrder, flags uint64) *dumpWriter {
	w := &dumpWriter{order: order}
	w.put(uint32(0x4a695444), uint32(1), uint32(40), uint32(62), uint32(0), uint32(7), uint64(1), flags)
	return w
}

func (w *dumpWriter) load(time, addr, size, index uint64, name string) (offset uint64) {
	w.put(uint32(0), uint32(16+40+len(name)+1)+uint32(size), time)
	w.put(uint32(7), uint32(7), addr, addr, size, index, name+"\x00")
	offset = uint64(w.Len())
	w.put(strings.Repeat("\xcc", int(size)))
	return offset
}

func (w *dumpWriter) move(time, from, to, size, index uint64) {
	w.put(uint32(1), uint32(16+48), time, uint32(7), uint32(7), to, from, to, size, index)
}

type dumpLine struct {
	addr uint64
	line uint32
	file string
}

func (w *dumpWriter) lines(addr uint64, lines ...dumpLine) {
	n := 16
	for _, l := range lines {
		n += 16 + len(l.file) + 1
	}
	w.put(uint32(2), uint32(16+n), uint64(1), addr, uint64(len(lines)))
	for _, l := range lines {
		w.put(l.addr, l.line, uint32(0), l.file+"\x00")
	}
}

func TestJITDump(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		w := newDump(order, 0)
		first := w.load(100, 0x1000, 0x40, 1, "first")
		w.lines(0x2000, dumpLine{0x2000, 10, "/src/a.js"}, dumpLine{0x2010, 11, "\xff"}, dumpLine{0x2020, 5, "/src/b.js"})
		second := w.load(110, 0x2000, 0x30, 2, "second")
		w.put(uint32(4), uint32(16+8), uint64(1), uint64(0)) // unwinding information
		w.move(120, 0x2000, 0x3000, 0x30, 2)
		third := w.load(130, 0x2000, 0x20, 3, "third") // in the place of second
		w.lines(0x9999, dumpLine{0x9999, 1, "of other code"})
		fourth := w.load(90, 0x1020, 0x10, 4, "fourth") // written late; under first by then
		w.put(uint32(3), uint32(16), uint64(1))
		w.load(140, 0x1000, 0x10, 5, "after the end")

		path := filepath.Join(t.TempDir(), "jit-7.dump")
		write(t, path, w.String())
		s := New(Options{Lines: true})
		defer s.Close()
		frame := func(m Mapping, addr uint64) string {
			got, _ := chain(t, s, m, addr)
			return strings.TrimSuffix(got, " from 0\n")
		}
		// By its bytes in the file, each has its name; by address, what came last.
		file := Mapping{Kind: mapping.User, File: path}
		anon := Mapping{Kind: mapping.Anon, PID: os.Getpid()}
		s.AddJITDump(os.Getpid(), path)
		for _, tt := range []struct {
			m    Mapping
			addr uint64
			want string
		}{
			{file, first, "first .:0"},
			{file, first + 0x3f, "first .:0"},
			{file, first + 0x40, ""},
			{file, second + 0x1f, "second a.js:11"},
			{file, second + 0x20, "second b.js:5"},
			{file, third, "third .:0"},
			{file, fourth, "fourth .:0"},
			{anon, 0x1020, "first .:0"},
			{anon, 0x2000, "third .:0"},
			{anon, 0x2020, "second b.js:5"}, // what third does not cover
			{anon, 0x3010, "second a.js:11"},
			{anon, 0x4000, ""},
		} {
			if got := frame(tt.m, tt.addr); got != tt.want {
				t.Errorf("%v: %v %#x: %q, want %q", order, tt.m.Kind, tt.addr, got, tt.want)
			}
		}
		want := []JITCode{
			{90, 0x1020, 0x1030, fourth}, {100, 0x1000, 0x1040, first}, {110, 0x2000, 0x2030, second},
			{120, 0x3000, 0x3030, second}, {130, 0x2000, 0x2020, third},
		}
		forNames := s.supplied.used.Load()
		if d := cmp.Diff(want, s.JITCode(os.Getpid(), path)); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
		if took := s.supplied.used.Load() - forNames; took != 0 || s.placed.used.Load() == 0 {
			t.Errorf("%d bytes of what names may have are taken by what is placed", took)
		}
	}
}

// countCodes counts the functions of a dump.
// TestJITDumpOfV8: its lines have the addresses that perf inject would give the code in an ELF file
// with nothing but a header before it.
func TestJITDumpOfV8(t *testing.T) {
	for _, c := range []struct{ machine, pad, ahead uint32 }{
		{62, 0xdeadbeef, 64}, {183, 0xdeadbeef, 64}, {3, 0xdeadbeef, 52}, {40, 0xdeadbeef, 52}, {62, 0, 0}, {3, 0, 0},
	} {
		w := &dumpWriter{order: binary.LittleEndian}
		w.put(uint32(0x4a695444), uint32(1), uint32(40), c.machine, c.pad, uint32(7), uint64(1), uint64(0))
		at := 0x2000 + uint64(c.ahead)
		w.lines(0x2000, dumpLine{at, 10, "/src/a.js"}, dumpLine{at + 0x10, 11, "/src/a.js"}, dumpLine{at + 0x50, 12, "/src/a.js"})
		off := w.load(110, 0x2000, 0x60, 2, "f")
		d, err := openJITDump(bytes.NewReader(w.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		offsets := []uint64{off, off + 0xf, off + 0x10, off + 0x4f, off + 0x50, off + 0x5f}
		table, err := d.byOffset(t.Context(), offsets, &budget{})
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for i := range offsets {
			got = append(got, table.frames[i].Line)
		}
		if diff := cmp.Diff([]int{10, 10, 11, 11, 12, 12}, got); diff != "" {
			t.Errorf("machine %d, padding %#x: -want +got\n%s", c.machine, c.pad, diff)
		}
	}
}

func countCodes(in string) (n int, d *jitDump, err error) {
	if d, err = openJITDump(strings.NewReader(in)); err == nil {
		err = d.codes(context.Background(), func(c *jitCode) error {
			if !c.move {
				n++
			}
			return nil
		})
	}
	return n, d, err
}

// TestJITDumpCut cuts a dump at every byte: what is complete is known, and nothing
// is wrong with it.
func TestJITDumpCut(t *testing.T) {
	w := newDump(binary.LittleEndian, 1)
	ends := []int{w.Len()}
	for i := range uint64(3) {
		w.lines(0x1000*i, dumpLine{0x1000 * i, 1, "file"})
		w.load(1, 0x1000*i, 0x20, i, "name")
		ends = append(ends, w.Len())
	}
	for cut := ends[0]; cut <= w.Len(); cut++ {
		n, d, err := countCodes(string(w.Bytes()[:cut]))
		want := 0
		for want < 3 && cut >= ends[want+1] {
			want++
		}
		if err != nil || n != want || !d.arch {
			t.Fatalf("cut at %d: %d functions, want %d: %v", cut, n, want, err)
		}
	}
}

func TestJITDumpMalformed(t *testing.T) {
	dump := func(f func(w *dumpWriter)) string {
		w := newDump(binary.LittleEndian, 0)
		w.load(1, 0x1000, 0x10, 1, "good")
		f(w)
		return w.String()
	}
	for name, in := range map[string]string{
		"record too short": dump(func(w *dumpWriter) { w.put(uint32(0), uint32(8), uint64(1)) }),
		"load too short":   dump(func(w *dumpWriter) { w.put(uint32(0), uint32(16+8), uint64(1), uint64(1)) }),
		"code past its record": dump(func(w *dumpWriter) {
			w.put(uint32(0), uint32(16+40+2), uint64(1), uint32(7), uint32(7), uint64(0), uint64(0), uint64(1<<40), uint64(0), "x\x00")
		}),
		"lines past their record": dump(func(w *dumpWriter) { w.put(uint32(2), uint32(16+16), uint64(1), uint64(0), uint64(1<<60)) }),
	} {
		if n, _, err := countCodes(in); err == nil || n != 1 {
			t.Errorf("%s: %d functions, %v", name, n, err)
		}
	}
	// Lines past their record are not read; the function has its name.
	w := newDump(binary.LittleEndian, 0)
	w.put(uint32(2), uint32(16+16+17), uint64(1), uint64(0x1000), uint64(1), uint64(0x1000), uint32(1), uint32(0), "x")
	w.load(1, 0x1000, 0x10, 1, "good")
	d, err := openJITDump(strings.NewReader(w.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.byAddress(t.Context(), []uint64{0x1000}, &budget{}); err == nil || got.frames[0] != (Frame{Name: "good", SystemName: "good"}) {
		t.Errorf("a file without an end: %v, %v", got.frames, err)
	}
	for name, in := range map[string]string{
		"empty": "", "text": strings.Repeat("no dump ", 10),
		"version": "DTiJ\x02" + strings.Repeat("\x00", 40), "header size": "DTiJ\x01" + strings.Repeat("\x00", 40),
	} {
		if d, err := openJITDump(strings.NewReader(in)); err == nil || d != nil {
			t.Errorf("%s: taken for a jitdump", name)
		}
	}
}

func FuzzParseJITDump(f *testing.F) {
	fuzztest.Add(f)
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		w := newDump(order, 0)
		w.lines(0x1000, dumpLine{0x1000, 3, "f"}, dumpLine{0x1004, 4, "\xff"})
		w.load(1, 0x1000, 8, 1, "n")
		w.move(2, 0x1000, 0x2000, 8, 1)
		f.Add(w.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		defer memtest.Within(t, 2<<20+500*len(in))()
		d, err := openJITDump(bytes.NewReader(in))
		if err != nil {
			return
		}
		// What is placed is found by its address, unless something is on top, and by
		// its offset.
		var addrs, offsets []uint64
		for _, p := range d.placed(t.Context(), &budget{}) {
			if p.Start < p.Limit {
				addrs = append(addrs, p.Start, p.Limit-1, p.Start+1<<20)
				offsets = append(offsets, p.Offset, p.Offset+p.Limit-p.Start-1)
			}
		}
		b := budget{limit: int64(len(in))}
		byAddress, _ := d.byAddress(t.Context(), addrs, &b)
		byOffset, _ := d.byOffset(t.Context(), offsets, &budget{})
		for _, table := range []*suppliedTable{byAddress, byOffset} {
			if len(table.frames) != len(table.addrs) {
				t.Fatalf("%d frames of %d addresses", len(table.frames), len(table.addrs))
			}
		}
		for _, off := range offsets {
			if off >= uint64(len(in)) {
				t.Errorf("code at offset %d of %d", off, len(in))
			}
		}
		if b.used.Load() > int64(len(in)) {
			t.Errorf("keeps %d bytes of %d", b.used.Load(), len(in))
		}
	})
}
