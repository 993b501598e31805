package timeline_test

import (
	"fmt"
	"log"

	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// The last sample of user code in a recording: which program it was in, and which file.
func Example() {
	r, err := perfdata.Open("../../testdata/demo.data")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	tl := timeline.New(timeline.Options{})
	var last abi.Sample
	for rec, err := range r.Records() {
		if err != nil {
			log.Fatal(err)
		}
		switch {
		case rec.Type == abi.RecordSample && timeline.ModeOf(rec.Misc) == timeline.User:
			err = r.Events.OfSample(rec.Payload).Layout.DecodeSample(&last, rec.Misc, rec.Payload)
		case rec.Type != abi.RecordSample:
			e := r.Events.OfOther(rec.Payload)
			f, _ := e.Layout.DecodeTrailer(rec.Payload)
			err = tl.Add(&e.Layout, rec.Header, rec.Payload, f.Time)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	tl.Freeze()
	st := tl.At(last.PID, last.TID, last.Time)
	view := tl.View(&st, timeline.User)
	fmt.Print(tl.Comm(st.Name, last.TID))
	if a := tl.Find(&view, last.IP); a != nil {
		fmt.Print(" in ", tl.Mapping(a).File)
	}
	fmt.Println()
	// Output: load in /opt/kprof-demo/load
}
