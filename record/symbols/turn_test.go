package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// buildIDNote is an ELF file without code that has a build id, as the kernel's
// Documentation/ELF notes have it: the smallest that is read.
func buildIDNote(t *testing.T, path string, id byte) abi.Mmap {
	t.Helper()
	o := abi.LittleEndian
	b := make([]byte, 64) // ELF64 header: one program header, at 64
	copy(b, "\x7fELF\x02\x01\x01")
	o.AppendUint16(b[:16], 3)    // ET_DYN
	o.AppendUint16(b[:18], 62)   // EM_X86_64
	o.AppendUint32(b[:20], 1)    // version
	o.AppendUint64(b[:32], 64)   // e_phoff
	o.AppendUint16(b[:52], 64)   // e_ehsize
	o.AppendUint16(b[:54], 56)   // e_phentsize
	o.AppendUint16(b[:56], 1)    // e_phnum
	b = o.AppendUint32(b, 4)     // PT_NOTE
	b = o.AppendUint32(b, 4)     // readable
	b = o.AppendUint64(b, 120)   // offset
	b = o.AppendUint64(b, 0)     // addresses
	b = o.AppendUint64(b, 0)     //
	b = o.AppendUint64(b, 16+20) // sizes
	b = o.AppendUint64(b, 16+20) //
	b = o.AppendUint64(b, 4)     // alignment
	b = o.AppendUint32(o.AppendUint32(o.AppendUint32(b, 4), 20), 3)
	b = append(b, "GNU\x00"...)
	for range 20 {
		b = append(b, id)
	}
	livetest.WriteFile(t, path, b)
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return abi.Mmap{PID: nobody, Addr: 0x1000, Len: 0x1000, Maj: unix.Major(st.Dev), Min: unix.Minor(st.Dev), Ino: st.Ino, File: path}
}

// TestTurn: of a recording without end what is kept is what was mapped in the last turns:
// the files of programs that were built and ran in between are let go, with their build
// ids, also where all have the same name.
func TestTurn(t *testing.T) {
	dir := t.TempDir()
	files := NewFileRetainer()
	defer files.Close()
	files.limits.files = 8
	b := NewBuildIDs(&abi.Attr{}, files)
	stays := buildIDNote(t, filepath.Join(dir, "stays"), 0xff)
	const turns = 30
	for i := range turns {
		b.Take(mmapRecord(&stays)) // as what runs is described
		path := filepath.Join(dir, "a.out")
		os.Remove(path)
		built := buildIDNote(t, path, byte(i))
		built.Addr += uint64(i) << 12
		built.InoGen = uint64(i) // inodes may be used again
		b.Take(mmapRecord(&built))
		ids, err := b.SoFar(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := min(i+1, keptTurns+1) + 1; len(ids) != n || ids[len(ids)-1].ID[0] != byte(i) {
			t.Fatalf("turn %d: %d build ids, want %d, the last %x", i, len(ids), n, ids[len(ids)-1].ID)
		}
		for back := range min(i+1, keptTurns+1) {
			at, err := files.Retained(nobody, built.Addr-uint64(back)<<12, path)
			if err != nil {
				t.Fatal(err)
			}
			elf, err := os.ReadFile(at)
			if err != nil || elf[len(elf)-1] != byte(i-back) {
				t.Errorf("turn %d: what was mapped %d turns ago is %x, %v", i, back, elf[max(0, len(elf)-1):], err)
			}
		}
		if i < turns-1 {
			b.Turn()
		}
	}
	if _, err := b.SoFar(t.Context()); err != nil {
		t.Fatal(err)
	}
	files.mu.Lock()
	kept := fmt.Sprint(len(files.files), len(files.byPath), len(files.others), files.open, len(b.seen))
	files.mu.Unlock()
	if want := fmt.Sprint(keptTurns+2, 2, keptTurns, keptTurns+2, keptTurns+2); kept != want {
		t.Errorf("kept %s, want %s", kept, want)
	}
}
