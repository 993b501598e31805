package main

import (
	"strings"
	"testing"
	"time"

	"kprof/perfevent/count/report"
	"kprof/perfevent/livetest"
)

// TestFieldSeparator: -x '\t' is a tab, as perf has it.
func TestFieldSeparator(t *testing.T) {
	livetest.Table(t, fieldSeparator, map[string]string{`\t`: "\t", "\t": "\t", ",": ",", ";": ";", `\`: `\`, `\t,`: `\t,`})
}

// TestUncovered: it is said that a command was not counted to its end, and not what clocks differ by.
func TestUncovered(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		user, system, counted time.Duration
		want                  string
	}{
		{2000 * ms, 0, 4 * ms, "counted for 0.00 s of the 2.00 s of CPU that the command took: the kernel stops counting"},
		{1500 * ms, 500 * ms, 1500 * ms, "counted for 1.50 s of the 2.00 s"},
		{1500 * ms, 500 * ms, 1950 * ms, ""},
		{1500 * ms, 500 * ms, 2010 * ms, ""},
		{5 * ms, 4 * ms, 1 * ms, ""},
		{2000 * ms, 0, 0, ""}, // none of the events is counted here
	} {
		r := report.Report{User: c.user, System: c.system, Rows: []report.Row{{Event: "x"}, {Event: "y", Enabled: c.counted}}}
		if got := uncovered(&r); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
