package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// kernelLog returns what the running kernel has in its log (syslog(2)).
func kernelLog() ([]byte, error) {
	const readAll, size = 3, 10 // SYSLOG_ACTION_READ_ALL, SYSLOG_ACTION_SIZE_BUFFER
	n, err := unix.Klogctl(size, nil)
	var buf []byte
	if err == nil {
		buf = make([]byte, n)
		n, err = unix.Klogctl(readAll, buf)
	}
	if os.IsPermission(err) { // kernel.dmesg_restrict
		return nil, fmt.Errorf("%w: run as root, or give a file that dmesg was written to", err)
	}
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}
