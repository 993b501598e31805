package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/livetest"
)

// TestLiveThreads records this process while it starts threads that start
// threads. Each one must be counted once: those that are there, those that come
// while the session is opened, and those that come later.
func TestLiveThreads(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	const calls = 10
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		tids  = map[uint32]bool{}
		start = make(chan struct{})
		stop  = make(chan struct{})
	)
	thread := func() {
		wg.Go(func() {
			runtime.LockOSThread()
			<-start
			for range calls {
				unix.Getppid()
			}
			mu.Lock()
			tids[uint32(unix.Gettid())] = true
			mu.Unlock()
			<-stop
		})
	}
	for range 20 {
		thread()
	}
	spawned := make(chan struct{})
	go func() {
		defer close(spawned)
		for range 200 {
			thread()
			time.Sleep(50 * time.Microsecond)
		}
	}()
	s := open(t, Options{
		Specs:       specs(t, "syscalls:sys_enter_getppid"),
		Target:      Target{PIDs: []int{os.Getpid()}},
		NoCallchain: true,
	})
	<-spawned
	to := newSink(t)
	st := runWhile(t, s, to, func() {
		close(start)
		thread()
		time.Sleep(200 * time.Millisecond)
		close(stop)
		wg.Wait()
	})
	if len(tids) != 221 {
		t.Fatalf("%d threads", len(tids))
	}
	// A clone that is preempted for longer than settle, between inheriting and
	// its FORK record, cannot be told from one that inherited all.
	wrong := 0
	for tid := range tids {
		if to.tids[tid] != calls {
			t.Logf("thread %d: %d samples, want %d", tid, to.tids[tid], calls)
			wrong++
		}
	}
	if wrong > 2 {
		t.Errorf("%d of %d threads", wrong, len(tids))
	}
	checkCounts(t, st, to)
}

// TestLiveForkMeanwhile has a process start another while its side-band is open on one CPU: the
// other must be known by its name too when it runs a program on the next.
func TestLiveForkMeanwhile(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("sh"))
	fifo := filepath.Join(t.TempDir(), "go")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	parent := exec.Command("sh", "-c", `read x; { read x <"$0"; exec /bin/true; } & echo $!; wait`, fifo)
	in, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = parent.Process.Kill() })
	s := open(t, Options{Specs: specs(t, "syscalls:sys_enter_execve"), Target: Target{PIDs: []int{os.Getpid()}}, NoCallchain: true})
	first, last := s.rings[0], s.rings[len(s.rings)-1]
	pin := func(pid int, r *cpuRing) {
		t.Helper()
		var cpu unix.CPUSet
		cpu.Set(r.cpu)
		if err := unix.SchedSetaffinity(pid, &cpu); err != nil {
			t.Fatal(err)
		}
	}
	pid := parent.Process.Pid
	pin(pid, first)

	c, err := s.open(s.sideband, perfevent.Where{PID: pid, CPU: first.cpu}, first)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Enable(); err != nil {
		t.Fatal(err)
	}
	var child int
	fmt.Fprintln(in)
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatal(err)
	}
	own := &task{}
	o := taskOpener{s: s, tasks: map[int]*task{pid: own}, scanned: make([]int, len(s.rings))}
	if err := o.open(pid, own); err != nil {
		t.Fatal(err)
	}
	if err := o.openAll(t.Context(), func() ([]int, error) { return []int{pid}, nil }); err != nil {
		t.Fatal(err)
	}
	known := o.tasks[child]
	clear(o.scanned) // its FORK record is told twice
	if o.scan(); known == nil || o.tasks[child] != known {
		t.Errorf("the child was %+v and is taken for another, %+v", known, o.tasks[child])
	}
	pin(child, last)
	to := newSink(t)
	runWhile(t, s, to, func() {
		if err := errors.Join(os.WriteFile(fifo, []byte("\n"), 0), parent.Wait()); err != nil {
			t.Error(err)
		}
	})
	if !slices.Contains(to.comms, "true") || to.tids[uint32(child)] != 1 {
		t.Errorf("names %q, %d samples of the child", to.comms, to.tids[uint32(child)])
	}
}

// TestLiveExiting opens processes that end meanwhile, and ends when they have.
func TestLiveExiting(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Program("sleep"))
	recorded := 0
	for i := range 40 {
		cmd := exec.Command("sleep", fmt.Sprintf("%.4f", float64(i)*0.0005))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Options{
			Specs:  specs(t, "raw_syscalls:sys_enter,cpu-clock"),
			Target: Target{PIDs: []int{cmd.Process.Pid}},
		})
		if err == nil {
			recorded++
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := s.Run(ctx, newSink(t)); err != nil || ctx.Err() != nil {
				t.Errorf("run: %v, %v", err, ctx.Err())
			}
			cancel()
			if err := errors.Join(s.Close(), s.Close()); err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, unix.ESRCH) {
			t.Error(err)
		}
		_ = cmd.Wait()
	}
	t.Logf("%d of 40 recorded", recorded)
}

// TestLiveOtherRights: Linux ends the recording of a task whose program has other rights, which
// goes on.
func TestLiveOtherRights(t *testing.T) {
	dir := t.TempDir()
	setuid := func() string {
		var st unix.Statfs_t
		dumpable, err := os.ReadFile("/proc/sys/fs/suid_dumpable")
		if unix.Statfs(dir, &st) != nil || st.Flags&unix.ST_NOSUID != 0 || err != nil || string(dumpable) == "1\n" {
			return "a directory for temporary files without nosuid, and fs.suid_dumpable other than 1"
		}
		return ""
	}
	livetest.Require(t, livetest.Root, livetest.Program("cat"), setuid)
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(cat)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "cat")
	const nobody = 65534
	if err := errors.Join(os.WriteFile(program, code, 0o755), os.Chown(program, nobody, nobody), os.Chmod(program, 0o755|os.ModeSetuid)); err != nil {
		t.Fatal(err)
	}
	t.Run("child", func(t *testing.T) {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		c, err := Launch([]string{"sh", "-c", program + "; cat; " + program + "; :"}, LaunchOptions{Stdin: null})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
		s := open(t, Options{Specs: specs(t, "dummy"), Target: Target{PIDs: []int{c.PID()}, EnableOnExec: true}, Start: c.Start})
		st, err := s.Run(t.Context(), newSink(t))
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Notes) != 1 || !strings.HasPrefix(st.Notes[0], "2 processes were not recorded from an exec on (cat): ") {
			t.Errorf("%q", st.Notes)
		}
	})
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	c, err := Launch([]string{program}, LaunchOptions{Stdin: read})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{
		Specs:  specs(t, "cpu-clock"),
		Target: Target{PIDs: []int{c.PID()}, EnableOnExec: true},
		Start:  c.Start,
	})
	st, err := s.Run(t.Context(), newSink(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Notes) != 1 || !strings.Contains(st.Notes[0], "(cat) goes on and is not recorded any more") {
		t.Errorf("%q", st.Notes)
	}
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if code, err := c.Wait(); code != 0 || err != nil {
		t.Error(code, err)
	}
}
