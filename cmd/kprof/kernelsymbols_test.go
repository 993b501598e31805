//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
	"kprof/record/doctor"
)

// TestLiveKernelSymbols converts a recording that says it is of another machine and of
// another kernel: the names of its kernel come with it, and are those that this
// machine gives. Without the recorded symbols there are none.
func TestLiveKernelSymbols(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	dir := t.TempDir()
	here, there, bare := filepath.Join(dir, "here.data"), filepath.Join(dir, "there.data"), filepath.Join(dir, "bare.data")
	record := func(name string, more ...string) {
		t.Helper()
		args := append([]string{"record", "-q", "-e", "cpu-clock:k", "-o", name}, more...)
		if out, err := kprof(t, append(args, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=200000")...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	record(here)
	record(bare, "--no-kernel-symbols")
	abroad(t, here, there)
	abroad(t, bare, bare)
	folded := func(name string) (frames string, unnamed int) {
		t.Helper()
		c := kprof(t, "convert", "-f", "folded", name)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if !strings.Contains(line, "vdso") { // that is of the machine it is on
				frames += line
			}
		}
		return frames, strings.Count(frames, "[[kernel.kallsyms]]")
	}
	want, n := folded(here)
	if n > 0 || !strings.Contains(want, "entry_SYSCALL_64_after_hwframe") && !strings.Contains(want, "el0_svc") {
		t.Fatalf("here %d frames of the kernel have no name:\n%.2000s", n, want)
	}
	if got, _ := folded(there); got != want {
		t.Errorf("abroad:\n%.2000s\nhere:\n%.2000s", got, want)
	}
	if got, n := folded(bare); n == 0 {
		t.Errorf("a recording of another machine without recorded symbols has names:\n%.2000s", got)
	}
}

// abroad copies a recording with the name of another host and the build id of
// another kernel in it.
func abroad(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Repeat("x", len(host))
	// HOSTNAME is a length and a string padded with zeros; nothing else here is.
	moved := bytes.ReplaceAll(b, []byte("\x00\x00\x00"+host+"\x00\x00"), []byte("\x00\x00\x00"+other+"\x00\x00"))
	if bytes.Equal(b, moved) {
		t.Fatalf("no host name %q in the recording", host)
	}
	r := perftext.Open(t, from)
	i := slices.IndexFunc(r.Features.BuildIDs, func(id perfdata.BuildID) bool { return id.Name == "[kernel.kallsyms]" })
	if i < 0 {
		t.Fatal("no build id of the kernel in the recording")
	}
	id := r.Features.BuildIDs[i].ID
	moved = bytes.ReplaceAll(moved, id, bytes.Repeat([]byte{0xab}, len(id)))
	livetest.WriteFile(t, to, moved)
}

// TestLiveKernelSymbolsPerf shows a recording with kernel symbols to perf's tools: none
// minds.
func TestLiveKernelSymbolsPerf(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	dir := t.TempDir()
	name := filepath.Join(dir, "x.data")
	if out, err := kprof(t, "record", "-q", "-a", "-d", "500ms", "-o", name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := perfSamples(t, name)
	for _, args := range [][]string{
		{"report", "--stdio"},
		{"script"},
		{"buildid-list"},
		{"report", "--header-only", "-I"},
		{"diff", name, name},
		{"inject", "-o", filepath.Join(dir, "inject.data")},
		{"inject", "-b", "-o", filepath.Join(dir, "injectb.data")},
	} {
		if args[0] != "diff" {
			args = append(args, "-i", name)
		}
		c := livetest.PerfCommand(t, args...)
		var warnings bytes.Buffer
		c.Stderr = &warnings
		if err := c.Run(); err != nil || warnings.Len() > 0 {
			t.Errorf("perf %s: %v\n%s", strings.Join(args, " "), err, warnings.Bytes())
		}
	}
	for _, injected := range []string{"inject.data", "injectb.data"} {
		if got := perfSamples(t, filepath.Join(dir, injected)); got != want {
			t.Errorf("%s: %d samples, want %d", injected, got, want)
		}
	}
}

// TestHiddenKernel records without the right to see kernel addresses: that the
// kernel's frames have no names is told, unless they are seen, or not asked for.
func TestHiddenKernel(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Program("setpriv"))
	without := []string{"--bounding-set=-syslog", "--"}
	shown := strings.Trim(string(command(t, nil, "setpriv", append(without, "cut", "-c1-16", "/proc/kallsyms")...)), "0\n") != ""
	for event, want := range map[string]bool{"cpu-clock": !shown, "cpu-clock:u": false} {
		c := kprof(t, "record", "-e", event, "-o", filepath.Join(t.TempDir(), "x.data"), "--", "true")
		c = exec.Command("setpriv", append(without, c.Args...)...)
		out, err := c.CombinedOutput()
		if err != nil || strings.Contains(string(out), doctor.SymbolsHidden) != want {
			t.Errorf("%s: %v, %q; want it told: %v", event, err, out, want)
		}
	}
}
