//go:build unix

package infile

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// writerWait is how long a pipe may have no writer.
const writerWait = 3 * time.Second

func openPipe(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	// A pipe that never had a writer is not hung up: poll then waits.
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	_, err = unix.Poll(fds, int(writerWait.Milliseconds()))
	if fds[0].Revents != 0 {
		return f, err
	}
	// So is one whose writer has not written yet. After a writer of ours it is hung up if it has
	// no other.
	if w, err := os.OpenFile(name, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
		w.Close()
		if _, err := unix.Poll(fds, 0); err == nil && fds[0].Revents&(unix.POLLIN|unix.POLLHUP) != unix.POLLHUP {
			return f, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("%s is a pipe that nobody writes to", name), f.Close())
}
