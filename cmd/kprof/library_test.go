//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// folder is a program of another module that does what kprof convert -f folded does.
const folder = `package main

import (
	"context"
	"os"

	"kprof/convert"
	"kprof/convert/folded"
)

func main() {
	p, err := convert.Open(context.Background(), os.Args[1], convert.Options{})
	if err != nil {
		panic(err)
	}
	event, column := p.MainEvent()
	folded.Write(os.Stdout, p.Set, folded.Options{Event: event, Column: column})
}
`

// buildFolder builds the program outside of this module, for this machine or another
// one.
func buildFolder(t *testing.T, goos, goarch string) string {
	t.Helper()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(top, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	module := fmt.Sprintf("module example.org/folder\n\ngo 1.26.0\n\nrequire kprof v0.0.0\n\nreplace kprof => %q\n", top)
	for name, text := range map[string]string{"main.go": folder, "go.mod": module, "go.sum": string(sums)} {
		livetest.WriteFile(t, filepath.Join(dir, name), text)
	}
	// As all is compiled for these tests, so that the standard library is not compiled again: for
	// other systems, where nothing is run, without optimizing.
	build := exec.Command("go", "build", "-o", "folder", ".")
	if goos != "" && goos != runtime.GOOS {
		build.Args = slices.Insert(build.Args, 2, "-gcflags=all=-N -l")
	}
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch) // empty is this machine's
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s for %s/%s: %v\n%s", build, goos, goarch, err, out)
	}
	return filepath.Join(dir, "folder")
}

// compareFolder has the program and the command fold a recording.
func compareFolder(t *testing.T, program, data string) (folded string) {
	t.Helper()
	// perf's cache is the command's to find.
	home := "HOME=" + t.TempDir()
	c := kprof(t, "convert", "-q", "-f", "folded", data)
	c.Env = append(os.Environ(), home, "DEBUGINFOD_URLS=")
	want, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	c = exec.Command(program, data)
	c.Env = append(os.Environ(), home)
	got, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s", data, err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) || len(want) == 0 {
		t.Errorf("%s: the library folds %d bytes\n%.1500s\nthe command %d\n%.1500s", data, len(got), got, len(want), want)
	}
	return string(got)
}

// TestLibrary: another program that opens a recording of another machine with the
// library has what the command has, in a few lines.
func TestLibrary(t *testing.T) {
	lines := 0
	for line := range strings.Lines(folder) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines > 15 {
		t.Errorf("the program has %d lines, want 15 at most", lines)
	}
	program := buildFolder(t, "linux", "")
	recordings, err := filepath.Glob("../../testdata/recordings/*.data")
	if err != nil || len(recordings) == 0 {
		t.Fatal(recordings, err)
	}
	for _, data := range append(recordings, "../../testdata/demo.data", "../../testdata/demo.folded") {
		compareFolder(t, program, data)
	}
	for _, other := range []string{"darwin/arm64", "linux/386"} {
		t.Run(strings.ReplaceAll(other, "/", "-"), func(t *testing.T) {
			if testing.Short() {
				t.Skip("compiles everything for another system")
			}
			goos, goarch, _ := strings.Cut(other, "/")
			buildFolder(t, goos, goarch)
		})
	}
}

// TestLiveLibrary: so it has of recordings of this machine with copies of stacks, and
// with code that a program made.
func TestLiveLibrary(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	program := buildFolder(t, "linux", "")
	data := filepath.Join(t.TempDir(), "copies.data")
	command(t, nil, "perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "--call-graph", "dwarf,16384", "-o", data, "--", buildDeep(t, ""))
	if folded := compareFolder(t, program, data); !strings.Contains(folded, ";main;descend;descend;") {
		t.Errorf("copies of stacks are not walked:\n%.2000s", folded)
	}
	dir := t.TempDir()
	data = filepath.Join(dir, "jit.data")
	command(t, nil, "perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-g", "-e", "cpu-clock:u", "-F", "999", "-o", data, "--", buildJIT(t), dir)
	if folded := compareFolder(t, program, data); !strings.Contains(folded, ";first ") || !strings.Contains(folded, ";second ") {
		t.Errorf("the functions of a jitdump have no names:\n%.2000s", folded)
	}
}
