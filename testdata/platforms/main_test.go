package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestCheck: what is wrong on one platform alone is found there alone, in code and in
// tests.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26.0\n",
		"a.go": `package m

// Large does not fit 32 bits.
const Large = 1 << 40

// Word has another size on them, too: uintptr is shifted by all its bits.
func Word(x uintptr) uintptr { return x >> 40 }
`,
		"a_windows.go":  "package m\n\nvar Broken int = \"no number\"\n",
		"a_darwin.go":   "package m\n\nimport \"sync\"\n\nfunc Copy(m sync.Mutex) {}\n",
		"arm_test.go":   "//go:build arm\n\npackage m\n\nvar _ = int(Large)\n",
		"b/b.go":        "package b\n",
		"b/c_darwin.go": "package b\n\nfunc F() { for {} ; println() }\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, file, text)
	}
	for platform, want := range map[string][]string{
		"linux/amd64":   nil,
		"linux/386":     {"(shift)"},
		"linux/arm":     {"overflows int"},
		"windows/amd64": {"cannot use"},
		"darwin/arm64":  {"(copylocks)", "(unreachable)"},
	} {
		var out strings.Builder
		n, err := check(&out, dir, platform, []string{"./..."})
		if err != nil || n != len(want) {
			t.Errorf("%s: found %d, want %d: %v\n%s", platform, n, len(want), err, &out)
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s: no %q in\n%s", platform, w, &out)
			}
		}
	}
	if _, err := check(os.Stdout, dir, "windows", []string{"./..."}); err == nil {
		t.Error("windows without an architecture is a platform")
	}
}
