//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// plainUser is a user without any capability.
const plainUser = 1000

// permissionRequests are what a plain user may want to record; OWN is a process of
// theirs, TARGET a program.
var permissionRequests = []struct {
	name  string
	args  string
	needs []livetest.Need
	some  bool // it certainly has samples
}{
	{name: "command", args: "-- ls /"},
	{name: "machine", args: "-a -d 20ms"},
	{name: "own process", args: "-p OWN -d 20ms"},
	{name: "user code", args: "-e page-faults:u -c 1 -- ls /", some: true},
	{name: "tracepoint", args: "-e sched:sched_switch -- ls /"},
	{name: "tracepoint, machine", args: "-e sched:sched_switch -a -d 20ms"},
	{name: "uprobe", args: "-e uprobe:TARGET:main.main -- TARGET --version", needs: []livetest.Need{livetest.PMU("uprobe")}, some: true},
	{name: "kprobe", args: "-e kprobe:do_sys_openat2 -- ls /", needs: []livetest.Need{livetest.PMU("kprobe")}, some: true},
	{name: "kprobe, machine", args: "-e kprobe:do_sys_openat2 -a -- ls /", needs: []livetest.Need{livetest.PMU("kprobe")}, some: true},
	{name: "kprobe with arguments", args: "-e kprobe:do_sys_openat2\tdfd=$arg1 -- ls /", needs: []livetest.Need{livetest.PMU("kprobe")}, some: true},
}

// TestLivePermissions: whatever the kernel permits to everybody, a plain user's
// recording works, or is refused in one line, with a command that, typed by root as
// it stands, makes just that recording work.
func TestLivePermissions(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	p := newPlainUser(t)
	levels, restricts := []int{-1, 0, 1, 2, 3, 4}, []int{0, 1, 2}
	var series string
	if livetest.InGuest() {
		b, err := os.ReadFile("/proc/sys/kernel/osrelease")
		if err != nil {
			t.Fatal(err)
		}
		series = string(b)
	}
	for _, level := range levels {
		for _, restrict := range restricts {
			for i, r := range permissionRequests {
				if !tried(i, level, restrict, r.args, series) {
					continue
				}
				t.Run(fmt.Sprintf("%s paranoid %d kptr %d", r.name, level, restrict), func(t *testing.T) {
					livetest.RequireKernel(t, r.needs...)
					p.try(t, level, restrict, r.args, r.some)
				})
			}
		}
	}
}

// tried reports whether a request is tried with these settings: two of three times, of each
// request and with each setting. An emulated CPU takes seconds for each: in guests of the
// series of a kernel a sixth of what needs their kprobes, so that two series have a third,
// and the rest once, as this machine tries it.
func tried(request, level, restrict int, args, series string) bool {
	third := (request+level+restrict+3)%3 == 0
	switch {
	case series == "":
		return !third
	case strings.Contains(args, "kprobe"):
		return third && ((request+level)%2 == 0) == strings.HasPrefix(series, "6.1.")
	}
	return level == 2 && restrict == 1
}

// asPlainUser runs kprof as a plain user.
type asPlainUser struct {
	dir     string // the user's
	program string // kprof
	target  string // kprof as well, without capabilities
	path    string // PATH of root, with a setcap
}

func newPlainUser(t *testing.T) *asPlainUser {
	livetest.ChangeMachine(t)
	for _, name := range []string{"perf_event_paranoid", "kptr_restrict"} {
		was, err := kernelSetting(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { setKernel(t, name, was) })
	}
	// What is to be typed must hold for any path.
	dir := filepath.Join(t.TempDir(), "it's $HOME")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, plainUser, plainUser), os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755)); err != nil {
		t.Fatal(err)
	}
	p := &asPlainUser{dir: dir, program: filepath.Join(dir, "kprof"), path: os.Getenv("PATH")}
	built, err := "/bin/kprof", error(nil)
	if !livetest.InGuest() {
		built, err = buildKprof()
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	// A blank in it would end the place of a probe.
	p.target = filepath.Join(filepath.Dir(dir), "target")
	if err := errors.Join(os.WriteFile(p.program, b, 0o755), os.WriteFile(p.target, b, 0o755)); err != nil {
		t.Fatal(err)
	}
	// In PATH is the one below.
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if _, err := os.Stat(filepath.Join(dir, "setcap")); err == nil {
			p.path = dir + ":" + p.path
		}
	}
	return p
}

func setKernel(t *testing.T, name string, value int) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/kernel/"+name, strconv.AppendInt(nil, int64(value), 10), 0); err != nil {
		t.Fatal(err)
	}
}

func (p *asPlainUser) try(t *testing.T, level, restrict int, args string, some bool) {
	setKernel(t, "perf_event_paranoid", level)
	setKernel(t, "kptr_restrict", restrict)
	if err := unix.Removexattr(p.program, "security.capability"); err != nil && !errors.Is(err, unix.ENODATA) {
		t.Fatal(err)
	}
	if strings.Contains(args, "OWN") {
		args = strings.ReplaceAll(args, "OWN", strconv.Itoa(spin(t)))
	}
	said, err := p.record(args)
	if err == nil {
		p.wantRecording(t, said, some)
		t.Logf("works: %s", said)
		return
	}
	line, isLine := strings.CutSuffix(said, "\n")
	why, command, ok := strings.Cut(line, "; as root: ")
	if !isLine || strings.Contains(line, "\n") || !strings.HasPrefix(why, "kprof: ") || !ok {
		t.Fatalf("%v; want one line with a command for root:\n%s", err, said)
	}
	root := exec.Command("sh", "-c", command)
	root.Env = append(os.Environ(), "PATH="+p.path)
	if out, err := root.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s: %v\n%s", line, command, err, out)
	}
	after, err := p.record(args)
	if err != nil {
		t.Fatalf("after %s: %v\nbefore: %safter: %s", command, err, said, after)
	}
	p.wantRecording(t, after, some)
	t.Logf("works after: %s", line)
}

// TestLiveOffCPUOfPlainUser: without the right to record tracepoints, times off the CPU are
// told all the same, with the stack of the last sample.
func TestLiveOffCPUOfPlainUser(t *testing.T) {
	livetest.Require(t, livetest.Root)
	p := newPlainUser(t)
	setKernel(t, "perf_event_paranoid", 2)
	for _, event := range []string{"off-cpu", "wall-clock"} {
		said, err := p.record("-e " + event + " -- sh -c i=0;while\t[\t$i\t-lt\t100000\t];do\ti=$((i+1));done;sleep\t0.3;:")
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		cmd := exec.Command(p.target, "report", "--json", "--by", "state,stack", "--comm", "sh", "perf.data")
		cmd.Dir = p.dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Event string
			Rows  []struct {
				Name string
				Self int64
			}
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		slept := int64(0)
		for _, r := range got.Rows {
			if r.Name == "blocked, of the last sample" {
				slept = r.Self
			}
		}
		if got.Event != event || slept < 250e6 {
			t.Errorf("the shell slept for %d ns, and some 0.3 s, of which the first milliseconds may be before it waits:\n%s", slept, out)
		}
	}
}

// TestLiveRefusedToPlainUser: what root alone may look at is refused in one line that says so.
func TestLiveRefusedToPlainUser(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	p := newPlainUser(t)
	was, err := kernelSetting("dmesg_restrict")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { setKernel(t, "dmesg_restrict", was) })
	setKernel(t, "dmesg_restrict", 1)
	for args, want := range map[string]string{
		"boot":          "run as root, or give a file that dmesg was written to\n",
		"probe list":    "permission denied: run as root\n",
		"probe cleanup": "permission denied: run as root\n",
	} {
		cmd := exec.Command(p.program, strings.Fields(args)...)
		cmd.Dir = p.dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plainUser, Gid: plainUser}}
		said, err := cmd.CombinedOutput()
		if err == nil || strings.Count(string(said), "\n") != 1 || !strings.HasSuffix(string(said), want) {
			t.Errorf("kprof %s: %v: %s", args, err, said)
		}
	}
}

// spin starts a process of the user that uses the CPU, until the test ends.
func spin(t *testing.T) (pid int) {
	c := exec.Command("sh", "-c", "while :; do :; done")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plainUser, Gid: plainUser}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() }) // it says only that it was killed
	return c.Process.Pid
}

// record records with args, and returns what kprof says. That nothing came of it is
// no error: a short command may be over before the first sample.
func (p *asPlainUser) record(args string) (said string, err error) {
	if err := os.RemoveAll(filepath.Join(p.dir, "perf.data")); err != nil {
		return "", err
	}
	cmd := exec.Command(p.program, "record", "-q", "--no-symbols", "-m", "128K", "-o", "perf.data")
	for _, arg := range strings.Fields(strings.ReplaceAll(args, "\t", "\x00")) {
		arg = strings.NewReplacer("TARGET", p.target, "\x00", " ").Replace(arg)
		cmd.Args = append(cmd.Args, arg)
	}
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: plainUser, Gid: plainUser}}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err = cmd.Run(); err != nil && strings.Contains(stderr.String(), "kprof: no sample of ") {
		err = nil
	}
	return stderr.String(), err
}

func (p *asPlainUser) wantRecording(t *testing.T, said string, some bool) {
	t.Helper()
	n, truncated := samples(t, filepath.Join(p.dir, "perf.data"))
	if truncated || some && n == 0 {
		t.Errorf("%d samples, truncated %v:\n%s", n, truncated, said)
	}
	for _, internal := range []string{"dummy", "side-band", "goroutine "} {
		if strings.Contains(said, internal) {
			t.Errorf("%q in\n%s", internal, said)
		}
	}
}

// setcap is setcap(8) for machines that have none: setcap NAME,NAME...=ep FILE. It
// writes struct vfs_ns_cap_data (include/uapi/linux/capability.h), revision 2.
func setcap() {
	numbers := map[string]int{
		"cap_dac_override": 1, "cap_dac_read_search": 2, "cap_sys_ptrace": 19, "cap_sys_admin": 21,
		"cap_syslog": 34, "cap_perfmon": 38,
	}
	fail := func(err any) {
		fmt.Fprintln(os.Stderr, "setcap:", err)
		os.Exit(1)
	}
	if len(os.Args) != 3 {
		fail("wants capabilities and a file")
	}
	names, ok := strings.CutSuffix(os.Args[1], "=ep")
	if !ok {
		fail("wants =ep")
	}
	var set uint64
	for name := range strings.SplitSeq(names, ",") {
		n, ok := numbers[name]
		if !ok {
			fail(name)
		}
		set |= 1 << n
	}
	const revision2, effective = 0x02000000, 1
	var b []byte
	for _, v := range []uint32{revision2 | effective, uint32(set), 0, uint32(set >> 32), 0} { // permitted, inheritable, twice
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	if err := unix.Setxattr(os.Args[2], "security.capability", b, 0); err != nil {
		fail(err)
	}
}
