package main

import (
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"kprof/perfevent/tracetest"
)

// traceDat VERSION FILE writes a trace.dat of two tasks that sleep.
func traceDat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tracedat VERSION FILE")
	}
	version, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), tracetest.Switches(version), 0o666))
}
