//go:build linux

package event

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kprof/perfevent/livetest"
)

// TestUprobeInTask: the path of a probe in a program is the process's, as that of a container is
// another than ours.
func TestUprobeInTask(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.PMU("uprobe"), livetest.Program("gcc"))
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	here := filepath.Join(dir, "both") // another file in root
	if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
		t.Fatal(err)
	}
	livetest.Run(t, "gcc", "-static", "-O1", "-o", filepath.Join(root, "program"), "testdata/siblings.c")
	livetest.Run(t, "gcc", "-O1", "-o", here, "testdata/siblings.c")
	livetest.Run(t, "cp", filepath.Join(root, "program"), filepath.Join(root, here))
	if err := os.Symlink("/program", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	livetest.Run(t, "gcc", "-static", "-o", filepath.Join(root, "pause"), "testdata/pause.c")
	c := exec.Command("/pause")
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := c.Wait(); !errors.As(err, new(*exec.ExitError)) {
			t.Error(err)
		}
	}()
	pid := c.Process.Pid
	theirs := fmt.Sprintf("/proc/%d/root", pid)
	for _, tt := range []struct {
		tasks []int
		path  string
		want  string
	}{
		{[]int{pid}, "/program", theirs + "/program"},
		{[]int{pid}, "/link", theirs + "/program"},
		{[]int{pid}, here, theirs + here},
		{[]int{os.Getpid()}, here, here},
		{[]int{pid, os.Getpid()}, here, here},
		{nil, here, here},
		{[]int{pid}, filepath.Join(root, "program"), filepath.Join(root, "program")}, // as it is called here
	} {
		r := Resolver{Tasks: tt.tasks}
		events, err := r.Resolve(mustSpec(t, "uprobe:"+tt.path+":hit"))
		if err != nil || len(events) != 1 || events[0].Target != tt.want || events[0].Name != "uprobe:"+tt.path+":hit" {
			t.Errorf("%s of %v: %+v, %v; want %s", tt.path, tt.tasks, events, err, tt.want)
			continue
		}
		told := len(events[0].Notes) == 1 && strings.HasSuffix(events[0].Notes[0], tt.want)
		if told != (tt.want != tt.path) {
			t.Errorf("%s of %v: %q", tt.path, tt.tasks, events[0].Notes)
		}
	}
}
