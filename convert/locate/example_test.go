package locate_test

import (
	"context"
	"fmt"
	"log"

	"kprof/convert/locate"
	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/perfevent/perfdata"
)

// The files that the stacks of a recording go through.
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
	set := stacks.New()
	l := locate.New(f.Timeline, set, locate.Options{})
	var locs []uint32
	if err := f.Each(ctx, func(s *samples.Sample) { locs = l.Append(locs, s) }); err != nil {
		log.Fatal(err)
	}
	l.Complete(locs)
	frames := map[string]int{}
	for _, loc := range locs {
		if m := set.Locations[loc].Mapping; m >= 0 {
			frames[set.Mappings[m].File]++
		}
	}
	fmt.Println(frames)
	// Output: map[/opt/kprof-demo/load:827 [kernel.kallsyms]:629]
}
