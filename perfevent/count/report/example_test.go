package report_test

import (
	"log"
	"os"
	"time"

	"kprof/perfevent/abi"
	"kprof/perfevent/count/report"
)

// The fields of perf stat -x, for two events.
func Example() {
	counted := report.Report{Elapsed: 2 * time.Second, Rows: []report.Row{
		{Event: "task-clock", Unit: "msec", Attr: abi.Attr{Type: abi.TypeSoftware, Config: abi.SWTaskClock}, Value: 1000, Enabled: 1e9, Running: 1e9},
		{Event: "cs", Attr: abi.Attr{Type: abi.TypeSoftware, Config: abi.SWContextSwitches}, Value: 12, Whole: true, Enabled: 1e9, Running: 1e9},
	}}
	counted.Derive()
	if err := counted.WriteFields(os.Stdout, ","); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1000.00,msec,task-clock,1000000000,100.00,0.500,CPUs utilized
	// 12,,cs,1000000000,100.00,12.000,/sec
}
