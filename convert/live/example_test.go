//go:build linux

package live_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"time"

	"kprof/convert"
	"kprof/convert/folded"
	"kprof/convert/live"
	"kprof/perfevent/event"
	"kprof/record"
)

// Where the whole machine spends a second, as folded stacks.
func ExampleRecord() {
	specs, err := event.ParseSpecs("cpu-clock")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	p, stats, err := live.Record(ctx, record.Options{Specs: specs, Target: record.Target{AllCPUs: true}}, convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var text bytes.Buffer
	event, column := p.MainEvent()
	if err := folded.Write(&text, p.Set, folded.Options{Event: event, Column: column}); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s%d samples, %d lost\n", &text, stats.Samples, stats.Lost)
}
