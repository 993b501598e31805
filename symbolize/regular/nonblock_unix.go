//go:build unix && (!linux || portable)

package regular

import "syscall"

// nonblock: a FIFO that took the place of the file is not waited for.
const nonblock = syscall.O_NONBLOCK
