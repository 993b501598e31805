package record

import (
	"fmt"
	"os"
	"slices"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/tracefs"
)

// ReadFormats reads the formats of those events that are tracepoints, nil where none is.
// Those of probes are gone when the events are closed.
func ReadFormats(events []abi.Event) (*perfdata.TracingData, error) {
	if !slices.ContainsFunc(events, func(e abi.Event) bool { return e.Attr.Type == abi.TypeTracepoint }) {
		return nil, nil
	}
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		return nil, err
	}
	t, err := perfdata.ReadTracingData(os.DirFS(fs.Path()), events, abi.LittleEndian, 8, os.Getpagesize())
	if err != nil {
		return nil, fmt.Errorf("read the formats of tracepoints: %w", err)
	}
	return t, nil
}
