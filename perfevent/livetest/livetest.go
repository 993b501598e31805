// Package livetest says what a test of the running kernel needs, and whether
// this machine has it. It also has what tests of many packages do alike.
package livetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Need is something that a test cannot do without. It returns what is missing,
// or nothing.
type Need func() string

// Require skips t when something that it needs is missing, and names all of
// it. Where KPROF_LIVE is "require", as on machines that are known to have
// everything, or "guest", it fails instead. Where that is "skip", which asks for
// tests that need nothing but Go, it skips t in any case.
func Require(t testing.TB, needs ...Need) {
	t.Helper()
	require(t, needs, "require", "guest")
	UseMachine(t)
}

// RequireKernel is Require for what a kernel must have been built with. Nobody
// can give that to a machine, so that it is a skip there; in the guests of
// testdata/rig.sh, whose kernels are chosen for it, it is a failure.
func RequireKernel(t testing.TB, needs ...Need) {
	t.Helper()
	require(t, needs, "guest")
	UseMachine(t)
}

// RequirePrograms skips t when programs are missing, and names them. Which may be
// missing, testdata/may-skip says.
func RequirePrograms(t testing.TB, names ...string) {
	t.Helper()
	var needs []Need
	for _, name := range names {
		needs = append(needs, Program(name))
	}
	require(t, needs)
}

func require(t testing.TB, needs []Need, failing ...string) {
	t.Helper()
	var missing []string
	for _, need := range needs {
		if m := need(); m != "" {
			missing = append(missing, m)
		}
	}
	if os.Getenv("KPROF_LIVE") == "skip" {
		t.Skip("needs more than Go, and KPROF_LIVE is skip")
	}
	if len(missing) == 0 {
		return
	}
	msg := "needs " + strings.Join(missing, ", ")
	if slices.Contains(failing, os.Getenv("KPROF_LIVE")) {
		t.Fatal(msg)
	}
	t.Skip(msg)
}

// Root: all capabilities.
func Root() string {
	if os.Geteuid() != 0 {
		return "root"
	}
	return ""
}

// Program is one that can be found.
func Program(name string) Need {
	return func() string {
		if _, err := exec.LookPath(name); err != nil {
			return name
		}
		return ""
	}
}

// Perf: the perf program.
func Perf() string { return Program("perf")() }

// PMU is one of this machine's.
func PMU(name string) Need {
	return func() string {
		if _, err := os.Stat(filepath.Join("/sys/bus/event_source/devices", name)); err != nil {
			return "PMU " + name
		}
		return ""
	}
}

// Cgroup2 is where a version 2 hierarchy of control groups is mounted.
func Cgroup2() string {
	if CgroupRoot() == "" {
		return "cgroup v2"
	}
	return ""
}

// CgroupRoot is the mount point that Cgroup2 wants, or empty.
func CgroupRoot() string {
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
			return dir
		}
	}
	return ""
}
