package unwind

import (
	"bytes"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// askedTable is a Table of some places in the C library, beside the offsets of which it was
// asked.
func askedTable(t testing.TB) (*Table, []uint64) {
	t.Helper()
	livetest.RequirePrograms(t, "gcc")
	libc, err := exec.Command("gcc", "-print-file-name=libc.so.6").Output()
	if err != nil {
		t.Fatal(err)
	}
	table, _ := open(t, strings.TrimSpace(string(libc)))
	var offs []uint64
	for i := range 300 {
		code := table.code[0]
		offs = append(offs, code.Off+uint64(i)*(code.Size/300)+uint64(i%7))
		table.row(offs[i])
	}
	return table, offs
}

// TestCodec: a Table that was written and read goes on from the same places in the same way,
// and knows no others.
func TestCodec(t *testing.T) {
	table, offs := askedTable(t)
	b, ok := table.AppendTo([]byte("before"))
	if !ok {
		t.Fatal("it is not known what was asked")
	}
	again, rest, err := Decode(append(b[len("before"):], "behind"...))
	if err != nil || string(rest) != "behind" {
		t.Fatalf("%q is left, %v", rest, err)
	}
	rows := 0
	for _, off := range offs {
		want, got := table.row(off), again.row(off)
		if (want == nil) != (got == nil) || want != nil && !sameRow(want, got) {
			t.Errorf("%#x: %+v, want %+v", off, got, want)
		}
		if want != nil {
			rows++
		}
	}
	if rows < 100 {
		t.Errorf("only %d rows compared", rows)
	}
	if r := again.row(offs[1] + 1); r != nil {
		t.Errorf("a row of which nobody was asked: %+v", r)
	}
	for _, want := range []*Table{FramePointers, Vsyscall} {
		b, ok := want.AppendTo(nil)
		if got, rest, err := Decode(b); !ok || got != want || err != nil || len(rest) > 0 {
			t.Errorf("%v, %v, want the same", got, err)
		}
	}
	if got, rest, err := Decode([]byte{0}); got != nil || err != nil || len(rest) > 0 {
		t.Errorf("no table is %v, %v", got, err)
	}
	table.forgot = true
	if _, ok := table.AppendTo(nil); ok {
		t.Error("what was forgotten is written")
	}
}

func sameRow(a, b *row) bool {
	same := func(a, b *rule) bool {
		return a.kind == b.kind && a.reg == b.reg && a.off == b.off && bytes.Equal(a.expr, b.expr)
	}
	if !same(&a.cfa, &b.cfa) || a.ra != b.ra || a.signal != b.signal || len(a.regs) != len(b.regs) {
		return false
	}
	for i := range a.regs {
		if a.regs[i].reg != b.regs[i].reg || !same(&a.regs[i].rule, &b.regs[i].rule) {
			return false
		}
	}
	return true
}

// FuzzDecode: what can be read can be written, and read again.
func FuzzDecode(f *testing.F) {
	fuzztest.Add(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		defer memtest.Within(t, 1<<20+500*len(b))()
		table, rest, err := Decode(b)
		if err != nil || table == nil || table.recorded == nil {
			return
		}
		asked := &Table{rows: map[uint64]*row{}}
		for i, off := range table.recorded.offs {
			asked.rows[off] = table.recorded.rows[i]
		}
		again, ok := asked.AppendTo(nil)
		if !ok {
			t.Fatal("not written")
		}
		read, behind, err := Decode(again)
		if err != nil || len(behind) > 0 {
			t.Fatalf("%v, %d bytes behind", err, len(behind))
		}
		for i, off := range read.recorded.offs {
			if !reflect.DeepEqual(read.recorded.rows[i], asked.rows[off]) {
				t.Errorf("%#x: %+v, want %+v", off, read.recorded.rows[i], asked.rows[off])
			}
		}
		regs := Registers{PC: 8, General: [numRegs + 1]uint64{7: 0x1000, 6: 0x1010}}
		X86_64.Walk(nil, &regs, &Stack{Base: 0x1000, Data: b}, everywhere{table})
		_ = rest
	})
}

// everywhere is a Finder of one file that is mapped at all addresses.
type everywhere struct{ t *Table }

func (e everywhere) Find(pc uint64) (*Table, uint64, bool) { return e.t, pc, true }

// TestDamagedSection: a section that is damaged is an error where the file has no other, and
// takes nothing from one that is well.
func TestDamagedSection(t *testing.T) {
	code := []Segment{{0, 0xffff1000, 0x100}}
	damaged, well := Section{Data: []byte{1, 2, 3}}, Section{Addr: 0x2000, Data: ehFrame32()}
	if table, err := New(File{Narrow: true, DebugFrame: damaged, Code: code}); err == nil {
		t.Errorf("%v of a damaged section", table)
	}
	for _, f := range []File{{EHFrame: well, DebugFrame: damaged}, {EHFrame: well}} {
		f.Narrow, f.Code = true, code
		table, err := New(f)
		if err != nil || len(table.frames) != 1 || len(table.frames[0].index) != 1 {
			t.Errorf("%+v, %v; want one section of one function", table, err)
		}
	}
}
