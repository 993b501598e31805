package record_test

import (
	"context"
	"fmt"
	"time"

	"kprof/perfevent/event"
	"kprof/record"
)

// counter is a Sink that counts bytes.
type counter int

func (c *counter) Write(a, b []byte) error { *c += counter(len(a) + len(b)); return nil }
func (c *counter) FinishRound() error      { return nil }

// The machine is recorded for a second.
func ExampleSession() {
	specs, err := event.ParseSpecs("cpu-clock")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s, err := record.Open(ctx, record.Options{Specs: specs, Target: record.Target{AllCPUs: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	var to counter
	stats, err := s.Run(ctx, &to)
	fmt.Println(stats.Samples, "samples", to, "bytes", err)
}
