package datafile_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"kprof/perfevent/event"
	"kprof/record"
	"kprof/record/capture"
	"kprof/record/datafile"
)

// A second of the machine, in a file that perf reads too.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := recordTo(ctx, "perf.data", "cpu-clock"); err != nil {
		fmt.Println(err)
	}
}

func recordTo(ctx context.Context, name, events string) (err error) {
	specs, err := event.ParseSpecs(events)
	if err != nil {
		return err
	}
	c, err := capture.Open(ctx, record.Options{Specs: specs, Target: record.Target{AllCPUs: true}}, capture.Options{KernelAtStart: true})
	if err != nil {
		return err
	}
	defer c.Close()
	header, err := datafile.Header(c.Events())
	if err != nil {
		return err
	}
	f, err := datafile.Create(datafile.Output{Name: name, Create: func() (*os.File, func() error, error) {
		f, err := os.Create(name)
		return f, func() error { return nil }, err
	}}, c.Events(), header, nil, c.BuildIDs, c.Kernel)
	if err != nil {
		return err
	}
	stats, err := c.Run(ctx, f)
	if err != nil {
		return err
	}
	missing, err := f.Finish(context.Background())
	fmt.Println(stats.Samples, "samples", missing.BuildIDs, missing.Modules)
	return err
}
