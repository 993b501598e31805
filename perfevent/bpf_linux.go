package perfevent

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nextProgram is bpf(2)'s command BPF_PROG_GET_NEXT_ID (include/uapi/linux/bpf.h).
const nextProgram = 11

// BPFPrograms returns the ids of the BPF programs that are loaded, in order. Those who may
// not know get an error: it takes CAP_SYS_ADMIN (bpf_obj_get_next_id, kernel/bpf/syscall.c).
func BPFPrograms() (ids []uint32, err error) {
	var attr struct{ id, next, flags uint32 }
	for {
		_, _, errno := unix.Syscall(unix.SYS_BPF, nextProgram, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		if errors.Is(errno, unix.ENOENT) {
			return ids, nil // that was the last
		}
		if errno != 0 {
			return nil, errno
		}
		ids = append(ids, attr.next)
		attr.id = attr.next
	}
}
