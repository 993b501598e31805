package live_test

import (
	"bytes"
	"context"
	"os/exec"
	"testing"
	"time"

	"kprof/convert"
	"kprof/convert/live"
	"kprof/record"
)

// waited is what became of a program that was recorded.
type waited struct {
	p    *convert.Profile
	st   record.Stats
	said string        // what it printed
	most time.Duration // from before it was let go until somebody had seen its end
}

// recordWaiting records a program that waits for a line, which it gets when it is recorded,
// to its end: alone, or, where all CPUs are the target, with all else, of which the profile
// leaves out what is not its. Start of ro is called when it has the line.
func recordWaiting(t *testing.T, cmd *exec.Cmd, ro record.Options, o convert.Options) waited {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stdout = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if ro.Target.AllCPUs {
		o.PIDs = []int32{int32(cmd.Process.Pid)}
	} else {
		ro.Target.PIDs = []int{cmd.Process.Pid}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var w waited
	ended := make(chan error, 1)
	then := ro.Start
	ro.Start = func() error {
		begun := time.Now()
		_, err := in.Write([]byte("\n"))
		go func() {
			err := cmd.Wait()
			w.most = time.Since(begun)
			ended <- err
			stop()
		}()
		if err == nil && then != nil {
			err = then()
		}
		return err
	}
	if w.p, w.st, err = live.Record(ctx, ro, o); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.said = said.String()
	return w
}
