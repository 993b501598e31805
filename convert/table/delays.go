package table

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"kprof/convert/printable"
	"kprof/convert/stacks"
)

// Delays is how long a task waited for a CPU: as replay.Delays.
type Delays struct {
	Task            int32
	Labels          stacks.LabelsID
	Count, Sum, Max uint64
	Since           uint64
}

// ErrNoDelays says that there is nothing to write.
var ErrNoDelays = errors.New("no task waited for a CPU")

// WriteDelays writes the tasks that waited for a CPU, one in a line, as perf sched latency
// has them: how often and how long, and the longest wait with when it began and ended, in
// seconds of the recording's clock. Of more than limit, if it is not 0, it says how many
// there are.
func WriteDelays(w io.Writer, s *stacks.Set, all []Delays, limit int) error {
	if len(all) == 0 {
		return ErrNoDelays
	}
	rest := 0
	if limit > 0 && len(all) > limit {
		all, rest = all[:limit], len(all)-limit
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%10s %10s %10s %10s %16s %16s  %s\n", "waits", "total", "mean", "longest", "from", "to", "task")
	ns := func(v uint64) string { return printable.Value(int64(min(v, 1<<63-1)), "nanoseconds") }
	at := func(v uint64) string { return fmt.Sprintf("%d.%06d", v/1e9, v%1e9/1e3) }
	for _, d := range all {
		comm, _ := s.Label(d.Labels, "comm")
		task := fmt.Sprintf("%s:%d", printable.Text(comm.Str), d.Task)
		if d.Task < 0 {
			task = "[others]"
		}
		fmt.Fprintf(&b, "%10d %10s %10s %10s %16s %16s  %s\n", d.Count, ns(d.Sum), ns(d.Sum/d.Count), ns(d.Max), at(d.Since), at(d.Since+d.Max), task)
	}
	if rest > 0 {
		fmt.Fprintf(&b, "… and %d more\n", rest)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write delays: %w", err)
	}
	return nil
}
