package marker_test

import (
	"fmt"

	"kprof/perfevent"
	"kprof/perfevent/tracefs"
	"kprof/record/marker"
)

// How much programs write into trace_marker.
func Example() {
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	sideband := perfevent.RingOwner(perfevent.Features{}, 1)
	r, err := marker.Open(fs, &sideband.Attr, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	bytes := 0
	err = r.Drain(func(record []byte) error { bytes += len(record); return nil })
	fmt.Println(r.Stats().Samples, "samples,", bytes, "bytes", err)
}
