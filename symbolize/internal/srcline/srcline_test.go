package srcline

import (
	"debug/elf"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// compiled returns the debug sections of a small program, nil if it cannot be
// compiled.
func compiled(t testing.TB, compiler, source string, flags ...string) *Sections {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prog")
	args := append([]string{"-g", "-o", path, filepath.Join("../../elfsym/testdata", source)}, flags...)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Logf("%s: %v %.200s", compiler, err, out)
		return nil
	}
	return sectionsOf(t, path, "")
}

// sectionsOf returns the debug sections of a file whose names end in suffix.
func sectionsOf(t testing.TB, path, suffix string) *Sections {
	t.Helper()
	f := livetest.Open(t, elf.Open, path)
	s := &Sections{}
	for name, data := range map[string]*[]byte{
		".debug_info": &s.Info, ".debug_abbrev": &s.Abbrev, ".debug_line": &s.Line, ".debug_str": &s.Str,
		".debug_line_str": &s.LineStr, ".debug_str_offsets": &s.StrOffsets, ".debug_addr": &s.Addr,
		".debug_ranges": &s.Ranges, ".debug_rnglists": &s.RngLists, ".debug_aranges": &s.Aranges,
	} {
		if sec := f.Section(name + suffix); sec != nil {
			b, err := sec.Data()
			if err != nil {
				t.Fatal(err)
			}
			*data = b
		}
	}
	return s
}

func needs(t testing.TB, compiler, source string, flags ...string) *Sections {
	t.Helper()
	s := compiled(t, compiler, source, flags...)
	if s == nil {
		t.Skipf("needs %s", compiler)
	}
	return s
}

// everything returns the frames at all addresses that units cover.
func everything(d *Data) map[uint64][]Frame {
	d.indexOnce.Do(d.readIndex)
	all := map[uint64][]Frame{}
	for _, r := range d.index.ranges {
		for addr := r.Start; addr < r.End && addr-r.Start < 1<<16; addr++ {
			all[addr] = d.AppendFrames(nil, addr, true)
		}
	}
	return all
}

// TestIndexes compares what is found by .debug_aranges, by the root entries of
// units, and by their functions.
func TestIndexes(t *testing.T) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		s := needs(t, "g++", "inline.cc", "-O2", version)
		want := everything(New(*s, nil, nil))
		if len(want) < 1000 {
			t.Fatalf("%s: only %d addresses", version, len(want))
		}
		without := *s
		without.Aranges = nil
		if got := everything(New(without, nil, nil)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: frames differ without .debug_aranges", version)
		}
		// Half a table is no table.
		without.Aranges = s.Aranges[:len(s.Aranges)/2]
		if got := everything(New(without, nil, nil)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: frames differ with a part of .debug_aranges", version)
		}
	}
}

// TestOutermostOnly asks for frames without inlined ones: the line is then that
// of the call in the function that holds the code.
func TestOutermostOnly(t *testing.T) {
	d := New(*needs(t, "g++", "inline.cc", "-O2"), nil, nil)
	inlined := 0
	for addr, frames := range everything(d) {
		got := d.AppendFrames(nil, addr, false)
		if len(frames) == 0 || len(got) != 1 || got[0] != frames[len(frames)-1] {
			t.Fatalf("%#x: %+v, of %+v", addr, got, frames)
		}
		if len(frames) > 1 {
			inlined++
		}
	}
	if inlined == 0 {
		t.Error("nothing was inlined")
	}
}

// TestCodeLeftOut asks where the linker has put the functions that it left out:
// at address 0.
func TestCodeLeftOut(t *testing.T) {
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		s := needs(t, "gcc", "inline.c", "-O2", version, "-ffunction-sections", "-Wl,--gc-sections")
		without := *s
		without.Aranges = nil
		for _, s := range []Sections{*s, without} {
			d := New(s, nil, nil)
			for addr := uint64(0); addr < 64; addr++ {
				if frames := d.AppendFrames(nil, addr, true); len(frames) > 0 {
					t.Fatalf("%s: %#x is %+v", version, addr, frames)
				}
			}
		}
	}
}

func TestStartLines(t *testing.T) {
	d := New(*needs(t, "gcc", "inline.c", "-O2"), nil, nil)
	want := map[string]int{"innermost": 8, "middle": 14, "nested": 22, "inner": 25, "elsewhere": 33, "split": 38, "unused": 48, "main": 53}
	for _, frames := range everything(d) {
		for _, f := range frames {
			if f.Name == "" {
				continue // between functions, or the C library's
			}
			if w, ok := want[f.Name]; !ok || f.StartLine != w {
				t.Fatalf("%+v, want start line %d", f, w)
			}
		}
	}
}

// TestBoundedMemory keeps no more units than the bound allows.
func TestBoundedMemory(t *testing.T) {
	d := New(*needs(t, "gcc", "inline.c", "-O2", "-flto", "-static"), nil, nil)
	want := everything(d)
	d = New(d.s, nil, nil)
	d.limit = 1
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for addr, w := range want {
				if got := d.AppendFrames(nil, addr, true); !reflect.DeepEqual(got, w) {
					t.Errorf("%#x: %v, want %v", addr, got, w)
				}
			}
		})
	}
	wg.Wait()
	if d.recent.Len() != 1 || len(d.loaded) != 1 {
		t.Errorf("%d units are kept, want 1", len(d.loaded))
	}
}

func TestMalformed(t *testing.T) {
	s := *needs(t, "gcc", "inline.c", "-O2", "-gdwarf-5")
	for _, test := range []struct {
		name  string
		spoil func(s *Sections)
	}{
		{"no units", func(s *Sections) { s.Info = nil }},
		{"length", func(s *Sections) { s.Info = append([]byte{0xff, 0xff, 0xff, 0xef}, s.Info[4:]...) }},
		{"version", func(s *Sections) {
			s.Info = append([]byte{10, 0, 0, 0, 9, 0, 1, 8, 0, 0, 0, 0}, s.Info...)
			s.Aranges = nil
		}},
		{"abbreviations", func(s *Sections) { s.Abbrev = s.Abbrev[:len(s.Abbrev)/2] }},
		{"lines", func(s *Sections) { s.Line = s.Line[:10] }},
		{"ranges", func(s *Sections) { s.RngLists, s.Aranges = nil, nil }},
	} {
		broken := s
		test.spoil(&broken)
		d := New(broken, nil, nil)
		everything(d)
		if d.Err() == nil {
			t.Errorf("%s: no error", test.name)
		}
	}
}

// TestBombs describes much in few bytes.
func TestBombs(t *testing.T) {
	leb := func(v int) []byte {
		var b []byte
		for ; v >= 0x80; v >>= 7 {
			b = append(b, byte(v)|0x80)
		}
		return append(b, byte(v))
	}
	unit := func(dies []byte) []byte {
		n := len(dies) + 7
		return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), 4, 0, 0, 0, 0, 0, 8}, dies...)
	}
	// 1: unit with low_pc addr, high_pc udata; 2: function, the same; 3: inlined
	// call with ranges sec_offset; 4: the same with children, origin ref1.
	abbrev := []byte{
		1, 0x11, 1, 0x11, 1, 0x12, 0x0f, 0, 0,
		2, 0x2e, 1, 0x11, 1, 0x12, 0x0f, 0, 0,
		3, 0x1d, 0, 0x55, 0x17, 0, 0,
		4, 0x1d, 1, 0x11, 1, 0x12, 0x0f, 0x31, 0x11, 0, 0,
		0,
	}
	at := []byte{0, 0, 1, 0, 0, 0, 0, 0, 0x80, 0x20} // 0x10000, 4096 bytes
	head := append(append([]byte{1}, at...), append([]byte{2}, at...)...)
	ranges := make([]byte, 16<<16)
	for i := range ranges {
		ranges[i] = 1 + byte(i&8)
	}
	var many, deep []byte
	for range 1 << 18 {
		many = append(many, 3, 0, 0, 0, 0)
		deep = append(append(append(deep, 4), at...), 11)
	}
	for name, s := range map[string]Sections{
		"many lists of ranges": {Info: unit(append(head[:len(head):len(head)], many...)), Abbrev: abbrev, Ranges: ranges},
		"calls in calls":       {Info: unit(append(head[:len(head):len(head)], deep...)), Abbrev: abbrev},
		"units with one list":  {Info: repeat(unit([]byte{1, 0, 0, 0, 0}), 1<<15), Abbrev: []byte{1, 0x11, 0, 0x55, 0x17, 0, 0, 0}, Ranges: ranges},
		"units with one table": {Info: repeat(unit([]byte{9}), 1<<15), Abbrev: append(repeat([]byte{8, 0x11, 0, 0, 0}, 1<<15), 0)},
		"wide entries":         {Info: unit(append(head[:len(head):len(head)], repeat([]byte{9}, 1<<16)...)), Abbrev: append(append(abbrev[:len(abbrev)-1:len(abbrev)-1], 9, 0x2e, 0), append(repeat([]byte{0x11, 0x19}, 1<<16), 0, 0, 0)...)},
		"origins in a circle":  {Info: unit(append(head[:len(head):len(head)], append(append([]byte{4}, at...), leb(11+2*len(at)+2)...)...)), Abbrev: abbrev},
	} {
		start := livetest.CPUTime(t)
		d := New(s, nil, nil)
		for addr := uint64(0x10000); addr < 0x10004; addr++ {
			if n := len(d.AppendFrames(nil, addr, true)); n > maxInlined {
				t.Errorf("%s: %d frames", name, n)
			}
		}
		if took := livetest.CPUTime(t) - start; took > 10*time.Second {
			t.Errorf("%s: took %v", name, took)
		} else {
			t.Logf("%s: %v, %v", name, took, d.Err())
		}
	}
}

func repeat(b []byte, n int) []byte { return []byte(strings.Repeat(string(b), n)) }

func TestErrorsAreFormatErrors(t *testing.T) {
	d := New(Sections{Info: []byte{1, 2, 3}}, nil, nil)
	d.AppendFrames(nil, 1, true)
	if err := d.Err(); !errors.Is(err, ErrFormat) || !strings.Contains(fmt.Sprint(err), "byte 0x0") {
		t.Errorf("error %v, want %v with the offset", err, ErrFormat)
	}
}

func FuzzData(f *testing.F) {
	fuzztest.Add(f)
	for _, flags := range [][]string{
		{"gcc", "inline.c", "-O2", "-gdwarf-5"},
		{"gcc", "inline.c", "-O2", "-gdwarf-3"},
		{"gcc", "inline.c", "-O2", "-gdwarf64"},
		{"gcc", "inline.c", "-O2", "-gdwarf-4", "-gsplit-dwarf"},
		{"rustc", "inline.rs", "-O", "-Cdwarf-version=5", "--crate-type=cdylib", "-Cpanic=abort", "-Clink-arg=-nostdlib"},
	} {
		if s := compiled(f, flags[0], flags[1], flags[2:]...); s != nil && len(s.Info) < 1<<15 {
			f.Add(s.Info, s.Abbrev, s.Line, s.Str, s.StrOffsets, s.Addr, s.Ranges, s.RngLists, s.Aranges, false)
		}
	}
	f.Fuzz(func(t *testing.T, info, abbrev, line, str, offsets, addr, ranges, rnglists, aranges []byte, big bool) {
		defer memtest.Within(t, 16<<20+500*(len(info)+len(abbrev)+len(line)+len(str)+len(offsets)+len(addr)+len(ranges)+len(rnglists)+len(aranges)))()
		s := Sections{
			Info: info, Abbrev: abbrev, Line: line, Str: str, LineStr: str, StrOffsets: offsets,
			Addr: addr, Ranges: ranges, RngLists: rnglists, Aranges: aranges, BigEndian: big, Relocatable: big,
		}
		d := New(s, New(s, nil, nil), func(SplitUnit) (Sections, error) { return s, nil })
		d.AppendFrames(nil, 0, true)
		for i, r := range d.index.ranges {
			for _, addr := range []uint64{r.Start, r.Start + (r.End-r.Start)/2, r.End - 1} {
				for _, f := range d.AppendFrames(nil, addr, true) {
					if len(f.Name) > maxString || len(f.File) > 3*maxString {
						t.Fatalf("frame with %d and %d bytes", len(f.Name), len(f.File))
					}
				}
			}
			if i == 50 {
				break
			}
		}
	})
}
