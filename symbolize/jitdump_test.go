package symbolize

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		file := Mapping{Kind: User, Path: path}
		anon := Mapping{Kind: Anon, PID: os.Getpid()}
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
		if d := cmp.Diff(want, s.JITCode(os.Getpid(), path)); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	}
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
		d, err := parseJITDump(bytes.NewReader(w.Bytes()[:cut]))
		want := 0
		for want < 3 && cut >= ends[want+1] {
			want++
		}
		if err != nil || len(d.codes) != want || !d.arch {
			t.Fatalf("cut at %d: %d functions, want %d: %v", cut, len(d.codes), want, err)
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
		"a file without an end": dump(func(w *dumpWriter) {
			w.put(uint32(2), uint32(16+16+17), uint64(1), uint64(0), uint64(1), uint64(0), uint32(1), uint32(0), "x")
		}),
	} {
		d, err := parseJITDump(strings.NewReader(in))
		if err == nil || d == nil || len(d.codes) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, in := range map[string]string{
		"empty": "", "text": strings.Repeat("no dump ", 10),
		"version": "DTiJ\x02" + strings.Repeat("\x00", 40), "header size": "DTiJ\x01" + strings.Repeat("\x00", 40),
	} {
		if d, err := parseJITDump(strings.NewReader(in)); err == nil || d != nil {
			t.Errorf("%s: taken for a jitdump", name)
		}
	}
}

func FuzzParseJITDump(f *testing.F) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		w := newDump(order, 0)
		w.lines(0x1000, dumpLine{0x1000, 3, "f"}, dumpLine{0x1004, 4, "\xff"})
		w.load(1, 0x1000, 8, 1, "n")
		w.move(2, 0x1000, 0x2000, 8, 1)
		f.Add(w.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		d, _ := parseJITDump(bytes.NewReader(in))
		if d == nil {
			return
		}
		for _, p := range d.placed {
			for _, addr := range []uint64{p.addr, p.addr + d.codes[p.code].size - 1, p.addr + 1<<20} {
				if off, ok := d.at(addr); ok {
					if _, ok := d.frame(off); !ok && off > uint64(len(in)) {
						t.Errorf("%#x is at offset %d of %d", addr, off, len(in))
					}
				}
			}
		}
	})
}
