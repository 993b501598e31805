package livetest

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Breakpoints: a processor that stops at hardware breakpoints. Those of some virtual
// machines never do, although the kernel opens them. It is tried by the system call alone,
// without what it is needed to test.
func Breakpoints() string {
	if !breakpointHits() {
		return "breakpoints that the processor stops at"
	}
	return ""
}

var breakpointHits = sync.OnceValue(func() bool {
	const writes, attrSize = 2, 72 // HW_BREAKPOINT_W, PERF_ATTR_SIZE_VER1
	var watched atomic.Uint64
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
		Type:    unix.PERF_TYPE_BREAKPOINT,
		Size:    attrSize,
		Sample:  1,
		Bp_type: writes,
		Ext1:    uint64(reflect.ValueOf(&watched).Pointer()),
		Ext2:    8, // bytes
		Bits:    unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	watched.Store(1)
	count := make([]byte, 8)
	_, err = unix.Read(fd, count)
	return err == nil && binary.NativeEndian.Uint64(count) == 1
})

// Narrow: a kernel that runs programs of 32 bits. Not every one of x86_64 does, nor every
// virtual machine.
func Narrow() string {
	if !runsNarrow() {
		return "32-bit-programs that run"
	}
	return ""
}

var runsNarrow = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "narrow")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "exit")
	return runtime.GOARCH == "amd64" && os.WriteFile(name, exit32(), 0o700) == nil && exec.Command(name).Run() == nil
})

// exit32 is a program for i386 that exits: an ELF header, one segment, four instructions
// (elf(5)).
func exit32() []byte {
	const base, headers = 0x10000, 52 + 32
	code := []byte{0xb8, 1, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80} // mov $1, %eax; xor %ebx, %ebx; int $0x80
	b := []byte("\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	half := func(v ...uint16) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	}
	word := func(v ...uint32) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
	}
	size := uint32(headers + len(code))
	half(2, 3)                                     // ET_EXEC, EM_386
	word(1, base+headers, 52, 0, 0)                // version, entry, program headers, no sections, flags
	half(52, 32, 1, 40, 0, 0)                      // sizes and numbers of headers
	word(1, 0, base, base, size, size, 1|4, 1<<12) // PT_LOAD, readable and executable
	return append(b, code...)
}
