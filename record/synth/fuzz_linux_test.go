package synth

import (
	"bytes"
	"os"
	"testing"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
	"kprof/perfevent/procfs"
)

// Build ids are read from files that anybody may have mapped.
func FuzzELFBuildID(f *testing.F) {
	fuzztest.Add(f)
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
		defer memtest.Within(t, 32<<20+500*len(b))() // debug/elf reads 10 MiB at once
		if id := elfBuildID(bytes.NewReader(b)); len(id) > procfs.MaxBuildID || id != nil && len(id) == 0 {
			t.Errorf("build id of %d bytes", len(id))
		}
	})
}

// Names in /proc are the processes' own.
func FuzzProc(f *testing.F) {
	fuzztest.Add(f)
	f.Add([]byte("7f0c1000-7f0c3000 r-xp 00001000 fe:1a 1234      /usr/lib/libc.so.6"))
	f.Add([]byte("12 (a) b (c) S 7 1 1 0 -1 2129984 1 2 3 4 5 6 7 8 20 0 33 0 5\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		defer memtest.Within(t, 1<<20+500*len(b))()
		parseStat(b)
		var m mapping
		if m.parse(b) && len(m.name) == 0 {
			t.Error("a mapping without a name")
		}
	})
}
