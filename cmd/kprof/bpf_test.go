//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// during records the whole machine, or what args say, while f runs. It starts
// when everything records.
func during(t *testing.T, args []string, f func()) {
	t.Helper()
	dir := t.TempDir()
	ready, done := filepath.Join(dir, "ready"), filepath.Join(dir, "done")
	wait := fmt.Sprintf(": >%s; while [ ! -e %s ]; do sleep 0.05; done", ready, done)
	c := kprof(t, slices.Concat([]string{"record"}, args, []string{"--", "sh", "-c", wait})...)
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	finish := sync.OnceValue(func() error {
		if err := os.WriteFile(done, nil, 0o600); err != nil {
			t.Error(err)
			c.Process.Kill()
		}
		return c.Wait()
	})
	defer finish()
	waitFor(t, "the command", func() bool { _, err := os.Stat(ready); return err == nil })
	f()
	if err := finish(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
}

// spinBPF loads a BPF program, has the kernel run it for 300 ms of CPU time, in
// which 300 samples are to be expected, and unloads it.
func spinBPF(t *testing.T, name string) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: name, Type: ebpf.SocketFilter, License: "MIT",
		Instructions: asm.Instructions{
			asm.Mov.Imm(asm.R0, 50000),
			asm.Sub.Imm(asm.R0, 1).WithSymbol("loop"),
			asm.JNE.Imm(asm.R0, 0, "loop"),
			asm.Return(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for begun := threadTime(t); threadTime(t)-begun < 300*time.Millisecond; {
		if _, err := prog.Run(&ebpf.RunOptions{Data: make([]byte, 64), Repeat: 200}); err != nil {
			t.Fatal(err)
		}
	}
}

// threadTime is the CPU time of the calling thread.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// TestLiveBPF names programs that were loaded, sampled and unloaded while it
// recorded, one after the other, perhaps at the same address: in a file, and in a
// profile made while recording. Both at once, since what the kernel tells a
// second recorder needs a second look.
func TestLiveBPF(t *testing.T) {
	livetest.Require(t, livetest.Root)
	livetest.ChangeMachine(t) // a program of BPF is what perf 6.1 cannot read beside another recorder: see abi.Layout.Excess
	if jit, err := os.ReadFile("/proc/sys/net/core/bpf_jit_enable"); err != nil || bytes.Equal(jit, []byte("0\n")) {
		t.Skip("needs BPF programs to be compiled (net.core.bpf_jit_enable)")
	}
	dir := t.TempDir()
	data, live := filepath.Join(dir, "bpf.data"), filepath.Join(dir, "bpf.folded")
	names := []string{"kprof_first", "kprof_second", "kprof_third"}
	flags := []string{"-a", "-e", "cpu-clock:k", "-F", "999", "-o"}
	during(t, append(flags, data), func() {
		during(t, append(flags, live), func() {
			for _, name := range names {
				spinBPF(t, name)
			}
		})
	})
	// perf, which reads a sample id from the end of a record, has them all too.
	if script, err := livetest.PerfCommand(t, "script", "-G", "-F", "ip,sym", "-i", data).Output(); err == nil {
		for _, name := range names {
			if !bytes.Contains(script, []byte("_"+name+"\n")) {
				t.Errorf("perf script names no %s", name)
			}
		}
	}
	afterwards, err := kprof(t, "convert", "-f", "folded", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	meanwhile, err := os.ReadFile(live)
	if err != nil {
		t.Fatal(err)
	}
	for what, folded := range map[string][]byte{"in a file": afterwards, "while recording": meanwhile} {
		for _, name := range names {
			n := 0
			for _, m := range regexp.MustCompile(`(?m);bpf_prog_[0-9a-f]{16}_`+name+` (\d+)$`).FindAllSubmatch(folded, -1) {
				k, err := strconv.Atoi(string(m[1]))
				if err != nil {
					t.Fatal(err)
				}
				n += k
			}
			if n == 0 {
				t.Errorf("%s: %s has no samples", what, name)
			}
		}
	}
}
