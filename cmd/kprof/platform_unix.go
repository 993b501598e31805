//go:build unix

package main

import (
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
