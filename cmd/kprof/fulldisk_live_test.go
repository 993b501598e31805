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

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// TestLiveEveryFull: where the disk of a recording in many files is full the recording goes on, says
// that it loses some, and has files again when there is room; it fails at its end.
func TestLiveEveryFull(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "perl", "sh")
	livetest.UseMachine(t)
	perl, err := exec.LookPath("perl")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cpu.folded", "cpu.data"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			disk := filepath.Join(dir, "disk")
			if err := errors.Join(os.Mkdir(disk, 0o700), unix.Mount("none", disk, "tmpfs", 0, "size=64m")); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := unix.Unmount(disk, 0); err != nil {
					t.Error(err)
				}
			}()
			for _, comm := range []string{"early", "amid", "late"} {
				if err := os.Symlink(perl, filepath.Join(dir, comm)); err != nil {
					t.Fatal(err)
				}
			}
			said := filepath.Join(dir, "said")
			// If what is waited for does not come the command ends all the same, before the late samples.
			script := strings.Join([]string{
				"wait_for() { i=0; until eval \"$1\"; do i=$((i + 1)); [ $i -lt 5000 ] || exit 3; ./$2 -e getppid; done; }",
				"wait_for '[ $(ls disk | wc -l) -gt 2 ]' early",
				"cat /dev/zero > disk/zeros 2> cat.said",
				"wait_for 'grep -q \"lost until there is room\" said' amid",
				"rm disk/zeros",
				"wait_for 'grep -q \"there is room again\" said' amid",
				"./late -e 'for (1..1000) { getppid; select(undef, undef, undef, 0.001) }'",
			}, "\n")
			stderr, err := os.Create(said)
			if err != nil {
				t.Fatal(err)
			}
			defer stderr.Close()
			cmd := exec.Command("kprof", "record", "-e", "syscalls:sys_enter_getppid", "-c", "1", "--every", "200ms", "-o", "disk/"+name, "--", "sh", "-c", script)
			cmd.Dir, cmd.Stderr = dir, stderr
			if err := cmd.Run(); cmd.ProcessState == nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(said)
			if err != nil {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != 1 || !bytes.Contains(text, []byte("no space left on device")) || !bytes.Contains(text, []byte("lost: ")) {
				t.Errorf("exit code %d: %s", code, text)
			}
			files, err := filepath.Glob(filepath.Join(disk, "cpu.*"))
			if err != nil {
				t.Fatal(err)
			}
			samples := map[string]int{}
			for _, file := range files {
				stacks, errs, code := outcome(t, dir, "convert", "-f", "folded", file)
				if code != 0 && !strings.Contains(errs, "it has no samples") { // the beginning of one
					t.Errorf("%s: exit code %d: %s", file, code, errs)
				}
				for line := range strings.Lines(stacks) {
					n := 0
					fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &n)
					comm, _, _ := strings.Cut(line, ";")
					samples[comm] += n
				}
			}
			if samples["late"] != 1000 || samples["early"] == 0 {
				t.Errorf("samples of %v in %d files: %s", samples, len(files), text)
			}
		})
	}
}
