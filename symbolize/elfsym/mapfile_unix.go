//go:build (linux || darwin || freebsd || netbsd || openbsd || dragonfly) && !portable

package elfsym

import (
	"os"
	"syscall"
)

// mapFile maps a file into memory, so that only the parts looked at are read; nil
// where that cannot be done, as for want of addresses on 32 bits.
func mapFile(file *os.File, size int) []byte {
	m, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return m
}

func unmapFile(m []byte) {
	syscall.Munmap(m) // cannot fail for what Mmap returned
}
