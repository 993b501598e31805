//go:build !unix

package livetest

import (
	"os/exec"
	"testing"
	"time"
)

// MakeFIFO skips t: there are no FIFOs among the files.
func MakeFIFO(t testing.TB, _ string) {
	t.Helper()
	t.Skip("needs FIFOs")
}

var began = time.Now()

// CPUTime is the time since the program began, as no less is known.
func CPUTime(testing.TB) time.Duration { return time.Since(began) }

// killAll leaves a command as it is: only itself is killed.
func killAll(*exec.Cmd) {}
