package livetest

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

// perfTime is how long perf may take. It waits for ever where the perf map of a
// process that still runs is a FIFO, which it opens in the process's own namespaces;
// perf record does so when it ends, for any file of which a process says that it runs code.
const perfTime = 5 * time.Minute

// PerfCommand returns a command of perf that is killed when it hangs, or when the test
// ends. Until then the kernel's settings stay as they are.
func PerfCommand(t testing.TB, args ...string) *exec.Cmd {
	UseMachine(t)
	return limited(t, "perf", args...)
}

// PerfOnFile is PerfCommand of perf that reads a recording and names nothing of this kernel,
// whatever its settings are.
func PerfOnFile(t testing.TB, args ...string) *exec.Cmd {
	return limited(t, "perf", args...)
}

// PerfInShell returns a shell that runs perf and what it is piped into, of which the same
// is true.
func PerfInShell(t testing.TB, script string) *exec.Cmd {
	UseMachine(t)
	cmd := limited(t, "sh", "-c", script)
	killAll(cmd)
	return cmd
}

// limited returns a command that is killed after perfTime, or when the test ends.
func limited(t testing.TB, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), perfTime)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second // for what it has started
	return cmd
}
