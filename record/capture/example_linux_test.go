package capture_test

import (
	"context"
	"fmt"
	"time"

	"kprof/perfevent/event"
	"kprof/record"
	"kprof/record/capture"
)

// count is a Sink that counts bytes.
type count int

func (c *count) Write(a, b []byte) error { *c += count(len(a) + len(b)); return nil }
func (c *count) FinishRound() error      { return nil }

// A second of the machine, and the files that it used.
func Example() {
	specs, err := event.ParseSpecs("cpu-clock")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := capture.Open(ctx, record.Options{Specs: specs, Target: record.Target{AllCPUs: true}}, capture.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	var records count
	stats, err := c.Run(ctx, &records)
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, err := c.BuildIDs.All(context.Background())
	fmt.Println(stats.Samples, "samples, build ids of", len(ids), "files", err)
}
