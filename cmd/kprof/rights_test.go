//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// buildKprof builds kprof as make does, once: without C code, unlike this test.
var buildKprof = sync.OnceValues(func() (string, error) {
	name, err := filepath.Abs(filepath.Join(root, ".build", "test", "kprof"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", name, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return name, nil
})

// builtKprof returns a command that runs kprof as it is built by make.
func builtKprof(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	name, err := buildKprof()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(name, args...)
}

// rightsOfThreads counts the threads of a process by their effective capabilities.
func rightsOfThreads(t *testing.T, pid int) map[string]int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	rights := map[string]int{}
	for _, file := range files {
		status, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // a thread that ended
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(status)) {
			if set, ok := strings.CutPrefix(line, "CapEff:"); ok {
				rights[strings.TrimSpace(set)]++
			}
		}
	}
	return rights
}

// TestLiveRights: while it records, all threads of kprof but one have the
// capabilities only that reading other people's files takes. These suffice to name
// a program of another user that nobody else may read and that is deleted; with
// those of the one thread, the output comes into a directory of that user, and the
// probe is removed.
func TestLiveRights(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "gcc")
	const lasting = 1<<unix.CAP_SYS_PTRACE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_CHECKPOINT_RESTORE | 1<<unix.CAP_KILL
	if last, err := kernelSetting("cap_last_cap"); err != nil || last < unix.CAP_CHECKPOINT_RESTORE {
		t.Skipf("this kernel has other capabilities: %d, %v", last, err)
	}
	want := fmt.Sprintf("%016x", uint64(lasting))
	if mine := rightsOfThreads(t, os.Getpid()); mine[want] > 0 {
		t.Skip("this test has no more capabilities than that")
	}
	for _, ending := range []string{"data", "folded"} {
		t.Run(ending, func(t *testing.T) { recordWithFewRights(t, ending, want) })
	}
}

func recordWithFewRights(t *testing.T, ending, want string) {
	const nobody = 65534
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(dir, "home")
	source, program := filepath.Join(dir, "spin.c"), filepath.Join(home, "spin")
	out := filepath.Join(home, "out."+ending)
	if err := errors.Join(
		os.Mkdir(home, 0o700),
		os.WriteFile(source, []byte(`
__attribute__((noinline)) void spin_hidden(void) { for (volatile int i = 0; i < 100000; i++); }
int main(void) { for (;;) spin_hidden(); }
`), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("gcc", "-O1", "-fno-omit-frame-pointer", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if err := errors.Join(os.Chmod(program, 0o700), os.Chown(program, nobody, nobody), os.Chown(home, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	spin := exec.Command(program)
	spin.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := spin.Start(); err != nil {
		t.Fatal(err)
	}
	defer spin.Wait()
	defer spin.Process.Kill()

	c := builtKprof(t, "record", "-q", "-a", "-e", "cpu-clock", "-F", "200", "-e", "uprobe:"+program+":main", "--probe-via", "tracefs", "-o", out)
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	few := func() (bool, map[string]int) {
		rights := rightsOfThreads(t, c.Process.Pid)
		more := 0
		for set, n := range rights {
			if set != want {
				more += n
			}
		}
		return more == 1 && rights[want] > 1, rights
	}
	// Not while they are about to drop them, one after the other.
	waitFor(t, "samples, or threads with few rights", func() bool {
		if ending == "data" {
			return committed(t, out)()
		}
		before, _ := few()
		time.Sleep(time.Second)
		after, _ := few()
		return before && after
	})
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	for range 20 { // new threads too
		if ok, rights := few(); !ok {
			t.Errorf("threads by capabilities: %v, want all but one with %s", rights, want)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	if probes, err := os.ReadFile("/sys/kernel/tracing/uprobe_events"); err != nil || bytes.Contains(probes, []byte(program)) {
		t.Errorf("probes are left: %v\n%s", err, probes)
	}
	folded, err := os.ReadFile(out)
	if ending == "data" {
		wantWhole(t, out)
		folded, err = kprof(t, "convert", "-f", "folded", "-o", "-", out).Output()
	}
	if err != nil || !bytes.Contains(folded, []byte("spin_hidden")) {
		t.Errorf("no spin_hidden: %v\n%s\n%s", err, &said, folded)
	}
}
