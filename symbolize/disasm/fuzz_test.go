package disasm

import (
	"path/filepath"
	"testing"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// FuzzOpen disassembles all functions of a file, and aligns each with the one before.
func FuzzOpen(f *testing.F) {
	fuzztest.Add(f)
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		livetest.WriteFile(t, path, data)
		defer memtest.Within(t, 64<<20+2000*len(data))()
		file, err := Open(path)
		if err != nil {
			return
		}
		defer file.Close()
		var before []Instruction
		total := 0
		for s := range file.Functions() {
			list, err := file.Function(s)
			if err != nil {
				continue
			}
			for i, x := range list {
				if x.Text == "" || x.Key == "" || x.Off >= s.End-s.Start || i > 0 && x.Off <= list[i-1].Off {
					t.Fatalf("%s: instruction %d is %+v", s.Name, i, x)
				}
			}
			if len(list) < 500 && len(before) < 500 {
				if rows := Align(before, list); len(rows) < max(len(before), len(list)) {
					t.Fatalf("%d rows of %d and %d instructions", len(rows), len(before), len(list))
				}
			}
			before = list
			if total += len(list); total > 20_000 {
				return // functions may overlap
			}
		}
	})
}
