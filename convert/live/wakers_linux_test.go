package live_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"kprof/convert"
	"kprof/convert/live"
	"kprof/convert/replay"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/record"
)

// waitAsleep waits until a process sleeps.
func waitAsleep(pid int) error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return err
		}
		if _, after, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(after, "S") {
			return nil
		}
	}
	return fmt.Errorf("process %d does not sleep", pid)
}

// TestLiveWakers: a program that waits for a pipe is woken by a shell that writes to it, and
// the stack says so: reading at the root, then writing the other way around, then the shell.
func TestLiveWakers(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.UseMachine(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	writer, reader := exec.Command("sh", "-c", "while read x; do echo $x; done"), exec.Command("cat")
	lines, err := writer.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	writer.Stdout, reader.Stdin = w, r
	echo, err := reader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{writer, reader} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	r.Close()
	w.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	const wakeups = 20
	o := record.Options{Specs: event.OffCPUSpecs(true), Switches: true, Target: record.Target{AllCPUs: true}}
	o.Start = func() error {
		go func() {
			defer stop()
			got := bufio.NewReader(echo)
			for range wakeups {
				if err := waitAsleep(reader.Process.Pid); err != nil {
					ended <- err
					break
				}
				_, _ = io.WriteString(lines, "x\n")
				_, _ = got.ReadString('\n')
			}
			lines.Close()
			_ = writer.Wait()
			ended <- reader.Wait()
		}()
		return nil
	}
	p, st, err := live.Record(ctx, o, convert.Options{Selection: convert.Selection{OffCPU: true, Wakers: true, PIDs: []int32{int32(reader.Process.Pid)}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	s, woken := p.Set, int64(0)
	for i := range s.NumSamples() {
		x := s.Sample(i)
		stack := names(s, x.Stack)
		slices.Reverse(stack)
		by, _ := s.Label(x.Labels, replay.WakerLabel)
		from, to, ok := strings.Cut(strings.Join(stack, " "), " "+replay.WakerFrame+" ")
		if ok && by.Str == "sh" && strings.Contains(from, "pipe_read") && strings.Contains(to, "pipe_write") && strings.HasSuffix(to, " sh") &&
			strings.LastIndex(to, "pipe_write") < strings.LastIndex(to, "vfs_write") {
			woken += x.Values[0]
		} else {
			t.Logf("%v of %q: %s", x.Values, by.Str, stack)
		}
	}
	// The first may have slept before the recording, some have been on their way to sleep.
	if woken < wakeups/4 && st.Lost == 0 {
		t.Errorf("woken %d times, %+v", woken, p.Stats.OffCPU)
	}
}
