package trace_test

import (
	"bytes"
	"context"
	"fmt"

	"kprof/convert/trace"
	"kprof/perfevent/abi"
	"kprof/perfevent/tracetest"
)

func Example() {
	m := tracetest.Machine{Long: 8, Page: 4096}
	b := (&tracetest.Dat{
		Machine: m, Version: 7,
		Systems: []tracetest.System{{Name: "test", Formats: []string{tracetest.Tick}}},
		Buffers: []tracetest.Instance{{CPUs: [][][]byte{{m.Sub(1000, 0, m.Event(1, m.Tick(7, 3)), m.Event(1, m.Tick(7, 4)))}}}},
	}).Bytes()
	r, err := trace.OpenDat(context.Background(), bytes.NewReader(b), int64(len(b)), false)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for rec, err := range r.Records() {
		if err != nil {
			fmt.Println(err)
		} else if rec.Type == abi.RecordSample {
			var s abi.Sample
			e := r.Events.OfSample(rec.Payload)
			fmt.Println(e.Name, e.Layout.DecodeSample(&s, rec.Misc, rec.Payload), s.TID, s.Time, s.Raw[8])
		}
	}
	// Output:
	// test:tick <nil> 7 1001 3
	// test:tick <nil> 7 1002 4
}
