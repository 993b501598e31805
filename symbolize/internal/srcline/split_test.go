package srcline

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"kprof/perfevent/livetest"
)

// packed returns a package of parts, with what another one could have in front.
func packed(version uint32, order binary.AppendByteOrder, slots int, ids []uint64, parts []*Sections) (Sections, []byte) {
	columns := []uint32{1, 3, 6, 8}
	var whole Sections
	var offsets, sizes []byte
	for _, p := range parts {
		for _, of := range []struct{ whole, part *[]byte }{
			{&whole.Info, &p.Info}, {&whole.Abbrev, &p.Abbrev}, {&whole.StrOffsets, &p.StrOffsets}, {&whole.RngLists, &p.RngLists},
		} {
			*of.whole = append(*of.whole, "other"...)
			offsets = order.AppendUint32(offsets, uint32(len(*of.whole)))
			sizes = order.AppendUint32(sizes, uint32(len(*of.part)))
			*of.whole = append(*of.whole, *of.part...)
		}
		whole.Str = p.Str // of the only part that has any
	}
	hashes, indexes := make([]uint64, slots), make([]uint32, slots)
	for row, id := range ids {
		mask := uint64(slots - 1)
		slot := id & mask
		for indexes[slot] != 0 {
			slot = (slot + (id>>32&mask | 1)) & mask
		}
		hashes[slot], indexes[slot] = id, uint32(row+1)
	}
	var b []byte
	if version == 5 {
		b = order.AppendUint16(b, 5)
		b = order.AppendUint16(b, 0)
	} else {
		b = order.AppendUint32(b, version)
	}
	for _, n := range []int{len(columns), len(parts), slots} {
		b = order.AppendUint32(b, uint32(n))
	}
	for _, h := range hashes {
		b = order.AppendUint64(b, h)
	}
	for _, i := range indexes {
		b = order.AppendUint32(b, i)
	}
	for _, c := range columns {
		b = order.AppendUint32(b, c)
	}
	return whole, slices.Concat(b, offsets, sizes)
}

// compiledSplit returns the debug sections of a program and of its .dwo file.
func compiledSplit(t *testing.T, compiler, source string, flags ...string) (skeleton, dwo *Sections) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "split")
	livetest.Run(t, compiler, append(flags, "-g", "-gsplit-dwarf", "-c", "-o", program+".o", filepath.Join("../../elfsym/testdata", source))...)
	livetest.Run(t, compiler, append(flags, "-o", program, program+".o")...)
	return sectionsOf(t, program, ""), sectionsOf(t, program+".dwo", ".dwo")
}

// TestSplit compares what a program with its functions in a .dwo file, or in a package of
// these, has at each address with what it has without.
func TestSplit(t *testing.T) {
	for _, test := range []struct {
		compiler string
		flag     string
		version  uint32
	}{{"g++", "-gdwarf-4", 2}, {"g++", "-gdwarf-5", 5}, {"clang++", "-gdwarf-4", 2}, {"clang++", "-gdwarf-5", 5}} {
		whole := needs(t, test.compiler, "inline.cc", "-O2", test.flag)
		want := everything(New(*whole, nil, nil))
		skeleton, dwo := compiledSplit(t, test.compiler, "inline.cc", "-O2", test.flag)
		var asked []SplitUnit
		d := New(*skeleton, nil, func(u SplitUnit) (Sections, error) {
			asked = append(asked, u)
			if !dwo.HasSplit(u.ID) || dwo.HasSplit(u.ID+1) {
				t.Errorf("%s %s: the unit %x is not known by its id", test.compiler, test.flag, u.ID)
			}
			return *dwo, nil
		})
		if got := everything(d); !reflect.DeepEqual(got, want) || d.Err() != nil {
			t.Errorf("%s %s: frames differ, %v", test.compiler, test.flag, d.Err())
		}
		if len(asked) != 1 || filepath.Base(asked[0].Name) != "split.dwo" || !filepath.IsAbs(asked[0].Dir) {
			t.Fatalf("%s %s: asked for %+v, want split.dwo once", test.compiler, test.flag, asked)
		}

		id := asked[0].ID
		collides := id ^ 1<<40
		s, index := packed(test.version, binary.LittleEndian, 4, []uint64{collides, id}, []*Sections{{}, dwo})
		p, err := NewPackage(s, index)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.Unit(id + 1); ok {
			t.Errorf("%s %s: a unit that is not in the package", test.compiler, test.flag)
		}
		d = New(*skeleton, nil, func(u SplitUnit) (Sections, error) {
			s, ok := p.Unit(u.ID)
			if !ok {
				t.Errorf("%s %s: the unit is not in the package", test.compiler, test.flag)
			}
			return s, nil
		})
		if got := everything(d); !reflect.DeepEqual(got, want) || d.Err() != nil {
			t.Errorf("%s %s: frames differ in a package, %v", test.compiler, test.flag, d.Err())
		}

		d = New(*skeleton, nil, func(SplitUnit) (Sections, error) { return Sections{}, nil })
		everything(d)
		if err := d.Err(); !errors.Is(err, ErrSplit) {
			t.Errorf("%s %s: %v of a file without the unit, want %v", test.compiler, test.flag, err, ErrSplit)
		}
	}
}

// TestSplitMemory: what is in .dwo files counts as what their skeletons hold.
func TestSplitMemory(t *testing.T) {
	needs(t, "gcc", "inline.c")
	skeleton, dwo := compiledSplit(t, "gcc", "inline.c", "-O2")
	held := func(memory int) int {
		dwo.Memory = memory
		d := New(*skeleton, nil, func(SplitUnit) (Sections, error) { return *dwo, nil })
		everything(d)
		return d.held
	}
	mapped, read := held(0), held(1<<20)
	if mapped < 1000 || read != mapped+1<<20 {
		t.Errorf("%d bytes held, and %d with a file in memory", mapped, read)
	}
}

func TestPackages(t *testing.T) {
	parts := []*Sections{{Info: []byte("one"), Str: []byte("strings")}, {Info: []byte("two"), Str: []byte("strings")}}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, version := range []uint32{2, 5} {
			s, index := packed(version, order, 8, []uint64{7 << 32, 1}, parts)
			s.BigEndian = order == binary.AppendByteOrder(binary.BigEndian)
			p, err := NewPackage(s, index)
			if err != nil {
				t.Errorf("version %d, %v: %v", version, order, err)
				continue
			}
			if one, ok := p.Unit(7 << 32); !ok || string(one.Info) != "one" || string(one.Str) != "strings" {
				t.Errorf("version %d, %v: %+v, %v", version, order, one, ok)
			}
			if two, ok := p.Unit(1); !ok || string(two.Info) != "two" {
				t.Errorf("version %d, %v: %+v, %v", version, order, two, ok)
			}
			if _, ok := p.Unit(9); ok {
				t.Errorf("version %d, %v: a unit that is not there", version, order)
			}
			for n := range index {
				if p, err := NewPackage(s, index[:n]); !errors.Is(err, ErrFormat) {
					t.Errorf("version %d, %v: %v, %v of %d bytes", version, order, p, err, n)
				}
			}
			for i := range index {
				spoiled := bytes.Clone(index)
				spoiled[i] ^= 0xff
				if p, err := NewPackage(s, spoiled); err == nil {
					p.Unit(7 << 32)
					p.Unit(1)
				}
			}
		}
	}

	// Slots that are all taken have no end by themselves.
	const slots = 1 << 20
	index := binary.LittleEndian.AppendUint32(nil, 5)
	for _, n := range []uint32{0, 1, slots} {
		index = binary.LittleEndian.AppendUint32(index, n)
	}
	index = append(append(index, make([]byte, 8*slots)...), bytes.Repeat([]byte{1}, 4*slots)...)
	p, err := NewPackage(Sections{}, index)
	if err != nil {
		t.Fatal(err)
	}
	start := livetest.CPUTime(t)
	for id := range uint64(1000) {
		p.Unit(id | 1<<63)
	}
	if took := livetest.CPUTime(t) - start; took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}
