//go:build linux

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// controlDir makes a folder with the pipes ctl and ack.
func controlDir(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, pipe := range []string{"ctl", "ack"} {
		if err := unix.Mkfifo(filepath.Join(dir, pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// controlling begins a script that is recorded: say has the recorder do something, and waits until
// it did, which hear does, runs runs so many programs.
const controlling = `exec 8<>ack 9>ctl
runs() { i=0; while [ $i -lt $1 ]; do /bin/true; i=$((i+1)); done; }
hear() { read answer <&8; [ "$answer" = ack ] || exit 9; }
say() { echo "$1" >&9; hear; }`

// TestLiveControl: events are sampled between the commands that enable and disable them,
// by when these are acknowledged; a command needs no end.
func TestLiveControl(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	dir := controlDir(t)
	const script = controlling + `
runs 20; say enable
runs 30; say disable
runs 40; printf 'enable sched:sched_process_exec' >&9; hear
runs 5; echo 'enable nothing' >&9
say 'disable sched:sched_process_exec'
runs 60; say ping`
	c := kprof(t, "record", "-e", "sched:sched_process_exec", "-D", "-1", "--control", "fifo:ctl,ack", "-o", "x.data", "--", "sh", "-c", script)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(`--control: "enable nothing": no event "nothing" is recorded`)) {
		t.Fatalf("%v\n%s", err, out)
	}
	if n, _ := samples(t, filepath.Join(dir, "x.data")); n != 35 {
		t.Errorf("%d samples, want those of 35 programs", n)
	}
}

// TestLiveEnableOn: events are sampled between those that have them enabled and disabled, by when
// two more commands are acknowledged: between these the rings have been looked into.
func TestLiveEnableOn(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	dir := controlDir(t)
	const script = controlling + `
twice() { say 'disable sched:sched_process_fork'; say 'disable sched:sched_process_fork'; }
cp /bin/true begin; cp /bin/true end
runs 20; ./begin; twice
runs 30; ./end; twice
runs 40; ./begin; twice
runs 5; ./end; twice
runs 60`
	c := kprof(t, "record", "-e", "sched:sched_process_exec", "-e", "sched:sched_process_fork", "--control", "fifo:ctl,ack", "-o", "x.data",
		"--enable-on", `sched:sched_process_exit if comm == "begin"`, "--disable-on", `sched:sched_process_exit if comm == "end"`, "--", "sh", "-c", script)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(command(t, nil, c.Path, "script", filepath.Join(dir, "x.data")))) {
		fields := strings.Fields(line)
		for _, f := range fields {
			if event, ok := strings.CutSuffix(f, ":"); ok && strings.HasPrefix(event, "sched:") {
				counts[fields[0]+" "+event]++
			}
		}
	}
	if counts["true sched:sched_process_exec"] != 35 || counts["begin sched:sched_process_exit"] != 2 || counts["end sched:sched_process_exit"] != 2 {
		t.Errorf("%v, want 35 of true, and two each of what enables and disables", counts)
	}
}

// TestLiveControlStop: descriptors do as well as pipes with a name; what is kept is
// written when it is asked for, and the recording ends when it is told to.
func TestLiveControlStop(t *testing.T) {
	livetest.Require(t, livetest.Root)
	dir := t.TempDir()
	commands, tell, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer tell.Close()
	answers, acks, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	c := kprof(t, "record", "-a", "-e", "page-faults", "-c", "1", "--flight", "64M", "--control", "fd:3,4", "-o", filepath.Join(dir, "x.data"))
	c.ExtraFiles = []*os.File{commands, acks}
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	commands.Close()
	acks.Close()
	lines := bufio.NewScanner(answers)
	for _, command := range []string{"ping", "snapshot"} {
		if _, err := tell.WriteString(command + "\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || strings.TrimLeft(lines.Text(), "\x00") != "ack" {
			t.Fatalf("%s: %q\n%s", command, lines.Text(), said.String())
		}
		if command == "snapshot" {
			waitFor(t, "a file", func() bool { return len(partsOf(t, dir)) > 0 })
		}
		if err := exec.Command("true").Run(); err != nil { // there are page faults for each file
			t.Fatal(err)
		}
	}
	if _, err := tell.WriteString("stop\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || strings.Contains(said.String(), "--control") {
		t.Errorf("%v\n%s", err, said.String())
	}
	for _, name := range partsOf(t, dir) {
		if n, truncated := samples(t, name); n == 0 || truncated {
			t.Errorf("%s: %d samples, truncated %v", name, n, truncated)
		}
	}
}

// TestLiveDelay: nothing is sampled before the time that is waited for.
func TestLiveDelay(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	name := filepath.Join(t.TempDir(), "x.data")
	c := kprof(t, "record", "-e", "sched:sched_process_exec", "-D", "1h", "-o", name, "--", "sh", "-c", "/bin/true; /bin/true")
	if out, err := c.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("no sample of sched:sched_process_exec was recorded")) {
		t.Errorf("%v\n%s", err, out)
	}
	c = kprof(t, "record", "-e", "sched:sched_process_exec", "-D", "1", "-o", name, "--", "sh", "-c", "while ! [ -e "+name+".end ]; do /bin/true; done")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "samples", func() bool {
		if _, err := os.Stat(name); err != nil {
			return false
		}
		n, _ := samples(t, name)
		return n > 0
	})
	livetest.WriteFile(t, name+".end", "")
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}
