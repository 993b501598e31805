package replay_test

import (
	"context"
	"fmt"
	"log"

	"kprof/convert/replay"
	"kprof/perfevent/perfdata"
)

// The stacks of a recording, which have no names yet (see package naming).
func Example() {
	r, err := perfdata.Open("../../testdata/demo.data")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	set, stats, err := replay.File(context.Background(), r, replay.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Samples[0].Taken, "samples of", stats.Samples[0].Name)
	fmt.Println(len(set.Mappings), "mappings, total", set.Totals(0), set.Events[0].Values)
	// Output:
	// 199 samples of cpu-clock
	// 2 mappings, total [199 995000000] [{samples count} {cpu nanoseconds}]
}
