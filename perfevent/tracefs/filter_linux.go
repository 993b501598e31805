package tracefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// FilterError is a filter that the kernel's parser does not take.
type FilterError struct {
	Event  Event
	Filter string
	Reason string // the kernel's words: "Field not found"
	Offset int    // where in Filter, in bytes; -1 when the kernel does not say
}

// Error is one line; Caret shows the place.
func (e *FilterError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("filter %q on %s: %s", e.Filter, e.Event, e.Reason)
	}
	return fmt.Sprintf("filter %q on %s: %s at byte %d", e.Filter, e.Event, e.Reason, e.Offset)
}

// Unwrap makes it os.ErrInvalid.
func (e *FilterError) Unwrap() error { return os.ErrInvalid }

// Caret is the filter and, on a second line, a caret under the place.
func (e *FilterError) Caret() string {
	return e.Filter + "\n" + strings.Repeat(" ", max(e.Offset, 0)) + "^"
}

// CheckFilter has the kernel parse filter for e without touching what others
// trace. PERF_EVENT_IOC_SET_FILTER answers a bad filter with a bare EINVAL; the
// filter file of tracefs keeps the text, a caret and a reason
// (kernel/trace/trace_events_filter.c, append_filter_err). So:
//
//  1. make an instance of our own below instances/, called kprof_PID_START.N as one
//     that a killed process leaves is known to be nobody's by that,
//  2. write the filter there and, if refused, read the reason back,
//  3. remove the instance.
//
// A filter that does not parse gives a *FilterError; any other error means
// that the check itself was not possible.
func (t *FS) CheckFilter(e Event, filter string) (err error) {
	self, err := Self()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Join(t.path, "instances"), self.Group()+".*")
	if err != nil {
		return fmt.Errorf("check filter in a private instance: %w", err)
	}
	defer func() {
		if rerr := unix.Rmdir(dir); rerr != nil && err == nil {
			err = fmt.Errorf("remove instance %s: %w", dir, rerr)
		}
	}()
	file := filepath.Join(dir, "events", e.System, e.Name, "filter")
	werr := os.WriteFile(file, []byte(filter), 0)
	var failed *os.PathError
	if !errors.As(werr, &failed) || failed.Op != "write" {
		return werr
	}
	// EINVAL, or any of what perfevent.Counter.SetFilter says.
	said, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read why filter %q on %s was refused: %w", filter, e, err)
	}
	return parseFilterError(e, filter, string(said))
}

// parseFilterError reads what the kernel left in the filter file: the filter, a
// line with a caret, and "parse_error: REASON".
func parseFilterError(e Event, filter, said string) *FilterError {
	fe := &FilterError{Event: e, Filter: filter, Reason: "the kernel does not take it", Offset: -1}
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\n")
		if at, ok := strings.CutSuffix(line, "^"); ok && strings.Trim(at, " ") == "" {
			fe.Offset = min(len(at), len(filter))
		}
		if reason, ok := strings.CutPrefix(line, "parse_error: "); ok {
			fe.Reason = reason
		}
	}
	return fe
}
