//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// instance makes an instance of the tracer for the test, with settings by their files, and
// returns its directory.
func instance(t *testing.T, settings map[string]string) string {
	t.Helper()
	dir := filepath.Join(livetest.TracefsMounted(t).Path(), "instances", fmt.Sprintf("test-%s-%d", t.Name(), os.Getpid()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	for file, value := range settings {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// recordInstance records an instance while a command writes so many lines into its trace_marker,
// and returns what kprof says.
func recordInstance(t *testing.T, dir, out string, lines int) string {
	t.Helper()
	write := fmt.Sprintf(`open(my $f, ">", $ARGV[0]) or die; syswrite($f, "line $_\n") for 1..%d`, lines)
	said, err := kprof(t, "record", "--instance", filepath.Base(dir), "-o", out, "--", "perl", "-e", write, filepath.Join(dir, "trace_marker")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return string(said)
}

// TestLiveInstanceLost: of an instance whose rings are too small it is said what of it to enlarge.
func TestLiveInstanceLost(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("perl"))
	said := recordInstance(t, instance(t, map[string]string{"buffer_size_kb": "8"}), filepath.Join(t.TempDir(), "x.dat"), 200000)
	if !strings.Contains(said, " events were lost; a larger buffer_size_kb of the instance loses less\n") {
		t.Error(said)
	}
}

// TestLiveInstanceCPUOffline: a CPU that is offline as the instance is made has no ring until it
// comes: nothing of it is recorded before, and all after.
func TestLiveInstanceCPUOffline(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("taskset"))
	cpu, set := setOnline(t)
	set("0")
	dir := instance(t, nil)
	out := filepath.Join(t.TempDir(), "x.dat")
	script := fmt.Sprintf(`echo before >$0 && sleep 0.2 && echo 1 >/sys/devices/system/cpu/cpu%d/online && taskset -c %[1]d sh -c "echo after >$0"`, cpu)
	said, err := kprof(t, "record", "--instance", filepath.Base(dir), "-o", out, "--", "sh", "-c", script, filepath.Join(dir, "trace_marker")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	lines, err := kprof(t, "script", out).CombinedOutput()
	if err != nil || strings.Count(string(lines), "before") != 1 || strings.Count(string(lines), "after") != 1 || !strings.Contains(string(lines), fmt.Sprintf("[%03d]", cpu)) {
		t.Errorf("%v: want a line of another CPU and one of CPU %d:\n%s", err, cpu, lines)
	}
}

// TestLiveInstanceTicks: of an instance whose clock does not count ns it is said, whatever is
// made of it.
func TestLiveInstanceTicks(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("perl"))
	dir := instance(t, map[string]string{"trace_clock": "counter"})
	for _, name := range []string{"x.dat", "x.folded"} {
		out := filepath.Join(t.TempDir(), name)
		const want = "times are ticks of the clock counter, not ns: "
		if said := recordInstance(t, dir, out, 3); strings.Count(said, want) != 1 {
			t.Errorf("%s: %s", name, said)
		}
		if name != "x.dat" {
			continue
		}
		said, err := kprof(t, "script", out).CombinedOutput()
		if err != nil || strings.Count(string(said), want) != 1 {
			t.Errorf("%v\n%s", err, said)
		}
	}
}
