//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
)

// counts are whole numbers, with the blanks before them; emptyLines those of a screen.
var (
	counts     = regexp.MustCompile(`(?m) +\d+( |$)`)
	emptyLines = regexp.MustCompile(`\n{3,}`)
)

// TestLiveTop: kprof top on a terminal shows what happens while it does, goes on each period,
// stops by a key, and leaves by another. Its frames are those of a golden file, with counts
// as #: all events of one command are one group's.
func TestLiveTop(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	dir := t.TempDir()
	stop := filepath.Join(dir, "stop")
	x := startOnTerminal(t, "top", "-e", "syscalls:sys_enter_umask", "-c", "1", "--by", "comm", "--every", "500ms", "--",
		"sh", "-c", fmt.Sprintf("until [ -e %s ] || ! [ -d %s ]; do umask 022; sleep .01; done", shellArg(stop), shellArg(dir)))
	var frames strings.Builder
	for _, step := range []struct{ keys, until string }{
		{"", "100.00%"},
		{"b", "1 group by pid"},
		{"?", "stop and go on"},
		{" bbb", "1 group by comm"}, // the first leaves the help
		{"/sh\r", "search: sh"},
	} {
		x.keys(step.keys)
		// A period may have no event, and a frame may come in pieces.
		complete := func(f string) bool {
			return (step.keys == "?" || strings.Contains(f, "100.00%")) && (strings.Contains(f, "q leave") || strings.Contains(f, "N previous"))
		}
		f := x.wait(step.until)
		for deadline := time.Now().Add(time.Minute); !complete(f) && time.Now().Before(deadline); {
			f = x.wait(step.until)
		}
		fmt.Fprintf(&frames, "-- %q --\n%s", step.keys, emptyLines.ReplaceAllString(counts.ReplaceAllString(f, " #$1"), "\n\n"))
	}
	seen := func() string { return x.wait("Total: ") }
	first := seen()
	waitFor(t, "another period", func() bool { return seen() != first })
	x.keys("\x1b")
	x.wait("? keys")
	x.keys(" ")
	stopped := x.wait("stopped")
	time.Sleep(1200 * time.Millisecond) // two periods
	if again := seen(); again != stopped {
		t.Errorf("it does not stop:\n%s%s", stopped, again)
	}
	x.keys("q")
	livetest.WriteFile(t, stop, "")
	x.ends("q does not leave")
	golden := filepath.Join("testdata", "topframes.txt")
	if *update {
		livetest.WriteFile(t, golden, frames.String())
	}
	want, err := os.ReadFile(golden)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), frames.String()); d != "" {
		t.Errorf("frames, which -update writes: %s", d)
	}
}
