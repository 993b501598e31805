//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// hotplug returns the switch of a CPU other than the first.
func hotplug() (cpu int, file string) {
	files, _ := filepath.Glob("/sys/devices/system/cpu/cpu[1-9]*/online")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(b)) == "1" && syscall.Access(file, 2) == nil {
			cpu, _ = strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "cpu"))
			return cpu, file
		}
	}
	return 0, ""
}

// setOnline returns what takes a CPU offline and back; it is back after the test.
func setOnline(t *testing.T) (cpu int, set func(to string)) {
	t.Helper()
	cpu, online := hotplug()
	if online == "" {
		t.Skip("no CPU here can be taken offline")
	}
	livetest.ChangeMachine(t)
	t.Cleanup(func() { os.WriteFile(online, []byte("1"), 0) })
	if err := os.WriteFile(online, []byte("0"), 0); err != nil {
		t.Skipf("this machine does not let go of a CPU: %v", err)
	}
	set = func(to string) {
		t.Helper()
		if err := os.WriteFile(online, []byte(to), 0); err != nil {
			t.Fatal(err)
		}
	}
	set("1")
	return cpu, set
}

// onCPU returns a command that works on one CPU for a while, under a name.
func onCPU(t *testing.T, cpu int, name string) []string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(sh, link); err != nil {
		t.Fatal(err)
	}
	return []string{"taskset", "-c", strconv.Itoa(cpu), link, "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"}
}

// wantOnCPU wants perf and kprof to show samples of a command on a CPU, all of the
// recording to be read, and nothing to be amiss.
func wantOnCPU(t *testing.T, name, comm string, cpu int) {
	t.Helper()
	out, err := livetest.PerfCommand(t, "script", "-i", name, "-F", "comm,cpu,event").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	at := 0
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); f[0] == comm && strings.Contains(line, fmt.Sprintf("[%03d]", cpu)) && strings.Contains(line, "cpu-clock") {
			at++
		}
	}
	if at == 0 {
		t.Errorf("perf shows no sample of %s on cpu %d", comm, cpu)
	}
	wantWhole(t, name)
	folded, err := kprof(t, "convert", "-f", "folded", "-o", "-", name).Output()
	if err != nil || !strings.Contains(string(folded), comm) {
		t.Errorf("kprof shows no sample of %s: %v\n%s", comm, err, folded)
	}
}

// A CPU that goes and comes back is told of, and recorded again: in a file, in a
// profile that is made while recording, and in a pipe.
func TestLiveCPUOffline(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	cpu, set := setOnline(t)
	dir := t.TempDir()
	name, folded := filepath.Join(dir, "perf.data"), filepath.Join(dir, "out.folded")
	var said [2]bytes.Buffer
	var recorders []*exec.Cmd
	for i, out := range []string{name, folded} {
		c := builtKprof(t, "record", "-q", "-a", "-e", "cpu-clock", "-F", "1000", "-o", out) // with fewer rights by then
		c.Stderr = &said[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer c.Process.Kill()
		recorders = append(recorders, c)
	}
	waitFor(t, "samples", committed(t, name))
	for _, to := range []string{"0", "1"} {
		set(to)
		// At the second growth, at the latest, kprof has looked at the CPUs since; the other one
		// some time later.
		for range 10 {
			size := fileSize(t, name)
			waitFor(t, "more samples", func() bool { return fileSize(t, name) > size })
		}
	}
	const comm = "came-back"
	argv := onCPU(t, cpu, comm)
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, c := range recorders {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, &said[i])
		}
		for _, want := range []string{"went offline: it is recorded up to there", "came online while recording: it is recorded from there on"} {
			if !strings.Contains(said[i].String(), "cpu "+strconv.Itoa(cpu)+" "+want) {
				t.Errorf("nothing about %q:\n%s", want, &said[i])
			}
		}
	}
	wantOnCPU(t, name, comm, cpu)
	if b, err := os.ReadFile(folded); err != nil || !strings.Contains(string(b), comm+";") {
		t.Errorf("the profile has nothing of %s: %v", comm, err)
	}
}

// TestLiveCPUUnseen: a CPU that goes and comes back while nothing of kprof runs, as where a machine
// sleeps, is recorded again too, and what started there meanwhile has its name and its functions.
func TestLiveCPUUnseen(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	cpu, set := setOnline(t)
	name := filepath.Join(t.TempDir(), "perf.data")
	c := builtKprof(t, "record", "-q", "-a", "-e", "cpu-clock", "-F", "1000", "-m", "16M", "-o", name)
	said := startRecording(t, c, name)
	if err := c.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	set("0")
	set("1")
	const early, comm = "early-unseen", "came-unseen"
	// What it is before is recorded on the first CPU.
	argv := append([]string{"taskset", "-c", "0"}, append(onCPU(t, cpu, early)[:5], "while :; do :; done")...)
	started := exec.Command(argv[0], argv[1:]...)
	if err := started.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { started.Process.Kill(); started.Wait() }()
	waitFor(t, "exec", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", started.Process.Pid))
		return err == nil && strings.TrimSpace(string(b)) == early
	})
	if err := c.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	time.Sleep(6 * time.Second) // kprof asks its counters every 2
	argv = onCPU(t, cpu, comm)
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if want := fmt.Sprintf("cpu %d went offline and came back meanwhile", cpu); !strings.Contains(said.String(), want) {
		t.Errorf("nothing about %q:\n%s", want, said)
	}
	wantOnCPU(t, name, comm, cpu)
	wantOnCPU(t, name, early, cpu)
	// Of what is not known to be mapped perf has no file. What it ran as before has another name. Two
	// seconds and more are 2,000 samples, and 600 where two others share the CPU.
	out, err := livetest.PerfCommand(t, "script", "-i", name, "-G", "-F", "comm,ip,dso").Output()
	if err != nil {
		t.Fatal(err)
	}
	known, all := 0, 0
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == early {
			if all++; f[2] != "([unknown])" {
				known++
			}
		}
	}
	if known*10 < all*9 || all < 20 {
		t.Errorf("%d of %d samples of %s are in what is known to be mapped", known, all, early)
	}
}

// A CPU that was offline when the recording began is recorded when it comes,
// whether the machine is recorded or a command that moves there.
func TestLiveCPUOnline(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	cpu, set := setOnline(t)
	_, online := hotplug()
	for _, target := range []string{"machine", "command"} {
		t.Run(target, func(t *testing.T) {
			set("0")
			defer set("1")
			name, comm := filepath.Join(t.TempDir(), "perf.data"), "on-"+target
			args := []string{"record", "-q", "-e", "cpu-clock", "-F", "1000", "-o", name}
			if target == "machine" {
				args = append(args, "-a")
			}
			// The recorder looks at the CPUs many times a second.
			args = append(args, "--", "sh", "-c", `echo 1 >`+online+`; sleep 1; exec "$@"`, "sh")
			out, err := kprof(t, append(args, onCPU(t, cpu, comm)...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if told := strings.Contains(string(out), "recorded from there on"); told != (target == "machine") {
				t.Errorf("%s", out)
			}
			wantOnCPU(t, name, comm, cpu)
		})
	}
}

// TestLiveWakeupsCPUOffline: the wake-ups of a command's processes are recorded on a CPU that has
// been away meanwhile, seen or unseen, also where the kernel samples none for the task that is woken.
func TestLiveWakeupsCPUOffline(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	cpu, set := setOnline(t)
	set("1")
	_, online := hotplug()
	name := filepath.Join(t.TempDir(), "perf.data")
	// Each end of a child wakes the shell on the CPU that both are kept on; where that is not opened
	// again there are none.
	const times = 100
	for _, unseen := range []bool{false, true} {
		away, back := "sleep 0.3", "sleep 1"
		if unseen { // kprof, which has started the shell, asks its counters every 2 s
			// Numbers of threads begin anew meanwhile: it opens counters for the low ones, which go on; the shell's is not.
			away, back = ":", "kill -CONT $PPID; { echo 300 >/proc/sys/kernel/ns_last_pid; } 2>/dev/null; sleep 6"
		}
		script := "echo 0 >" + online + "; " + away + "; echo 1 >" + online + "; " + back + "; " +
			fmt.Sprintf("taskset -pc %d $$ >/dev/null; %sexit 0", cpu, strings.Repeat("/bin/true;", times))
		if unseen {
			script = "kill -STOP $PPID; " + script
		}
		out, err := kprof(t, "record", "-q", "-e", "sched:sched_waking", "-o", name, "--", "sh", "-c", script).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		listed, err := livetest.PerfCommand(t, "script", "-i", name, "-F", "cpu,trace").Output()
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(listed)) {
			if strings.Contains(line, fmt.Sprintf("[%03d]", cpu)) && strings.Contains(line, "comm=sh ") {
				n++
			}
		}
		if n < times/4 {
			t.Errorf("unseen %v: %d wake-ups of %d on cpu %d\n%s", unseen, n, times, cpu, out)
		}
	}
}

func fileSize(t *testing.T, name string) int64 {
	t.Helper()
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}
