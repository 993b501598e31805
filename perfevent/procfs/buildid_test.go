package procfs

import (
	"encoding/binary"
	"strings"
	"testing"
	"testing/fstest"

	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// note is an ELF note.
func note(kind uint32, name, desc string) []byte {
	o := binary.LittleEndian
	b := o.AppendUint32(o.AppendUint32(o.AppendUint32(nil, uint32(len(name))), uint32(len(desc))), kind)
	return append(append(b, name...), desc...)
}

func TestBuildID(t *testing.T) {
	good := append(note(5, "Xen\x00", "four"), note(3, "GNU\x00", "0123456789abcdef0123")...)
	if got := BuildID(good, 4, binary.LittleEndian); string(got) != "0123456789abcdef0123" {
		t.Errorf("%q", got)
	}
	for n := range good {
		if got := BuildID(good[:n], 4, binary.LittleEndian); got != nil {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
	huge := note(3, "GNU\x00", "x")
	binary.LittleEndian.PutUint32(huge[4:], 1<<32-1)
	if got := BuildID(huge, 8, binary.LittleEndian); got != nil {
		t.Errorf("%q", got)
	}
}

func TestBuildIDSizes(t *testing.T) {
	for _, size := range []int{1, 8, 16, 20, 32, 63, 64, 65, 1000} {
		id := strings.Repeat("x", size)
		want := id
		if size > MaxBuildID {
			want = ""
		}
		if got := BuildID(note(3, "GNU\x00", id), 4, binary.LittleEndian); string(got) != want {
			t.Errorf("%d bytes: %q", size, got)
		}
	}
	// After a note whose description is padded to 8 bytes there.
	wide := append(note(1, "GNU\x00", "0123"), 0, 0, 0, 0)
	wide = append(wide[:16], append([]byte{}, wide[16:]...)...)
	wide = append(wide, note(3, "GNU\x00", "abcd")...)
	if got := BuildID(wide, 8, binary.LittleEndian); string(got) != "abcd" {
		t.Errorf("padded to 8: %q", got)
	}
}

func TestReadBuildID(t *testing.T) {
	native := func(id string) []byte {
		o := binary.NativeEndian
		b := o.AppendUint32(o.AppendUint32(o.AppendUint32(nil, 4), uint32(len(id))), 3)
		return append(append(b, "GNU\x00"...), id...)
	}
	long := strings.Repeat("0123456789abcdef", 4)
	sysfs := fstest.MapFS{
		"kernel/notes":                         {Data: native(long)},
		"module/fuse/notes/.note.gnu.build-id": {Data: native("01234567890123456789")},
		"module/none/notes/.note.gnu.build-id": {},
	}
	livetest.Table(t, func(name string) string { return string(ReadBuildID(sysfs, name)) }, map[string]string{
		KernelNotes: long, ModuleNotes("fuse"): "01234567890123456789", ModuleNotes("none"): "",
		ModuleNotes("gone"): "", ModuleNotes(".."): "", ModuleNotes(""): "",
	})
}

func TestReadCPUs(t *testing.T) {
	sysfs := fstest.MapFS{CPUsOnline: {Data: []byte("0-3,8\n")}, CPUsPresent: {Data: []byte("x\n")}}
	if got, err := ReadCPUs(sysfs, CPUsOnline); err != nil || FormatCPUs(got) != "0-3,8" {
		t.Errorf("%v, %v", got, err)
	}
	for _, name := range []string{CPUsPresent, NodesOnline} {
		if got, err := ReadCPUs(sysfs, name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzBuildID(f *testing.F) {
	f.Add(note(3, "GNU\x00", "0123456789abcdef0123"))
	f.Add(append(note(5, "Xen\x00", "four"), note(3, "GNU\x00", "x")...))
	f.Fuzz(func(t *testing.T, b []byte) {
		defer memtest.Within(t, 1<<20)()
		for _, align := range []uint64{0, 4, 8} {
			for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
				if id := BuildID(b, align, o); len(id) > MaxBuildID || id != nil && len(id) == 0 {
					t.Errorf("build id of %d bytes", len(id))
				}
			}
		}
	})
}
