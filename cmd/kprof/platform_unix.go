//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// terminalSize is the size of a terminal, 0 for anything else.
func terminalSize(f *os.File) (columns, rows int) {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(ws.Col), int(ws.Row)
}

// openPipe opens a named pipe, but does not wait for ever for somebody to write.
func openPipe(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	// A pipe that never had a writer is not hung up: poll then waits.
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	_, err = unix.Poll(fds, int(writerWait.Milliseconds()))
	if fds[0].Revents == 0 {
		return nil, errors.Join(fmt.Errorf("%s is a pipe that nobody writes to", name), f.Close())
	}
	return f, err
}

// signalName is the name of a signal, such as SIGTERM.
func signalName(sig os.Signal) string {
	if n, ok := sig.(unix.Signal); ok {
		return unix.SignalName(n)
	}
	return sig.String()
}

// endBy ends this process by a signal, which nothing catches.
func endBy(sig os.Signal) {
	_ = unix.Kill(unix.Getpid(), sig.(unix.Signal))
}
