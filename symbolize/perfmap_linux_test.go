package symbolize

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
)

// TestPerfMapOfAContainer: a process in its own root and pid namespace writes its map
// under the number that it has there. What its root has at that path is not followed
// anywhere else, and must be of its user.
func TestPerfMapOfAContainer(t *testing.T) {
	livetest.Require(t, livetest.Root)
	path, _, _ := program(t, waiting, "-DNUMBER=7", "-static")
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, filepath.Join(root, "prog")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/prog", "wait")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Cloneflags: syscall.CLONE_NEWPID}
	livetest.StartWaiting(t, cmd)
	m := Mapping{Kind: mapping.Anon, PID: cmd.Process.Pid}
	file := filepath.Join(root, "tmp/perf-1.map")
	name := func() (string, error) {
		s := New(Options{})
		defer s.Close()
		got, err := names(t, s, m, 0x1010)
		return got[0], err
	}
	write(t, file, "1000 20 inner\n")
	if got, err := name(); got != "inner" || err != nil {
		t.Errorf("%q (%v), want inner", got, err)
	}
	if err := os.Chown(file, 12345, 0); err != nil {
		t.Fatal(err)
	}
	if got, err := name(); got != "" || !errors.Is(err, ErrUntrusted) {
		t.Errorf("map of another user: %q (%v), want %v", got, err, ErrUntrusted)
	}
	if err := os.Rename(file, filepath.Join(root, "map")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../map", file); err != nil {
		t.Fatal(err)
	}
	if got, err := name(); got != "" || !errors.Is(err, syscall.ELOOP) {
		t.Errorf("through a link: %q (%v), want %v", got, err, syscall.ELOOP)
	}
}

// TestDebugFileOfAContainer: a process in its own root directory has the debug files of its programs
// there, as perf finds them. That of another build is not taken.
func TestDebugFileOfAContainer(t *testing.T) {
	livetest.Require(t, livetest.Root)
	path, off, id := program(t, waiting, "-DNUMBER=11", "-static")
	stripped, debug := strippedCopy(t, path)
	root := t.TempDir()
	install(t, stripped, root, "/prog")
	if err := os.Chmod(filepath.Join(root, "prog"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/prog", "wait")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	livetest.StartWaiting(t, cmd)
	name := func() (string, error) {
		s := New(Options{})
		defer s.Close()
		got, err := names(t, s, Mapping{Kind: mapping.User, File: "/prog", PID: cmd.Process.Pid}, off)
		return got[0], err
	}
	if got, err := name(); got != "" || !errors.Is(err, elfsym.ErrStripped) {
		t.Errorf("without a debug file: %q (%v)", got, err)
	}
	place := filepath.Join("/usr/lib/debug/.build-id", id[:2], id[2:]+".debug")
	install(t, debug, root, place)
	if got, err := name(); got != "f" || err != nil {
		t.Errorf("%q (%v), want f", got, err)
	}
	livetest.Run(t, "objcopy", "--remove-section=.note.gnu.build-id", filepath.Join(root, place))
	if got, err := name(); got != "" || !errors.Is(err, elfsym.ErrStripped) {
		t.Errorf("with that of another build: %q (%v)", got, err)
	}
}

// TestJITDumpOwner: a dump is taken from the user of the process alone, by that name,
// and not through links.
func TestJITDumpOwner(t *testing.T) {
	livetest.Require(t, livetest.Root)
	prog, _, _ := program(t, waiting, "-DNUMBER=8")
	pid := start(t, prog).Process.Pid
	dir := t.TempDir()
	dump := newDump(binary.LittleEndian, 0)
	off := dump.load(1, 0x1000, 0x20, 1, "jitted")
	path := filepath.Join(dir, "jit-1.dump")
	write(t, path, dump.String())
	name := func(path string, pid int) (string, error) {
		s := New(Options{})
		defer s.Close()
		got, err := names(t, s, Mapping{Kind: mapping.User, File: path, PID: pid}, off)
		return got[0], err
	}
	for _, pid := range []int{pid, nobody} {
		if got, err := name(path, pid); got != "jitted" || err != nil {
			t.Errorf("%q (%v), want jitted", got, err)
		}
	}
	link := filepath.Join(dir, "jit-2.dump")
	if err := os.Symlink("jit-1.dump", link); err != nil {
		t.Fatal(err)
	}
	if got, err := name(link, pid); got != "" || !errors.Is(err, syscall.ELOOP) {
		t.Errorf("through a link: %q (%v), want %v", got, err, syscall.ELOOP)
	}
	other := filepath.Join(dir, "other")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	// A process that is gone may have been anybody's.
	for path, pid := range map[string]int{other: pid, path: nobody} {
		if got, err := name(path, pid); got != "" || !errors.Is(err, ErrUntrusted) {
			t.Errorf("%s with two names: %q (%v), want %v", path, got, err, ErrUntrusted)
		}
	}
	if err := os.Chown(path, 12345, 0); err != nil {
		t.Fatal(err)
	}
	if got, err := name(path, pid); got != "" || !errors.Is(err, ErrUntrusted) {
		t.Errorf("of another user: %q (%v), want %v", got, err, ErrUntrusted)
	}
}

// TestPerfMapGivenToRoot: perf run by root takes no maps but root's, so that users of
// perf-map-agent give them to root. Below a root directory of the process's such a file may
// be any of root's.
func TestPerfMapGivenToRoot(t *testing.T) {
	livetest.Require(t, livetest.Root)
	path, _, _ := program(t, waiting, "-DNUMBER=7", "-static")
	root := t.TempDir()
	if err := errors.Join(os.Chmod(root, 0o755), os.Mkdir(filepath.Join(root, "tmp"), 0o777), os.Rename(path, filepath.Join(root, "prog"))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", root} {
		cmd := exec.Command("sh", "-c", "echo; exec sleep 600")
		if dir != "" {
			cmd = exec.Command("/prog", "wait")
		}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		livetest.StartWaiting(t, cmd)
		file := filepath.Join(dir, fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid))
		write(t, file, "1000 20 given\n")
		t.Cleanup(func() { os.Remove(file) })
		s := New(Options{})
		defer s.Close()
		got, err := names(t, s, Mapping{Kind: mapping.Anon, PID: cmd.Process.Pid}, 0x1010)
		if dir == "" && (got[0] != "given" || err != nil) || dir != "" && !errors.Is(err, ErrUntrusted) {
			t.Errorf("below %q: %q (%v)", dir, got[0], err)
		}
	}
}
