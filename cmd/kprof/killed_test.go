//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

// monotonic is the time that all processes share.
func monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// firstTick is the argument of the first call of ticks; the others count up.
const firstTick = 1 << 20

// ticks is a program that makes a system call about a thousand times a second, and
// writes into the file of its argument when each was over.
func ticks() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	for i := firstTick; ; i++ {
		_, _ = unix.Getpgid(i) // of a process that there is not
		if _, err := f.Write(binary.NativeEndian.AppendUint64(nil, uint64(monotonic()))); err != nil {
			os.Exit(1)
		}
		time.Sleep(time.Millisecond)
	}
}

// stalls measures for how long this machine kept even a thread of high priority, which writes to
// a folder, from running, until most is called.
func stalls(dir string) (most func() time.Duration, err error) {
	f, err := os.Create(filepath.Join(dir, "stalls"))
	if err != nil {
		return nil, err
	}
	stop, result := make(chan struct{}), make(chan time.Duration)
	go func() {
		defer f.Close()
		runtime.LockOSThread() // never unlocked: the thread ends with its priority
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -10)
		var most time.Duration
		for {
			select {
			case <-stop:
				result <- most
				return
			default:
			}
			before := monotonic()
			time.Sleep(time.Millisecond)
			_, _ = f.Write(make([]byte, 8)) // if it fails it has not waited
			most = max(most, monotonic()-before)
		}
	}()
	return func() time.Duration { close(stop); return <-result }, nil
}

// TestLiveKilledLate kills recorders of a program that ticks, 0.1 to 2 seconds
// after they were started. Every tick that was older than 150 ms is in what is
// left, as perf reads it; on a machine that lets even threads of high priority
// wait, so much older.
func TestLiveKilledLate(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	kills, atOnce := 50, 10
	if testing.Short() {
		kills = 20
	}
	var wanted atomic.Int64
	// A machine that lets threads wait for longer than the recorders live tells nothing by them.
	for range 4 {
		var wg sync.WaitGroup
		for range atOnce {
			wg.Go(func() {
				for range kills / atOnce {
					n, err := killLate(t, 150*time.Millisecond)
					if err != nil {
						t.Error(err)
					}
					wanted.Add(int64(n))
				}
			})
		}
		wg.Wait()
		if wanted.Load() > 0 {
			break
		}
	}
	if wanted.Load() == 0 {
		t.Error("no recorder lived long enough to have recorded anything")
	}
	t.Logf("%d ticks were to be there", wanted.Load())
}

var tickCall = regexp.MustCompile(`pid: 0x0*([0-9a-f]+)`)

// killLate kills one recorder and returns how many ticks are older than allowed,
// all of which must have been recorded.
func killLate(t *testing.T, allowed time.Duration) (want int, err error) {
	dir := t.TempDir()
	name, times := filepath.Join(dir, "perf.data"), filepath.Join(dir, "times")
	ticker := filepath.Join(dir, "ticks")
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	if err := os.Symlink(self, ticker); err != nil {
		return 0, err
	}
	c := kprof(t, "record", "-q", "-e", "syscalls:sys_enter_getpgid", "-o", name, "--", ticker, times)
	c.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		return 0, err
	}
	stalled, err := stalls(dir)
	if err != nil {
		return 0, err
	}
	life := 100*time.Millisecond + rand.N(1900*time.Millisecond)
	time.Sleep(life)
	allowed += stalled()
	killed := monotonic()
	err = c.Process.Kill()
	_ = c.Wait()
	_ = unix.Kill(-c.Process.Pid, unix.SIGKILL) // the program
	if err != nil {
		return 0, err
	}
	b, err := os.ReadFile(times)
	if err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	late := killed - allowed
	for ; len(b) >= 8 && time.Duration(binary.NativeEndian.Uint64(b)) < late; b = b[8:] {
		want++
	}
	if want == 0 {
		return 0, nil
	}
	script := livetest.PerfCommand(t, "script", "-F", "trace:event,trace", "-i", name)
	var complaints bytes.Buffer
	script.Stderr = &complaints
	out, err := script.Output()
	if err != nil || complaints.Len() > 0 {
		return want, fmt.Errorf("killed after %v: perf script: %v\n%s", life, err, &complaints)
	}
	got := map[uint64]bool{}
	for _, m := range tickCall.FindAllSubmatch(out, -1) {
		n, _ := strconv.ParseUint(string(m[1]), 16, 64)
		got[n] = true
	}
	missing := 0
	for i := range want {
		if !got[uint64(firstTick+i)] {
			missing++
		}
	}
	if missing > 0 {
		return want, fmt.Errorf("killed after %v: %d ticks of the %d that were older than %v are not there", life, missing, want, killed-late)
	}
	if ours, _ := samples(t, name); ours != len(got) {
		return want, fmt.Errorf("killed after %v: kprof reads %d samples, perf %d", life, ours, len(got))
	}
	return want, nil
}

// TestLiveNoMemory takes from a recorder the right to any more memory, and then
// makes it need some. However it ends, what it has committed is read.
func TestLiveNoMemory(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	name := filepath.Join(t.TempDir(), "perf.data")
	c := kprof(t, "record", "-q", "-a", "-e", "cpu-clock", "-F", "1000", "-o", name)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	waitFor(t, "samples", committed(t, name))
	before, _ := samples(t, name)
	if err := unix.Prlimit(c.Process.Pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}, nil); err != nil {
		t.Fatal(err)
	}
	// Each mapped file is one that the recorder remembers.
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	dir := t.TempDir()
	maps := exec.Command("sh", "-c", `i=0; while [ $i -lt 2000 ]; do cp /bin/true `+dir+`/$i; `+dir+`/$i; rm `+dir+`/$i; i=$((i+1)); done`)
	if err := maps.Start(); err != nil {
		t.Fatal(err)
	}
	var err error
	select {
	case err = <-ended:
	case <-time.After(5 * time.Second): // some hundred files
		_ = c.Process.Signal(os.Interrupt)
		err = <-ended
	}
	_ = maps.Process.Kill()
	_ = maps.Wait()
	t.Logf("the recorder ended: %v", err)
	if got, _ := samples(t, name); got < before || got != perfSamples(t, name) {
		t.Errorf("kprof reads %d samples, perf %d; there were %d before", got, perfSamples(t, name), before)
	}
}
