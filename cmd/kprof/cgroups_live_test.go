//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// TestLiveAllCgroups: a command that moves into a cgroup, which is called as that of a
// container, has its samples there, as perf has it too.
func TestLiveAllCgroups(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf, livetest.Cgroup2)
	id := fmt.Sprintf("%012x%052x", os.Getpid(), 1)
	group := filepath.Join(livetest.CgroupRoot(), "docker-"+id+".scope")
	livetest.MakeCgroup(t, group)
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

// TestLiveStatCgroups: what a cgroup and one within it have in common is counted once, but for
// each where each has its own count; and no cgroup has two.
func TestLiveStatCgroups(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Cgroup2)
	name := fmt.Sprintf("kprof-stat-test-%d", os.Getpid())
	inner := filepath.Join(livetest.CgroupRoot(), name, "in")
	livetest.MakeCgroup(t, filepath.Dir(inner))
	livetest.MakeCgroup(t, inner)
	call := rareCalls[0]
	program := callsProgram(t)
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{nil, []string{""}},
		{[]string{"--per-cgroup"}, []string{name + "/in", name}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		args := append([]string{"stat", "--json", "-o", out, "-e", "syscalls:sys_enter_" + call.name, "--cgroup", name + "/in," + name + "," + name + "/"}, tt.args...)
		mustRun(t, kprof(t, append(args, "--", "sh", "-c", "echo $$ >"+inner+"/cgroup.procs; exec "+program)...))
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(string(b)) {
			var row struct {
				Cgroup string
				Value  int
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			if got = append(got, row.Cgroup); row.Value != call.times {
				t.Errorf("%q: %s counts %d, want %d", tt.args, row.Cgroup, row.Value, call.times)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: counts of %q, want %q", tt.args, got, tt.want)
		}
	}
}

// TestLiveCgroups: of several cgroups, which a glob names, each sample tells its own, and what is
// beside them has none.
func TestLiveCgroups(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Cgroup2)
	name := fmt.Sprintf("kprof-test-%d", os.Getpid())
	parent := filepath.Join(livetest.CgroupRoot(), name)
	for _, dir := range []string{"", "in1", "in2", "in2/deep", "out"} {
		group := filepath.Join(parent, dir)
		livetest.MakeCgroup(t, group)
	}
	data := filepath.Join(t.TempDir(), "x.data")
	c := kprof(t, "record", "-q", "-e", "syscalls:sys_enter_umask", "--cgroup", name+"/in*,"+name+"/in2/deep", "-o", data)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	// It leaves the groups as it ends.
	load := exec.Command("sh", "-c", `while read line; do for g in in1 in2/deep out .. in2; do echo $$ >$g/cgroup.procs; umask 022; done; done; echo $$ >../cgroup.procs`)
	load.Dir = parent
	more, err := load.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := load.Start(); err != nil {
		t.Fatal(err)
	}
	rounds := 0
	waitFor(t, "samples", func() bool {
		if _, err := more.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		if rounds++; !committed(t, data)() {
			return false
		}
		n, _ := samples(t, data)
		return n >= 20
	})
	if err := errors.Join(more.Close(), load.Wait(), c.Process.Signal(unix.SIGINT), c.Wait()); err != nil {
		t.Fatal(err)
	}
	var table struct {
		Rows []struct {
			Name string
			Self int
		}
	}
	if err := json.Unmarshal(command(t, nil, c.Path, "report", "--json", "--by", "cgroup", data), &table); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, r := range table.Rows {
		counts[strings.TrimPrefix(r.Name, "/"+name)] = r.Self
	}
	// Shells make up to three calls of one umask.
	if n := counts["/in1"]; n < 4 || n > 3*rounds || len(counts) != 3 || max(n-counts["/in2"], counts["/in2"]-n, n-counts["/in2/deep"], counts["/in2/deep"]-n) > 3 {
		t.Errorf("in %d rounds %v", rounds, counts)
	}
}
