package stacks

import (
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"testing"
)

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		x    any
		want uintptr
	}{
		{Mapping{}, mappingSize}, {Location{}, locationSize}, {Line{}, lineSize}, {Function{}, functionSize}, {Label{}, labelSize},
		{row{}, 16},
	} {
		got := reflect.TypeOf(c.x).Size()
		if strconv.IntSize == 32 && got <= c.want {
			continue // the sizes are those of 64 bits
		}
		if got != c.want {
			t.Errorf("%T has %d bytes, not %d", c.x, got, c.want)
		}
	}
}

// TestSize holds Size to what the heap grows by, for Sets that are large in one
// way each.
func TestSize(t *testing.T) {
	const n = 200_000
	event := Event{Name: "e", Values: make([]ValueType, 3)}
	for name, fill := range map[string]func(*Set){
		"locations": func(s *Set) {
			for i := range n {
				s.SetLines(s.AddLocation(NoMapping, uint64(i), KindUser), Line{}, Line{})
			}
		},
		"functions": func(s *Set) {
			for i := range n {
				s.AddFunction(Function{StartLine: int64(i)})
			}
		},
		"mappings": func(s *Set) {
			for range n {
				s.AddMapping(Mapping{})
			}
		},
		"labels": func(s *Set) {
			for i := range n {
				s.InternLabels([]Label{{Key: "a key", Num: int64(i)}, {Key: "a key", Str: "a string"}})
			}
		},
		"stacks": func(s *Set) {
			for i := range uint32(n) {
				s.Add(0, s.Intern([]uint32{1, 2, 3, i}), 0, 1, 2, 3)
			}
		},
		"rows": func(s *Set) {
			for i := range LabelsID(n) {
				s.Add(0, s.Intern([]uint32{1, 2, 3}), i, 1, 2, 3)
			}
		},
		"deep": func(s *Set) {
			deep := make([]uint32, MaxDepth)
			for i := range uint32(50) {
				deep[0] = i
				s.Add(0, s.Intern(deep), 0, 1, 2, 3)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			s := New(event)
			fill(s)
			grown, size := heap()-before, s.Size()
			most := grown * 2
			if strconv.IntSize == 32 {
				most = grown * 4
			}
			if size < grown*9/10 || size > most {
				t.Errorf("Size is %d, the heap has grown by %d", size, grown)
			}
			runtime.KeepAlive(s)
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestMaxKept(t *testing.T) {
	for size, want := range map[int64]int64{0: 48 << 20, 1 << 20: 144 << 20} {
		if got := MaxKept(size); got != want {
			t.Errorf("of %d bytes %d may be kept, not %d", size, got, want)
		}
	}
	want := "583000 bytes that expand to more than 101 MiB of memory: no profile is like that"
	if got := fmt.Sprint(&TooLargeError{583_000}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
