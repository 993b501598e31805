//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// tenant is a process that testdata/tenant.c describes.
type tenant struct {
	what, kind, source string
	pid                int
}

func (t *tenant) String() string { return strings.TrimSpace(t.what + " " + t.kind + " " + t.source) }

// startTenants starts them all.
func startTenants(t *testing.T, all []*tenant) {
	t.Helper()
	livetest.RequirePrograms(t, "gcc")
	livetest.ChangeMachine(t) // perf record -a of another package would wait for ever for a FIFO
	// Others must be able to run it.
	dir, err := os.MkdirTemp("/var/tmp", "kprof-tenant-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	prog := filepath.Join(dir, "tenant")
	if out, err := exec.Command("gcc", "-O1", "-static", "-pthread", "-o", prog, "testdata/tenant.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tn := range all {
		c := exec.Command(prog, tn.what, tn.kind, tn.source)
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.StdinPipe(); err != nil { // open as long as this process
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			c.Process.Kill()
			c.Wait()
		})
		tn.pid = c.Process.Pid
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			var exit *exec.ExitError
			if errors.As(c.Wait(), &exit) && exit.ExitCode() == 2 {
				t.Skip("needs user namespaces for everybody")
			}
			t.Fatalf("%v: %v", tn, err)
		}
		if line != fmt.Sprintf("%d\n", tn.pid) {
			t.Fatalf("%v said %q", tn, line)
		}
	}
}

// ran is how a run of kprof went.
type ran struct {
	said   string
	folded string
	took   time.Duration // of a CPU
	rss    int64         // in bytes
	pid    int
}

// runTenant runs kprof, which must end by itself and write a profile to out.
func runTenant(t *testing.T, out string, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := kprof(t, args...)
	c = exec.CommandContext(ctx, c.Path, args...)
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("kprof %q: %v, %v\n%s", args, err, context.Cause(ctx), said)
	}
	t.Logf("%v of a CPU, %d MB: kprof %q", c.ProcessState.SystemTime()+c.ProcessState.UserTime(), c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10, args)
	usage := c.ProcessState.SysUsage().(*syscall.Rusage)
	r := ran{
		said: string(said), took: c.ProcessState.SystemTime() + c.ProcessState.UserTime(),
		rss: int64(usage.Maxrss) << 10, pid: c.Process.Pid,
	}
	if strings.HasSuffix(out, ".folded") {
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		r.folded = string(b)
	}
	return r
}

// tenantKinds are what tenants have where a file of theirs is looked for. The first
// three are honest.
func tenantKinds() []*tenant {
	all := []*tenant{{what: "map", kind: "honest"}, {what: "dump", kind: "honest"}, {what: "file", kind: "honest"}}
	for _, what := range []string{"map", "dump"} {
		for _, file := range []string{"../proc/kmsg", "/etc/shadow"} {
			all = append(all, &tenant{what: what, kind: "symlink", source: file})
		}
		for _, file := range watchedFiles() {
			all = append(all, &tenant{what: what, kind: "bind", source: file})
		}
		for _, kind := range []string{"fifo", "directory", "large", "swap"} {
			all = append(all, &tenant{what: what, kind: kind})
		}
	}
	return append(all, &tenant{what: "file", kind: "fifo"}, &tenant{what: "file", kind: "symlink", source: "/etc/shadow"})
}

// watchedFiles are what nobody must read for a tenant, as far as this machine has them.
func watchedFiles() (found []string) {
	for _, name := range []string{"/proc/kmsg", "/sys/kernel/tracing/trace_pipe", "/etc/shadow"} {
		if _, err := os.Stat(name); err == nil {
			found = append(found, name)
		}
	}
	return found
}

// Bounds beyond what recording honest tenants takes.
const (
	tenantTime   = 20 * time.Second // of a CPU, so that a busy machine does not count
	tenantMemory = 200 << 20        // their files are larger
)

// TestLiveTenants records tenants that are hostile: of the whole machine and of
// processes, into profiles and into a file that is converted while they run. Each run
// ends, with a profile, in bounded time and memory, and opens none of the files that
// tenants point at.
func TestLiveTenants(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	all := tenantKinds()
	startTenants(t, all)
	watch := watchOpens(t, watchedFiles())
	dir := t.TempDir()
	out, data := filepath.Join(dir, "x.folded"), filepath.Join(dir, "x.data")
	pids := func(ts []*tenant) string {
		var list []string
		for _, tn := range ts {
			list = append(list, fmt.Sprint(tn.pid))
		}
		return strings.Join(list, ",")
	}
	record := func(out string, args ...string) []string {
		return append([]string{"record", "-q", "-e", "cpu-clock", "-F", "999", "-d", "1s", "-o", out}, args...)
	}
	var runs []ran
	check := func(name string, r, honest ran) {
		t.Helper()
		runs = append(runs, r)
		if over := r.took - honest.took; over > tenantTime {
			t.Errorf("%s: takes %v more than of honest tenants\n%s", name, over, r.said)
		}
		if over := r.rss - honest.rss; over > tenantMemory {
			t.Errorf("%s: takes %d bytes more than of honest tenants\n%s", name, over, r.said)
		}
	}

	// Honest tenants are named, through their own /tmp.
	honest := runTenant(t, out, record(out, "-p", pids(all[:3]))...)
	runs = append(runs, honest)
	if n := strings.Count(honest.folded, "jitted_code"); n == 0 {
		t.Errorf("no names of honest tenants:\n%s%s", honest.folded, honest.said)
	}
	for _, tn := range all[3:] {
		if tn.kind != "large" && tn.kind != "swap" && tn.source != "/proc/kmsg" {
			continue // in what follows, all of them at once
		}
		r := runTenant(t, out, record(out, "-p", fmt.Sprint(tn.pid))...)
		check(tn.String(), r, honest)
		if !strings.Contains(r.folded, "tenant;") {
			t.Errorf("%v: no samples\n%s%s", tn, r.folded, r.said)
		}
		named := strings.Contains(r.folded, "jitted_code")
		if tn.kind == "large" && !named || tn.kind != "large" && tn.kind != "swap" && tn.what == "map" && named {
			t.Errorf("%v: named: %v\n%s%s", tn, named, r.folded, r.said)
		}
	}
	for name, target := range map[string][]string{"-a": {"-a"}, "-p": {"-p", pids(all)}} {
		r := runTenant(t, out, record(out, target...)...)
		check(name, r, honest)
		if !strings.Contains(r.folded, "tenant;") || !strings.Contains(r.folded, "jitted_code") {
			t.Errorf("%s: no samples, or no names\n%s%s", name, r.folded, r.said)
		}
		check(name+" to a file", runTenant(t, data, record(data, target...)...), honest)
		r = runTenant(t, out, "convert", data, "-o", out)
		check(name+" of a file", r, honest)
		if !strings.Contains(r.folded, "tenant;") || !strings.Contains(r.folded, "jitted_code") {
			t.Errorf("%s of a file: no samples, or no names\n%s%s", name, r.folded, r.said)
		}
	}
	opened := watch()
	for _, r := range runs {
		if files := opened[r.pid]; len(files) > 0 {
			t.Errorf("opened %q", files)
		}
	}
}

// watchOpens watches files being opened or read, by fanotify. What it returns tells
// which, by process, and ends that.
//
// The events are read at the end only, and one by one: for each the kernel opens the file once
// more, and drops the event where that fails, as with a trace_pipe that is still open.
func watchOpens(t *testing.T, files []string) func() map[int][]string {
	t.Helper()
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_NONBLOCK|unix.FAN_CLOEXEC|unix.FAN_UNLIMITED_QUEUE, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		t.Skipf("needs fanotify: %v", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for _, name := range files {
		if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN|unix.FAN_ACCESS, unix.AT_FDCWD, name); err != nil {
			t.Fatalf("watch %s: %v", name, err)
		}
	}
	return func() map[int][]string {
		// What this process opens is seen: the watch works.
		for _, name := range files {
			f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		opened := map[int][]string{}
		b := make([]byte, unix.FAN_EVENT_METADATA_LEN)
		for {
			n, err := unix.Read(fd, b)
			if err == unix.EAGAIN {
				break
			} else if err != nil {
				t.Fatalf("fanotify: %v", err)
			}
			// struct fanotify_event_metadata (linux/fanotify.h).
			for e := b[:n]; len(e) >= unix.FAN_EVENT_METADATA_LEN; e = e[binary.NativeEndian.Uint32(e):] {
				file, pid := int(int32(binary.NativeEndian.Uint32(e[16:]))), int(binary.NativeEndian.Uint32(e[20:]))
				name, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file))
				unix.Close(file)
				if !slices.Contains(opened[pid], name) {
					opened[pid] = append(opened[pid], name)
				}
			}
		}
		if seen := opened[os.Getpid()]; len(seen) != len(files) {
			t.Errorf("the watch saw this process open %q of %q", seen, files)
		}
		return opened
	}
}
