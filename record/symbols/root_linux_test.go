package symbols

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize"
	"kprof/symbolize/mapping"
)

// TestPerfMapOfContainerGone: what a process of a container wrote about its code, below its
// own root and by the number that it had there, is read when the process is gone.
func TestPerfMapOfContainerGone(t *testing.T) {
	livetest.Require(t, livetest.Root)
	livetest.RequirePrograms(t, "gcc")
	dir, root := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "prog.c"), `#include <unistd.h>
int main(void) { write(1, "x", 1); return pause(); }`)
	livetest.Run(t, "gcc", "-static", "-o", filepath.Join(root, "prog"), filepath.Join(dir, "prog.c"))
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "tmp/perf-1.map"), "1000 20 inner\n")

	cmd := exec.Command("/prog")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Cloneflags: syscall.CLONE_NEWPID}
	livetest.StartWaiting(t, cmd)
	pid := cmd.Process.Pid
	seen, full := NewFileRetainer(), NewFileRetainer()
	defer seen.Close()
	defer full.Close()
	full.limits.roots = 0
	for _, files := range []*FileRetainer{seen, full} {
		files.Forked(pid, os.Getpid())
		files.Executed(pid)
		files.Mapped(Map{PID: pid, Start: 0x400000, Limit: 0x401000, Path: "/prog", Inode: 1})
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	seen.Exited(pid)
	full.Exited(pid)

	for _, tt := range []struct {
		name  string
		files *FileRetainer
		want  string
	}{{"its root is held", seen, "inner"}, {"one root too many", full, ""}} {
		s := symbolize.New(symbolize.Options{Retained: tt.files})
		frames, err := s.Resolve(t.Context(), symbolize.Mapping{Kind: mapping.Anon, PID: pid}, []uint64{0x1010})
		got := ""
		if len(frames) == 1 && len(frames[0]) == 1 {
			got = frames[0][0].Name
		}
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
		s.Close()
	}
	if root, inner, ok := seen.RootOf(pid); root == "" || inner != 1 || !ok {
		t.Errorf("%q, %d, %v", root, inner, ok)
	}
	if root, _, ok := full.RootOf(pid); ok {
		t.Errorf("a root that is not held is %q", root)
	}
	if _, _, ok := seen.RootOf(nobody); ok {
		t.Error("the root of a process that was never seen is known")
	}
}
