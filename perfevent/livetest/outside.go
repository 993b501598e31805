package livetest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Traces lists the traces whose names match a pattern: those in the folder that KPROF_TRACES
// names, else in the folder traces of the larger collection (see Recordings). Without any the
// test is skipped.
func Traces(t testing.TB, patterns ...string) (names []string) {
	t.Helper()
	dir := os.Getenv("KPROF_TRACES")
	if c := corpus(t); dir == "" && c != "" {
		dir = filepath.Join(c, "traces")
	}
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(dir, p))
		if err != nil {
			t.Fatal(err)
		}
		if dir != "" {
			names = append(names, found...)
		}
	}
	if len(names) == 0 {
		lacks(t, strings.Join(patterns, " or ")+" in ../shared/corpus/traces, or in KPROF_TRACES")
	}
	return names
}

// StackCollapse is the path of FlameGraph's stackcollapse-perf.pl, which STACKCOLLAPSE_PERF
// names, or STACKCOLLAPSE, or which is in PATH. Without it, or perl, the test is skipped.
func StackCollapse(t testing.TB) string {
	t.Helper()
	RequirePrograms(t, "perl")
	inPath, _ := exec.LookPath("stackcollapse-perf.pl")
	script := cmp.Or(os.Getenv("STACKCOLLAPSE_PERF"), os.Getenv("STACKCOLLAPSE"), inPath)
	if script == "" {
		lacks(t, "FlameGraph's stackcollapse-perf.pl in PATH or STACKCOLLAPSE_PERF")
	}
	return script
}

// DebugKernel is the path of a vmlinux with debug information, which KPROF_DEBUG_KERNEL names,
// or its folder. Without it the test is skipped.
func DebugKernel(t testing.TB) string {
	t.Helper()
	path := os.Getenv("KPROF_DEBUG_KERNEL")
	if path == "" {
		lacks(t, "a vmlinux with debug information, named by KPROF_DEBUG_KERNEL")
	}
	if found, _ := filepath.Glob(filepath.Join(path, "vmlinux-*")); len(found) > 0 {
		path = found[0]
	}
	return path
}

// lacks skips a test for what cannot be installed for it.
func lacks(t testing.TB, what string) {
	t.Helper()
	t.Skip("needs " + what)
}
