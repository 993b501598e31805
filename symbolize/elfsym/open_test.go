package elfsym

import (
	"bytes"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kprof/perfevent/livetest"
)

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	livetest.MakeFIFO(t, fifo)
	text := filepath.Join(dir, "text")
	livetest.WriteFile(t, text, strings.Repeat("no program\n", 10))
	for path, want := range map[string]error{
		fifo: ErrNotRegular, dir: ErrNotRegular, "/dev/zero": ErrNotRegular,
		filepath.Join(dir, "none"): fs.ErrNotExist, text: nil,
	} {
		f, err := Open(path, Options{})
		if err == nil {
			f.Close()
			t.Errorf("Open(%s) succeeds", path)
		} else if want != nil && !errors.Is(err, want) {
			t.Errorf("Open(%s): %v, want %v", path, err, want)
		}
	}
}

// TestSparseFile opens files that claim sizes of which they have not written
// a byte.
func TestSparseFile(t *testing.T) {
	program, err := os.ReadFile(build(t))
	if err != nil {
		t.Fatal(err)
	}
	const huge = 1 << 40
	le := func(b []byte, v uint64, n int) {
		for i := range n {
			b[i] = byte(v >> (8 * i))
		}
	}
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	shoff := int(uint64(program[40]) | uint64(program[41])<<8 | uint64(program[42])<<16)
	grow := func(name string) func(b []byte) {
		return func(b []byte) {
			for i, s := range f.Sections {
				if s.Name == name {
					le(b[shoff+64*i+32:], huge, 8)
				}
			}
		}
	}
	for name, change := range map[string]func(b []byte){
		"section names": grow(".shstrtab"),
		"symbols":       grow(".symtab"),
		"strings":       grow(".strtab"),
		"dynamic":       grow(".dynsym"),
		"notes":         grow(".note.gnu.build-id"),
		"relocations":   grow(".rela.plt"),
		"sections":      func(b []byte) { le(b[60:], 0, 2); le(b[shoff+32:], huge, 8) },
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(program)
			change(b)
			path := filepath.Join(t.TempDir(), "sparse")
			livetest.WriteFile(t, path, b)
			if err := os.Truncate(path, 2*huge); err != nil {
				t.Skipf("needs sparse files: %v", err)
			}
			file, err := Open(path, Options{})
			if err == nil {
				err = file.Load()
				file.Close()
			}
			if err == nil && name != "notes" {
				t.Error("no error")
			}
		})
	}
}

func TestConcurrentLookups(t *testing.T) {
	f := open(t, build(t), Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for off := uint64(0); off < 1<<14; off += 7 {
				f.LookupOffset(off)
			}
		})
	}
	wg.Wait()
}

func TestClosedBeforeLoad(t *testing.T) {
	f := open(t, build(t), Options{})
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := f.Load(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Load: %v, want %v", err, fs.ErrClosed)
	}
	if _, ok := f.LookupOffset(0x1000); ok {
		t.Error("found a symbol in a closed file")
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	f := open(t, build(t, "-static"), Options{})
	if err := f.Load(); err != nil {
		t.Fatal(err)
	}
	off := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		f.LookupOffset(off)
		off += 997
	}); n != 0 {
		t.Errorf("LookupOffset allocates %v times", n)
	}
}
