package livetest

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// counter is what counts an event, and reads as an N.
type counter[N any] interface {
	ID() uint64
	Enable() error
	Disable() error
	Read() (N, error)
	Close() error
}

// Count opens a counter on the calling thread, and returns what it counted while f ran.
func Count[N any, C counter[N]](t testing.TB, open func() (C, error), f func()) N {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.ID() == 0 {
		t.Error("id 0")
	}
	if err := c.Enable(); err != nil {
		t.Fatal(err)
	}
	f()
	if err := c.Disable(); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// CloseAtEnd has a test close what was opened without an error, which it fails for.
func CloseAtEnd[C interface{ Close() error }](t testing.TB, c C, err error) C {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Run runs a command and returns what it prints.
func Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	if name == "perf" {
		cmd = PerfCommand(t, args...)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	return string(out)
}

// KernelModule compiles a source as a module of the kernel, with a build id and lines.
func KernelModule(t testing.TB, source, ko string) {
	t.Helper()
	RequirePrograms(t, "gcc", "ld")
	object := filepath.Join(t.TempDir(), "m.o")
	Run(t, "gcc", "-O2", "-g", "-c", "-ffreestanding", "-fno-pie", "-o", object, source)
	Run(t, "ld", "-r", "--build-id", "-o", ko, object)
}

// StartWaiting starts a command that prints when it is ready, and waits for that. It is
// killed when the test ends.
func StartWaiting(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}
