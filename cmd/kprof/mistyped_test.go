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
	"testing"

	"kprof/perfevent/livetest"
)

// TestMistyped types what somebody may type wrong, and compares the answers with
// testdata/mistyped.txt, which was read aloud. With -update they are written anew.
// Below "# as root" are those that depend on tracefs.
func TestMistyped(t *testing.T) {
	const golden = "testdata/mistyped.txt"
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	demo, err := filepath.Abs(filepath.Join(root, "testdata", "demo.data"))
	if err != nil {
		t.Fatal(err)
	}
	anywhere, live, ok := strings.Cut(string(b), "# as root\n")
	if !ok {
		t.Fatalf("%s: no line \"# as root\"", golden)
	}
	var got bytes.Buffer
	parts := map[string]string{"anywhere": anywhere, "live": live}
	for _, name := range []string{"anywhere", "live"} {
		if name == "live" {
			got.WriteString("# as root\n")
		}
		t.Run(name, func(t *testing.T) {
			if name == "live" {
				livetest.Require(t, livetest.Root, livetest.Tracefs)
			}
			dir := t.TempDir()
			text, err := os.ReadFile(demo)
			if err != nil {
				t.Fatal(err)
			}
			livetest.WriteFile(t, filepath.Join(dir, "perf.data"), text)
			for block := range strings.SplitSeq(parts[name], "\n$ ") {
				line, want, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(block), "$ "), "\n")
				if line == "" {
					continue
				}
				answer := typed(t, dir, line)
				fmt.Fprintf(&got, "$ %s\n%s\n\n", line, answer)
				if !*update && answer != want {
					t.Errorf("$ %s\n%s\nwant\n%s", line, answer, want)
				}
			}
		})
	}
	if *update && !t.Failed() {
		livetest.WriteFile(t, golden, got.Bytes())
	}
}

// typed runs a command line, and returns what it says and its exit code.
func typed(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text := tryHelp.ReplaceAllString(said.String(), "")
	if strings.Contains(text, "goroutine ") || strings.Count(text, "\n") > 4 {
		t.Errorf("$ %s: not a short answer:\n%s", line, text)
	}
	return fmt.Sprintf("%s[%d]", text, cmd.ProcessState.ExitCode())
}
