package livetest

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// perfTime is how long perf may take. It waits for ever where the perf map of a
// process that still runs is a FIFO, which it opens in the process's own namespaces.
const perfTime = 5 * time.Minute

// PerfCommand returns a command of perf that is killed when it hangs, or when the test
// ends. Until then the kernel's settings stay as they are.
func PerfCommand(t testing.TB, args ...string) *exec.Cmd {
	UseMachine(t)
	ctx, cancel := context.WithTimeout(context.Background(), perfTime)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, "perf", args...)
}
