//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// convertTo converts a small folded file to an output, in a directory that is
// private to the test, and returns what it says.
func convertTo(t *testing.T, out string, args ...string) (string, error) {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in.folded")
	livetest.WriteFile(t, in, "comm;main;work 10\n")
	b, err := kprof(t, append([]string{"convert", in, "-o", out}, args...)...).CombinedOutput()
	return string(b), err
}

const converted = "comm;main;work 10\n"

func mustHold(t *testing.T, name, want string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil || string(b) != want {
		t.Errorf("%s holds %.100q, %v; want %q", name, b, err, want)
	}
}

func mustBePrivate(t *testing.T, name string) {
	t.Helper()
	st, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode() != 0o600 {
		t.Errorf("%s has mode %v", name, st.Mode())
	}
}

// TestOutputsArePrivate: whatever is written is for its owner only, whatever the
// umask, and also where there was another file before.
func TestOutputsArePrivate(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	dir := t.TempDir()
	for _, name := range []string{"x.pb.gz", "x.pprof", "x.folded", "x.svg", "x.html", "x.speedscope.json", "x.firefox.json.gz", "x.trace.json"} {
		out := filepath.Join(dir, name)
		if msg, err := convertTo(t, out); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, msg)
		}
		mustBePrivate(t, out)
	}
	public := filepath.Join(dir, "public.folded")
	livetest.WriteFile(t, public, "before\n")
	if msg, err := convertTo(t, public); err != nil {
		t.Fatal(err, msg)
	}
	mustBePrivate(t, public)
	mustHold(t, public, converted)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 9 {
		t.Errorf("there are %v, %v", left, err)
	}
	in := filepath.Join(dir, "x.folded")
	out := filepath.Join(dir, "diff.json")
	diff := kprof(t, "diff", "--force", in, public, "-o", out)
	if b, err := diff.CombinedOutput(); diff.ProcessState.ExitCode() != exitUndecided { // of so few samples
		t.Fatalf("%v\n%s", err, b)
	}
	mustBePrivate(t, out)
}

// TestRecordingsArePrivate: the same of what is recorded.
func TestRecordingsArePrivate(t *testing.T) {
	livetest.Require(t, livetest.Root)
	defer unix.Umask(unix.Umask(0))
	dir := t.TempDir()
	for _, name := range []string{"x.data", "x.pb.gz", "x.folded", "x.html"} {
		out := filepath.Join(dir, name)
		for range 2 { // the second time there is one already
			if b, err := kprof(t, "record", "-q", "-e", "page-faults:u", "-c", "1", "-o", out, "--", "true").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, b)
			}
			mustBePrivate(t, out)
		}
	}
	mustBePrivate(t, filepath.Join(dir, "x.data.old"))
}

// TestOutputThroughLinks: a link that is ours is followed, and what it leads to is
// replaced by a whole file, not written to.
func TestOutputThroughLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Mkdir(at("below"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"one": "two", "two": "below/real", "dir": "below", "gone": "below/new", "loop": "loop", "up": "below/../below/../up.folded"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	livetest.WriteFile(t, at("below/real"), "before\n")
	if err := os.Link(at("below/real"), at("other name")); err != nil {
		t.Fatal(err)
	}
	for out, real := range map[string]string{"one": "below/real", "dir/x": "below/x", "gone": "below/new", "up": "up.folded", "./dir/..//dir/./y": "below/y"} {
		if msg, err := convertTo(t, dir+"/"+out, "-f", "folded"); err != nil {
			t.Errorf("%s: %v\n%s", out, err, msg)
		}
		mustHold(t, at(real), converted)
	}
	mustHold(t, at("other name"), "before\n")
	if st, err := os.Lstat(at("one")); err != nil || st.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link became %v, %v", st, err)
	}
	for _, bad := range []string{"loop", "below", "below/", "nowhere/x", "other name/x", ".", "dir/.."} {
		if msg, err := convertTo(t, dir+"/"+bad, "-f", "folded"); err == nil || strings.Count(msg, "\n") != 1 || !strings.HasPrefix(msg, "kprof: ") {
			t.Errorf("%s: %v\n%s", bad, err, msg)
		}
	}
}

// TestOutputToPipes: a named pipe and a descriptor are written as pipes.
func TestOutputToPipes(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		b, err := os.ReadFile(fifo)
		read <- fmt.Sprint(string(b), err)
	}()
	if msg, err := convertTo(t, fifo, "-f", "folded"); err != nil {
		t.Fatal(err, msg)
	}
	if got := <-read; got != converted+"<nil>" {
		t.Errorf("the pipe had %q", got)
	}
	if st, err := os.Lstat(fifo); err != nil || st.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the pipe became %v, %v", st, err)
	}

	// A descriptor, also of a file: written where it stands, and not truncated.
	in := filepath.Join(t.TempDir(), "in.folded")
	livetest.WriteFile(t, in, converted)
	for _, out := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"} {
		name := filepath.Join(t.TempDir(), "out")
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, "before\n")
		cmd := kprof(t, "convert", in, "-f", "folded", "-o", out)
		cmd.Stdout = f
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", out, err)
		}
		f.Close()
		mustHold(t, name, "before\n"+converted)
		cmd = kprof(t, "convert", in, "-f", "folded", "-o", out)
		if b, err := cmd.Output(); err != nil || string(b) != converted {
			t.Errorf("%s: %q, %v", out, b, err)
		}
	}
	if msg, err := convertTo(t, fmt.Sprintf("/proc/%d/fd/1", os.Getppid()), "-f", "folded"); err == nil || !strings.Contains(msg, "link of procfs") {
		t.Errorf("a descriptor of another process: %v\n%s", err, msg)
	}
	if msg, err := convertTo(t, "/dev/null", "-f", "folded"); err != nil {
		t.Errorf("%v\n%s", err, msg)
	}
}

// TestRecordToPipe: so is a recording.
func TestRecordToPipe(t *testing.T) {
	livetest.Require(t, livetest.Root)
	dir := t.TempDir()
	fifo, kept := filepath.Join(dir, "fifo"), filepath.Join(dir, "kept")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	reader := exec.Command("cp", fifo, kept)
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	b, err := kprof(t, "record", "-q", "-e", "task-clock:u", "-c", "10000", "-f", "data", "-o", fifo, "--", "true").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if err := reader.Wait(); err != nil {
		t.Fatal(err)
	}
	if b, err := kprof(t, "report", "--list-events", kept).CombinedOutput(); err != nil || !strings.HasPrefix(string(b), "task-clock:u\n") {
		t.Errorf("%v\n%s", err, b)
	}
}

// TestOutputInSharedDirectory: as root, in a directory where everybody may put
// things, nothing of somebody else is followed, written to or replaced, and what is
// in the way of a recording is told before it begins.
func TestOutputInSharedDirectory(t *testing.T) {
	livetest.Require(t, livetest.Root)
	const tenant = 65534
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(shared, name) }
	victim := filepath.Join(t.TempDir(), "victim.folded")
	livetest.WriteFile(t, victim, "before\n")
	theirs := func(name string, make func(string) error) {
		t.Helper()
		if err := make(at(name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(at(name), tenant, tenant); err != nil {
			t.Fatal(err)
		}
	}
	theirs("link.folded", func(n string) error { return os.Symlink(victim, n) })
	theirs("dangling.folded", func(n string) error { return os.Symlink(filepath.Join(filepath.Dir(victim), "new"), n) })
	theirs("dir", func(n string) error { return os.Symlink(filepath.Dir(victim), n) })
	theirs("file.folded", func(n string) error { return os.WriteFile(n, []byte("theirs\n"), 0o666) })
	theirs("fifo.folded", func(n string) error { return unix.Mkfifo(n, 0o666) })
	theirs("rec.data.old", func(n string) error { return os.WriteFile(n, []byte("theirs\n"), 0o666) })
	livetest.WriteFile(t, at("rec.data"), "ours\n")
	refused := func(out string, cmd *exec.Cmd) {
		t.Helper()
		b, err := cmd.CombinedOutput()
		if msg := string(b); err == nil || strings.Count(msg, "\n") != 1 || !strings.Contains(msg, "user 65534") || !strings.Contains(msg, "name another file") {
			t.Errorf("%s: %v\n%s", out, err, msg)
		}
		mustHold(t, victim, "before\n")
		mustHold(t, at("file.folded"), "theirs\n")
		mustHold(t, at("rec.data.old"), "theirs\n")
		if left, err := os.ReadDir(filepath.Dir(victim)); err != nil || len(left) != 1 {
			t.Fatalf("%s: beside the victim are %v, %v", out, left, err)
		}
	}
	in := filepath.Join(t.TempDir(), "in.folded")
	livetest.WriteFile(t, in, converted)
	ran := filepath.Join(t.TempDir(), "ran")
	for _, out := range []string{"link.folded", "dangling.folded", "dir/x.folded", "file.folded", "fifo.folded"} {
		refused(out, kprof(t, "convert", in, "-o", at(out)))
		refused(out, kprof(t, "record", "-f", "data", "-o", at(out), "--", "touch", ran))
		refused(out, kprof(t, "record", "-o", at(out), "--", "touch", ran))
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command ran although there was nowhere to record it to")
	}
	refused("rec.data", kprof(t, "record", "-q", "-e", "task-clock:u", "-o", at("rec.data"), "--", "true"))
	mustHold(t, at("rec.data"), "ours\n")
	// What is new, or ours, is written; also through a link of ours.
	if err := os.Symlink("ours.folded", at("mine.folded")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if b, err := kprof(t, "convert", in, "-o", at("mine.folded")).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, b)
		}
		mustHold(t, at("ours.folded"), converted)
		mustBePrivate(t, at("ours.folded"))
	}
	// A link of somebody else is not followed in their own directory either.
	home := t.TempDir()
	if err := os.Symlink(victim, filepath.Join(home, "x.folded")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{home, filepath.Join(home, "x.folded")} {
		if err := os.Lchown(name, tenant, tenant); err != nil {
			t.Fatal(err)
		}
	}
	refused("home", kprof(t, "convert", in, "-o", filepath.Join(home, "x.folded")))
}
