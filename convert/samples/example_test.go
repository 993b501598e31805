package samples_test

import (
	"context"
	"fmt"
	"log"

	"kprof/convert/samples"
	"kprof/perfevent/perfdata"
)

// The first samples of a recording, each with the name that its thread had then.
func Example() {
	r, err := perfdata.Open("../../testdata/demo.data")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	ctx := context.Background()
	f, err := samples.Scan(ctx, r, samples.Options{})
	if err != nil {
		log.Fatal(err)
	}
	n := 0
	err = f.Each(ctx, func(s *samples.Sample) {
		if n++; n <= 2 {
			fmt.Printf("%s/%d %d.%09d: %d %s, %d callers\n", f.Timeline.Comm(s.State.Name, s.TID), s.TID,
				s.Time/1e9, s.Time%1e9, s.Counts[0].Period, s.Event.Name, len(s.Callchain)-2)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "samples")
	// Output:
	// load/26915 5003.316159954: 5000000 cpu-clock, 12 callers
	// load/26915 5003.321159662: 5000000 cpu-clock, 5 callers
	// 199 samples
}
