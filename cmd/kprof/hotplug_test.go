package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"kprof/perfevent/livetest"
)

// hotplug returns the switch of a CPU other than the first.
func hotplug() (cpu int, file string) {
	files, _ := filepath.Glob("/sys/devices/system/cpu/cpu[1-9]*/online")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(b)) == "1" && syscall.Access(file, 2) == nil {
			cpu, _ = strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "cpu"))
			return cpu, file
		}
	}
	return 0, ""
}

// A CPU that goes and comes back is told of; what it gave until then is in the
// recording, and the others go on.
func TestLiveCPUOffline(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	cpu, online := hotplug()
	if online == "" {
		t.Skip("no CPU here can be taken offline")
	}
	set := func(to string) {
		if err := os.WriteFile(online, []byte(to), 0); err != nil {
			t.Skipf("this machine does not let go of a CPU: %v", err)
		}
	}
	t.Cleanup(func() { os.WriteFile(online, []byte("1"), 0) })

	name := filepath.Join(t.TempDir(), "perf.data")
	c := kprof(t, "record", "-q", "-a", "-e", "cpu-clock", "-F", "1000", "-o", name)
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	waitFor(t, "samples", committed(t, name))
	for _, to := range []string{"0", "1"} {
		set(to)
		// At the second growth, at the latest, kprof has looked at the CPUs since.
		for range 2 {
			size := fileSize(t, name)
			waitFor(t, "more samples", func() bool { return fileSize(t, name) > size })
		}
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	for _, want := range []string{"went offline: it is recorded up to there", "came online while recording"} {
		if !strings.Contains(said.String(), "cpu "+strconv.Itoa(cpu)+" "+want) {
			t.Errorf("nothing about %q:\n%s", want, &said)
		}
	}
	out, err := exec.Command("perf", "script", "-i", name, "-F", "cpu").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), fmt.Sprintf("[%03d]", cpu)) {
		t.Error("no sample of the CPU that went")
	}
}

func fileSize(t *testing.T, name string) int64 {
	t.Helper()
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}
