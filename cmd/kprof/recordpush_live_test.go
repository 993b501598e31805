//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pprofile "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"kprof/convert/store/storetest"
	"kprof/perfevent/livetest"
)

// TestLiveRecordPush: every event of a program is in one of the periods, and in no other,
// whatever ends between them; each period knows whose it is.
func TestLiveRecordPush(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "perl", "sh")
	livetest.UseMachine(t)
	server := storetest.New(t)
	const times, each = 3000, 7
	perl := getppids(times, each)
	// The shell's child is known to the first period by what it did, to later ones by what
	// it is.
	_, stderr, code := outcome(t, t.TempDir(), "record", "-e", "syscalls:sys_enter_getppid", "-c", "1", "--every", "200ms",
		"--push", server.URL, "--service", "perl", "--set-label", "zone=a", "--", "sh", "-c", `"$@"; :`, "sh", perl[0], perl[1], perl[2])
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var sum int64
	var begun time.Time
	pushes := server.Pushes()
	for i, p := range pushes {
		if p.Labels["service_name"] != "perl" || p.Labels["zone"] != "a" || p.Labels["host"] == "" || p.Labels["event"] != "syscalls:sys_enter_getppid" {
			t.Errorf("labels %v", p.Labels)
		}
		at := time.Unix(0, p.Profile.TimeNanos)
		if !at.After(begun) || p.Profile.DurationNanos < 100e6 && i < len(pushes)-1 {
			t.Errorf("period %d from %v for %v, the one before from %v", i, at, time.Duration(p.Profile.DurationNanos), begun)
		}
		begun = at
		for _, s := range p.Profile.Sample {
			comm := s.Location[len(s.Location)-1].Line[0].Function.Name
			if comm == "sh" { // asks once, as it begins
				continue
			}
			sum += s.Value[0]
			if comm != "perl" {
				t.Errorf("period %d: %d samples of %q", i, s.Value[0], comm)
			}
			if !slices.ContainsFunc(s.Location, func(l *pprofile.Location) bool { return l.Mapping != nil && strings.Contains(l.Mapping.File, "libc") }) {
				t.Errorf("period %d: a stack of which nothing is in libc: %v", i, s.Location)
			}
		}
	}
	if sum != times*each || len(pushes) < 4 {
		t.Errorf("%d of %d events in %d periods: %s", sum, times*each, len(pushes), stderr)
	}
	if !strings.Contains(stderr, fmt.Sprintf("sent %d profiles (", len(pushes))) {
		t.Error(stderr)
	}
}

// TestLiveRecordPushLater: while the store takes nothing the recording goes on, and what
// was recorded is in the spool, also when kprof is killed.
func TestLiveRecordPushLater(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "perl")
	livetest.UseMachine(t)
	server := storetest.New(t)
	server.Fault = func(int) storetest.Fault { return storetest.Unavailable }
	dir := t.TempDir()
	_, stderr, code := outcome(t, dir, append([]string{"record", "-e", "syscalls:sys_enter_getppid", "-c", "1", "--every", "200ms",
		"--push", server.URL, "--spool", "spool", "--retry-for", "300ms", "--"}, getppids(3000, 3)...)...)
	if code != 1 || !strings.Contains(stderr, "profiles wait to be sent") || !strings.Contains(stderr, "stay in spool") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	server.Fault = nil
	if _, stderr, code := outcome(t, dir, "push", "--spool", "spool", "--to", server.URL); code != 0 || !strings.Contains(stderr, "(9000 samples") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestLiveRecordPushRefused: when a recording is over, and the store takes nothing, that it waits
// is said, and without a spool what is lost at the end.
func TestLiveRecordPushRefused(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "perl")
	livetest.UseMachine(t)
	server := storetest.New(t)
	server.Fault = func(int) storetest.Fault { return storetest.Unavailable }
	_, stderr, code := outcome(t, t.TempDir(), append([]string{"record", "-e", "syscalls:sys_enter_getppid", "-c", "1", "--every", "1m",
		"--push", server.URL, "--retry-for", "2s", "--"}, getppids(10, 1)...)...)
	if code != 1 || strings.Count(stderr, "trying again for 2s: ") != 1 || !strings.Contains(stderr, "; 1 profile is lost, which --spool keeps for later") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	_, stderr, code = outcome(t, t.TempDir(), "record", "-e", "syscalls:sys_enter_getppid", "--push", server.URL, "--", "true")
	if code != 0 || !strings.Contains(stderr, "0 samples in 0 profiles") || strings.Contains(stderr, "is empty") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestLiveRecordPushFull: where the disk of the spool is full the recording goes on, says what is
// lost, and fails at its end.
func TestLiveRecordPushFull(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "perl")
	livetest.UseMachine(t)
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	if err := errors.Join(os.Mkdir(disk, 0o700), unix.Mount("none", disk, "tmpfs", 0, "size=1m")); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(filepath.Join(disk, "zeros"), make([]byte, 2<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	server := storetest.New(t)
	_, stderr, code := outcome(t, dir, append([]string{"record", "-e", "syscalls:sys_enter_getppid", "-c", "1", "--every", "200ms",
		"--push", server.URL, "--spool", "disk/spool", "--retry-for", "300ms", "--"}, getppids(3000, 3)...)...)
	lost := 0
	if at := strings.Index(stderr, "lost: "); at >= 0 {
		fmt.Sscanf(stderr[at:], "lost: %d profile", &lost)
	}
	if code != 1 || strings.Count(stderr, "profiles are lost until there is room") != 1 || lost < 1 || len(server.Pushes()) != 0 {
		t.Errorf("exit code %d: %d lost, %d pushes, %s", code, lost, len(server.Pushes()), stderr)
	}
}

func TestRecordPushUsage(t *testing.T) {
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"--push makes no files":                   {"--push", "http://localhost:1", "--flight", "30s"},
		"without -o, -f and --open":               {"--push", "http://localhost:1", "-o", "x.pb.gz"},
		"wants at least 100ms":                    {"--push", "http://localhost:1", "--every", "1ms"},
		"is no address of a store":                {"--push", "localhost:1"},
		"it does not match":                       {"--push", "http://localhost:1", "--set-label", "host=(x)"},
		"--spool-age and --retry-for want a time": {"--push", "http://localhost:1", "--retry-for", "0s"},
	} {
		if _, stderr, code := outcome(t, dir, append(append([]string{"record"}, args...), "--", "true")...); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
	}
}
