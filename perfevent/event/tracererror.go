package event

import (
	"cmp"
	"errors"
	"fmt"
)

// TracerError is an event that only ftrace's own tracers write, into a buffer of theirs. It
// is an errors.ErrUnsupported.
type TracerError struct {
	Name  string // in the system ftrace
	Trace string // file that shows the buffer
}

// markers are the events that trace_marker or trace_printk() writes, and how an error says so.
var markers = map[string]string{
	"print":    "trace_marker and trace_printk() write it",
	"raw_data": "trace_marker and trace_printk() write it",
	"bprint":   "trace_printk() writes it",
	"bputs":    "trace_printk() writes it",
}

// Marker reports whether trace_marker or trace_printk() is what writes the event.
func (e *TracerError) Marker() bool { return markers[e.Name] != "" }

func (e *TracerError) Error() string {
	what := cmp.Or(markers[e.Name], "only ftrace's own tracers write it")
	return fmt.Sprintf("%s, into ftrace's buffer, and it never reaches perf: read %s", what, e.Trace)
}

func (e *TracerError) Unwrap() error { return errors.ErrUnsupported }
