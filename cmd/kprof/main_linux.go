//go:build !portable

package main

import (
	"errors"
	"fmt"
	"os"

	"kprof/perfevent/tracefs"
	"kprof/record"
	"kprof/record/doctor"
	"kprof/record/tracer"
)

// beCommand does not return where this process is a command about to be recorded, or another
// helper of a recording.
func beCommand() {
	record.ShimMain()
	tracer.GuardMain()
}

// remedy is what makes work what was refused, behind the message that says so.
func remedy(err error) string {
	if command := doctor.Remedy(err); command != "" {
		return "; " + command
	}
	return ""
}

// showPlace shows where in a filter or a probe the kernel found an error.
func showPlace(err error) {
	var filter *tracefs.FilterError
	var probe *tracefs.ProbeError
	if errors.As(err, &filter) {
		fmt.Fprintln(textOutput(os.Stderr), filter.Caret())
	} else if errors.As(err, &probe) && probe.Offset >= 0 {
		fmt.Fprintln(textOutput(os.Stderr), probe.Caret())
	}
}
