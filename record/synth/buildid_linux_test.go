package synth

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/procfs/procfstest"
)

// elfOfBuildID is an ELF file of nothing but a header and a build id.
func elfOfBuildID(id string) []byte {
	le := binary.LittleEndian
	b := []byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	b = le.AppendUint16(b, 3)  // ET_DYN
	b = le.AppendUint16(b, 62) // EM_X86_64
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, 0)
	b = le.AppendUint64(b, 64) // program headers
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{64, 56, 1, 64, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	b = le.AppendUint32(b, 4) // PT_NOTE
	b = le.AppendUint32(b, 4)
	notes := procfstest.Note(id)
	for _, v := range []uint64{120, 0, 0, uint64(len(notes)), uint64(len(notes)), 4} {
		b = le.AppendUint64(b, v)
	}
	return append(b, notes...)
}

func TestELFBuildIDOdd(t *testing.T) {
	for _, id := range []string{"8 bytes.", procfstest.LongBuildID} {
		if got := elfBuildID(bytes.NewReader(elfOfBuildID(id))); string(got) != id {
			t.Errorf("%q, want %q", got, id)
		}
	}
	if got := elfBuildID(bytes.NewReader(elfOfBuildID(procfstest.LongBuildID + "x"))); got != nil {
		t.Errorf("%q of a note that is too long", got)
	}
}

// TestBuildIDOfMap reads build ids when the process has another file at the
// address by now, or another file has the name.
func TestBuildIDOfMap(t *testing.T) {
	dir := t.TempDir()
	const a, b, c = "aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb", "cccccccccccccccccccc"
	write := func(id string) string {
		path := filepath.Join(dir, id)
		livetest.WriteFile(t, path, elfOfBuildID(id))
		return path
	}
	// mapOf is the record of a map of path that this process has.
	mapOf := func(path string) abi.Mmap {
		f := livetest.Open(t, os.Open, path)
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		mem, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Munmap(mem) })
		return abi.Mmap{
			PID: int32(os.Getpid()), Addr: uint64(uintptr(unsafe.Pointer(&mem[0]))), Len: uint64(len(mem)),
			Maj: unix.Major(st.Dev), Min: unix.Minor(st.Dev), Ino: st.Ino, File: path,
		}
	}
	check := func(what string, m abi.Mmap, want string) {
		t.Helper()
		if got := string(BuildID(&m)); got != want {
			t.Errorf("%s: build id %q, want %q", what, got, want)
		}
	}
	ofA, ofB := mapOf(write(a)), mapOf(write(b))
	check("a map", ofA, a)
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	ofEnded := ofA
	ofEnded.PID = int32(ended.ProcessState.Pid())
	check("the process has ended", ofEnded, a)
	ofEnded.Ino++
	check("the process has ended, and the name is another file's", ofEnded, "")
	gone := ofB
	gone.Addr = ofA.Addr
	check("the address was used again", gone, b)
	if err := os.Rename(write(c), ofB.File); err != nil {
		t.Fatal(err)
	}
	check("address and name were used again", gone, "")
	if livetest.Root() == "" {
		check("a file whose name is another's", ofB, b)
	}
}
