//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPortable builds the command as it is built for other systems than Linux, for
// which the tag stands: what it makes of a recording is the same, and what only Linux
// can do it says in a line.
func TestPortable(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "kprof")
	if out, err := exec.Command("go", "build", "-tags", "portable", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kprof := func(program string, args ...string) (stdout, stderr string, code int) {
		var out, failed bytes.Buffer
		cmd := exec.Command(program, args...)
		cmd.Stdout, cmd.Stderr = &out, &failed
		cmd.Env = append(os.Environ(), "PAGER=")
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out.String(), failed.String(), cmd.ProcessState.ExitCode()
	}
	own := filepath.Join(dir, "own")
	if out, err := exec.Command("go", "build", "-o", own, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	demo := filepath.Join(root, "testdata", "demo.data")
	for _, args := range [][]string{
		{"convert", demo, "-f", "folded"}, {"convert", demo, "-f", "svg"}, {"report", demo}, {"report", "--json", demo},
		{"report", "--stats", demo}, {"diff", "--force", demo, demo},
	} {
		want, _, wantCode := kprof(own, args...)
		got, said, code := kprof(program, args...)
		if got != want || got == "" || code != wantCode {
			t.Errorf("%q: exit code %d, not %d; %d bytes, not %d; %s", args, code, wantCode, len(got), len(want), said)
		}
	}

	for _, args := range [][]string{
		{"record", "-a"}, {"stat", "--", "true"}, {"list"}, {"probe", "list"}, {"doctor"}, {"view", "--", "true"},
	} {
		out, said, code := kprof(program, args...)
		if out != "" || code != exitFailed || strings.Count(said, "\n") != 1 || !strings.Contains(said, "needs Linux") {
			t.Errorf("%q: exit code %d, printed %q, said %q", args, code, out, said)
		}
	}

	folded, _, _ := kprof(own, "convert", demo, "-f", "folded")
	link := filepath.Join(dir, "link.folded")
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "old.folded"), []byte("old"), 0o644),
		os.Symlink("old.folded", link),
		os.Symlink("gone.folded", filepath.Join(dir, "dangling.folded")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, refused := range map[string]string{
		"new.folded": "", "old.folded": "", "link.folded": "", "dangling.folded": "link", "none/x.folded": "no such file", ".": "directory",
	} {
		_, said, code := kprof(program, "convert", demo, "-f", "folded", "-o", filepath.Join(dir, name))
		if (code != 0) != (refused != "") || refused != "" && !strings.Contains(said, refused) {
			t.Errorf("%s: exit code %d, %s", name, code, said)
		}
		if refused != "" {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(filepath.Join(dir, name)); string(b) != folded || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v and %d bytes, not %d", name, info.Mode(), len(b), len(folded))
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	// What fails leaves nothing beside it.
	if _, said, code := kprof(program, "convert", filepath.Join(dir, "old.folded"), "-o", "/dev/full", "-f", "folded"); code == 0 {
		t.Errorf("a full device: %s", said)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
