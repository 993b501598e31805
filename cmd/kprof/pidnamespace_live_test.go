//go:build linux

package main

import (
	"bytes"
	"encoding/csv"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLivePIDNamespace: in a pid namespace it is said that what runs outside has no number, and
// none of these tasks has the name of another, or that of the idle tasks where it ran code of its
// own. Of a command nothing is said.
func TestLivePIDNamespace(t *testing.T) {
	livetest.RequireKernel(t, livetest.Root)
	livetest.RequirePrograms(t, "unshare", "md5sum")
	outside := exec.Command("sh", "-c", "while :; do md5sum /proc/self/exe; done > /dev/null; :")
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = outside.Process.Kill(); _ = outside.Wait() })
	inside := func(args ...string) string {
		t.Helper()
		cmd := kprof(t, args...)
		out, err := exec.Command("unshare", append([]string{"--pid", "--fork", "--mount-proc", cmd.Path}, cmd.Args[1:]...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	const note = "what runs outside this pid namespace has pid 0 here"
	data := filepath.Join(t.TempDir(), "x.data")
	if said := inside("record", "-a", "-d", "1s", "-o", data); strings.Count(said, note) != 1 {
		t.Error(said)
	}
	if said := inside("record", "-o", filepath.Join(t.TempDir(), "x.data"), "--", "true"); strings.Contains(said, note) {
		t.Error(said)
	}
	if said := inside("doctor"); !strings.Contains(said, "no  pid namespace ") {
		t.Error(said)
	}
	out, err := kprof(t, "script", "-f", "csv", "--where", "pid == 0", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	samples, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	comms := map[string]int{}
	for _, s := range samples[1:] {
		comms[s[0]]++
	}
	idle := comms["swapper"]
	delete(comms, "swapper")
	all := maps.Clone(comms)
	unnamed := comms[":0"]
	delete(comms, ":0")
	// Of a task that is reaped between the two, the kernel (perf_event_pid_type) has 0 as the process and
	// -1 as the thread.
	delete(comms, ":-1")
	if len(comms) > 0 || unnamed == 0 {
		t.Errorf("samples of pid 0 by name: %v, and %d of swapper", all, idle)
	}
}
