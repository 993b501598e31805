package main

import (
	"testing"

	"kprof/perfevent/livetest"
)

// TestFieldSeparator: -x '\t' is a tab, as perf has it.
func TestFieldSeparator(t *testing.T) {
	livetest.Table(t, fieldSeparator, map[string]string{`\t`: "\t", "\t": "\t", ",": ",", ";": ";", `\`: `\`, `\t,`: `\t,`})
}
