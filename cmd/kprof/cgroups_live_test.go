//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLiveAllCgroups: a command that moves into a cgroup, which is called as that of a
// container, has its samples there, as perf has it too.
func TestLiveAllCgroups(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf, livetest.Cgroup2)
	id := fmt.Sprintf("%012x%052x", os.Getpid(), 1)
	group := filepath.Join(livetest.CgroupRoot(), "docker-"+id+".scope")
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	data := filepath.Join(t.TempDir(), "perf.data")
	c := kprof(t, "record", "-q", "--all-cgroups", "-e", "syscalls:sys_enter_umask", "-o", data, "--", "sh", "-c", `
umask 022; echo $$ > `+group+`/cgroup.procs; umask 022; umask 022`)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path := "/" + filepath.Base(group)
	for by, want := range map[string]string{"cgroup": path, "container": "docker:" + id[:12]} {
		out := string(command(t, nil, kprof(t).Path, "report", "--by", by, "--event", "syscalls:sys_enter_umask", data))
		if !strings.Contains(out, " 66.67%") || !strings.Contains(out, "  "+want+"\n") {
			t.Errorf("--by %s: want 66.67%% in %s:\n%s", by, want, out)
		}
	}
	perf := string(command(t, nil, "perf", "report", "--stdio", "-g", "none", "--sort", "cgroup", "-i", data))
	if !strings.Contains(perf, "66.67%") || !strings.Contains(perf, path) {
		t.Errorf("perf finds others:\n%s", perf)
	}
}
