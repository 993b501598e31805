package report

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"strings"
)

// jsonRow is one line of WriteJSON. What does not apply is left out, but for value,
// which is null where there is none.
type jsonRow struct {
	Time       float64   `json:"time_s,omitempty"` // end of the interval since the start
	Event      string    `json:"event"`            // as perf names it
	CPU        string    `json:"place,omitempty"`  // CPUn, or COMM-TID
	Cgroup     string    `json:"cgroup,omitempty"` // path
	Status     string    `json:"status"`           // counted, not counted, not supported
	Value      *float64  `json:"value"`            // scaled; the mean of several runs
	Unit       string    `json:"unit,omitempty"`   // of value; none for a number of events
	Enabled    int64     `json:"enabled_ns"`       // of all counters together
	Running    int64     `json:"running_ns"`       // less than enabled: multiplexed
	Elapsed    float64   `json:"elapsed_s"`        // of the run, or of the interval
	Metric     *float64  `json:"metric,omitempty"` // what the value means
	MetricUnit string    `json:"metric_unit,omitempty"`
	Runs       []float64 `json:"runs,omitempty"`       // the value of each run
	Interval   *float64  `json:"interval95,omitempty"` // value ± this has the mean with 95 % confidence
	RecordCost int64     `json:"record_cost_ns,omitempty"`
}

// WriteJSON writes a JSON object for each row, on a line of its own.
func (rep *Report) WriteJSON(w io.Writer) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for i := range rep.Rows {
		r := &rep.Rows[i]
		out := jsonRow{
			Time: rep.At.Seconds(), Event: r.Event, CPU: r.Place, Cgroup: r.Cgroup, Status: r.Status.String(),
			Unit: r.Unit, Enabled: r.Enabled.Nanoseconds(), Running: r.Running.Nanoseconds(),
			Elapsed: rep.Elapsed.Seconds(), Runs: r.Runs, RecordCost: r.RecordCost.Nanoseconds(),
		}
		if r.Status == Counted {
			out.Value = &r.Value
			if r.Metric.Unit != "" {
				out.Metric, out.MetricUnit = &r.Metric.Value, strings.TrimSpace(r.Metric.Unit)
			}
			if half := interval(r.Runs); len(r.Runs) > 1 && !math.IsInf(half, 0) && !math.IsNaN(half) {
				out.Interval = &half
			}
		}
		if err := enc.Encode(out); err != nil {
			return err
		}
	}
	return b.Flush()
}
