package record

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
)

// Build ids are read from files that anybody may have mapped.
func FuzzELFBuildID(f *testing.F) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		f.Fatal(err)
	}
	defer self.Close()
	head := make([]byte, 8<<10)
	n, _ := self.ReadAt(head, 0)
	f.Add(head[:n])
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if id := elfBuildID(bytes.NewReader(b)); len(id) > maxBuildID {
			t.Errorf("build id of %d bytes", len(id))
		}
		for _, align := range []uint64{0, 4, 8} {
			if id := buildIDNote(b, binary.LittleEndian, align); len(id) > maxBuildID || id != nil && len(id) == 0 {
				t.Errorf("build id of %d bytes", len(id))
			}
		}
	})
}

// Names in /proc are the processes' own.
func FuzzProc(f *testing.F) {
	f.Add([]byte("7f0c1000-7f0c3000 r-xp 00001000 fe:1a 1234      /usr/lib/libc.so.6"))
	f.Add([]byte("12 (a) b (c) S 7 1 1 0 -1 2129984 1 2 3 4 5 6 7 8 20 0 33 0 5\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseStat(b)
		var m mapping
		if m.parse(b) && len(m.name) == 0 {
			t.Error("a mapping without a name")
		}
	})
}
