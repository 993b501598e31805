package ringdir_test

import (
	"fmt"
	"testing/fstest"

	"kprof/convert/trace/ringdir"
	"kprof/perfevent/abi"
	"kprof/perfevent/tracetest"
)

func Example() {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 4096}
	d, err := ringdir.Open(fstest.MapFS{
		"per_cpu/cpu3/trace_pipe_raw": {Data: m.Sub(1000, 0, m.Event(0, m.Tick(7, 1)))},
		"events/test/tick/format":     {Data: []byte(tracetest.Tick)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	for i := range d.Rings {
		page, err := d.Pages(&d.Rings[i], 0).Next()
		fmt.Println("CPU", d.Rings[i].CPU, len(page), err)
	}
	fmt.Println(d.Tracing.Tracepoints[0].System, d.Tracing.Tracepoints[0].Name, d.Layout.Order == abi.LittleEndian)
	// Output:
	// CPU 3 4096 <nil>
	// test tick true
}
