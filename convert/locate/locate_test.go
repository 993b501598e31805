package locate

import (
	"fmt"
	"testing"

	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
)

func page(n int) uint64 { return uint64(n) * 0x1000 }

// mmapRecord is the payload of a MMAP record.
func mmapRecord(pid uint32, addr, size uint64, file string) []byte {
	o := abi.LittleEndian
	b := o.AppendUint32(o.AppendUint32(nil, pid), pid)
	b = o.AppendUint64(o.AppendUint64(o.AppendUint64(b, addr), size), 0)
	return append(append(b, file...), make([]byte, 8-len(file)%8)...)
}

// TestTooManyMappings finds places in more files than are told apart.
func TestTooManyMappings(t *testing.T) {
	tl, set := timeline.New(timeline.Options{}), stacks.New()
	l := New(tl, set, Options{})
	n := maxMappings * 3 / 2
	layout := abi.NewLayout(&abi.Attr{}, abi.LittleEndian)
	for i := range n {
		h := abi.Header{Type: abi.RecordMmap, Misc: abi.MiscUser}
		if err := tl.Add(&layout, h, mmapRecord(7, page(i), 0x1000, fmt.Sprint("/f", i)), 1); err != nil {
			t.Fatal(err)
		}
	}
	tl.Freeze()
	st := tl.At(7, 7, 2)
	v := tl.View(&st, timeline.User)
	for i := range n {
		l.at(&v, page(i))
	}
	beyond := l.Stats().OverflowFrames
	if got := len(set.Mappings); beyond == 0 || uint64(got)+beyond != uint64(n) || got > maxMappings+n/8+1 {
		t.Errorf("%d mappings, %d of %d places beyond", got, beyond, n)
	}
	if loc := set.Locations[l.at(&v, page(5))]; loc.Mapping < 0 || set.Mappings[loc.Mapping].File != "/f5" {
		t.Errorf("file 5 became %+v", loc)
	}
}

// TestDumpsOfOnePath: code that two processes made, each as its dump has it, is apart though
// both dumps have the same path, as they do in containers.
func TestDumpsOfOnePath(t *testing.T) {
	tl, set := timeline.New(timeline.Options{}), stacks.New()
	l := New(tl, set, Options{})
	for _, pid := range []int{7, 9} {
		tl.AddJITCode(timeline.JITDump{PID: pid, Path: "/tmp/jit-1.dump"}, []timeline.JITCode{{Time: 1, Start: 0x4000, Limit: 0x4040, Offset: 0x100}})
	}
	tl.Freeze()
	for _, pid := range []int32{7, 9, 7} {
		st := tl.At(pid, pid, 2)
		v := tl.View(&st, timeline.User)
		loc := set.Locations[l.at(&v, 0x4010)]
		if loc.Mapping < 0 || set.Mappings[loc.Mapping].PID != int(pid) {
			t.Errorf("process %d: %+v of %+v", pid, loc, set.Mappings)
		}
	}
	if len(set.Locations) != 2 || len(set.Mappings) != 2 {
		t.Errorf("%d locations, %d mappings", len(set.Locations), len(set.Mappings))
	}
}
