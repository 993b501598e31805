package event

import (
	"errors"
	"fmt"
)

// TracerError is an event that only ftrace's own tracers write, into a buffer of theirs. It
// is an errors.ErrUnsupported.
type TracerError struct {
	Name  string // in the system ftrace
	Trace string // file that shows the buffer
}

// Marker reports whether trace_marker or trace_printk() is what writes the event.
func (e *TracerError) Marker() bool {
	switch e.Name {
	case "print", "raw_data", "bprint", "bputs":
		return true
	}
	return false
}

func (e *TracerError) Error() string {
	what := "only ftrace's own tracers write it"
	switch e.Name {
	case "print", "raw_data":
		what = "trace_marker and trace_printk() write it"
	case "bprint", "bputs":
		what = "trace_printk() writes it"
	}
	return fmt.Sprintf("%s, into ftrace's buffer, and it never reaches perf: read %s", what, e.Trace)
}

func (e *TracerError) Unwrap() error { return errors.ErrUnsupported }
