//go:build unix

package pprofui

import "syscall"

// nonblock is to open without waiting, and without getting a terminal.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY
