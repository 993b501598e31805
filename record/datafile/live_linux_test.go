package datafile_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
	"kprof/record"
	"kprof/record/capture"
	"kprof/record/datafile"
	"kprof/record/symbols"
)

func TestMain(m *testing.M) {
	record.ShimMain()
	os.Exit(m.Run())
}

// TestLiveFile: a command is recorded into a file that holds as many samples as the
// session counted, the command's maps with their build ids, the formats of its tracepoint
// and the symbols of the kernel, where there are any to be seen.
func TestLiveFile(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.UseMachine(t)
	specs, err := event.ParseSpecs("syscalls:sys_enter_write")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd, err := record.Launch([]string{"sh", "-c", "for i in 1 2 3 4 5; do echo $i; done > /dev/null"}, record.LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	c, err := capture.Open(ctx, record.Options{
		Specs: specs, Period: 1, Target: record.Target{PIDs: []int{cmd.PID()}, EnableOnExec: true},
		Start: func() error {
			if err := cmd.Start(); err != nil {
				return err
			}
			go func() {
				defer close(done)
				_, _ = cmd.Wait()
				cancel()
			}()
			return nil
		},
	}, capture.Options{KernelAtStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	header, err := datafile.Header(c.Events())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "perf.data")
	f, err := datafile.Create(datafile.Output{Name: name, Create: func() (*os.File, func() error, error) {
		f, err := os.Create(name)
		return f, func() error { return nil }, err
	}}, c.Events(), header, nil, c.BuildIDs, c.Kernel)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := c.Run(ctx, f)
	if err != nil {
		t.Fatal(err)
	}
	<-done
	if m, err := f.Finish(context.Background()); err != nil || m != (datafile.Missing{}) {
		t.Fatalf("%v; missing: %+v", err, m)
	}
	r := perftext.Open(t, name)
	samples := uint64(0)
	for rec, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Type == abi.RecordSample {
			samples++
		}
	}
	if samples != stats.Samples || samples < 5 {
		t.Errorf("%d samples in the file, %d counted, want 5 at least", samples, stats.Samples)
	}
	if len(r.Features.BuildIDs) == 0 || len(r.Features.TracingData) == 0 || r.Features.Hostname == "" {
		t.Errorf("%d build ids, %d bytes of formats, host %q", len(r.Features.BuildIDs), len(r.Features.TracingData), r.Features.Hostname)
	}
	kernel, err := r.KernelSymbols()
	if err != nil || kernel == nil && !symbols.KernelHidden() {
		t.Errorf("symbols of the kernel: %v, %v", kernel, err)
	}
}
