package livetest

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// lockMachine locks the directory of the kernel's settings, which all processes of this
// machine see, for others that do so. Who changes the settings holds the directory above
// as well, through which all others must go, so that they let it in.
func lockMachine(change bool) (release func(), err error) {
	how := unix.LOCK_SH
	if change {
		how = unix.LOCK_EX
	}
	gate, err := lockDirectory("/proc/sys", how)
	if err != nil {
		return nil, err
	}
	settings, err := lockDirectory("/proc/sys/kernel", how)
	if err != nil || !change {
		unix.Close(gate)
		return func() { unix.Close(settings) }, err
	}
	return func() { unix.Close(settings); unix.Close(gate) }, nil
}

// LockProbeNames waits until no other test of this machine has probes in the kernel that are named
// as those of examples are, and keeps others from making them until release.
func LockProbeNames() (release func(), err error) {
	names, err := lockDirectory("/sys/kernel/tracing", unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	return func() { unix.Close(names) }, nil
}

// lockTime is how long a test may wait for others: longer than any of them takes, also where
// the kernel keeps one busy for ten minutes, which is none of the others' failures.
const lockTime = 30 * time.Minute

// lockDirectory waits for a lock of flock(2), which ends when what it returns is closed.
func lockDirectory(name string, how int) (fd int, err error) {
	if fd, err = unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return -1, fmt.Errorf("open %s: %w", name, err)
	}
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		switch err := unix.Flock(fd, how|unix.LOCK_NB); {
		case err == nil:
			return fd, nil
		case err != unix.EWOULDBLOCK && err != unix.EINTR, time.Since(start) > lockTime:
			unix.Close(fd)
			return -1, fmt.Errorf("lock %s: %w", name, err)
		}
	}
}
