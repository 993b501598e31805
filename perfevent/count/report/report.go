// Package report writes what events counted: for people, as the fields of perf stat -x,
// and as JSON.
//
// A Report has a Row for each event and place. Derive adds the ratios that people
// expect, Merge makes one report of several runs; WriteText, WriteFields and WriteJSON
// print it.
package report

import (
	"math"
	"time"

	"golang.org/x/perf/benchmath"

	"kprof/perfevent/abi"
)

// Status says whether a row has a value.
type Status uint8

const (
	Counted      Status = iota
	NotCounted          // the event was never on the PMU
	NotSupported        // this machine cannot count it
)

func (s Status) String() string {
	return [...]string{"counted", "not counted", "not supported"}[s]
}

// Row is the count of one event, in one place or in all.
type Row struct {
	Event  string // as perf names it
	Attr   abi.Attr
	Unit   string // of the value; "" for a number of events
	Place  string // "CPU0", "sleep-4711"; "" for all together
	Cgroup string // whose tasks; "" for no cgroup

	Status  Status
	Value   float64 // in Unit, scaled for the time that the event was off the PMU
	Whole   bool    // the value is a whole number
	Enabled time.Duration
	Running time.Duration

	Metric Metric // see Derive

	// RecordCost is by how much each hit would be slower were it recorded with its
	// callchain; 0 when not measured. See event.ProbeOverhead.
	RecordCost time.Duration

	Runs []float64 // the values of several runs, of which Value is the mean; nil for one
}

// Report is what was counted in one run, or in one interval of it.
type Report struct {
	Rows    []Row
	Elapsed time.Duration // on the clock
	At      time.Duration // end of an interval since the start; 0 when there are none

	// User and System are the times of a command that has ended; both 0 for none.
	User, System time.Duration

	Times []float64 // of several runs, in seconds on the clock; nil for one
}

// share is the part of the time for which a row's event was on the PMU, in percent.
func (r *Row) share() float64 {
	if r.Enabled == 0 || r.Running == r.Enabled {
		return 100
	}
	return 100 * float64(r.Running) / float64(r.Enabled)
}

// confidence is that of the intervals of means.
const confidence = 0.95

// Merge makes one report of several of the same rows: their values are means.
func Merge(runs []Report) Report {
	merged := runs[0]
	if len(runs) == 1 {
		return merged
	}
	merged.Rows = append([]Row{}, merged.Rows...)
	merged.Elapsed, merged.User, merged.System = 0, 0, 0
	for _, r := range runs {
		merged.Times = append(merged.Times, r.Elapsed.Seconds())
		merged.Elapsed += r.Elapsed
		merged.User += r.User
		merged.System += r.System
	}
	n := time.Duration(len(runs))
	merged.Elapsed, merged.User, merged.System = merged.Elapsed/n, merged.User/n, merged.System/n
	for i := range merged.Rows {
		row := &merged.Rows[i]
		var enabled, running time.Duration
		row.Runs = []float64{}
		for _, r := range runs {
			if i >= len(r.Rows) {
				continue
			}
			one := &r.Rows[i]
			enabled += one.Enabled
			running += one.Running
			if one.Status == Counted {
				row.Runs = append(row.Runs, one.Value)
				row.Status = Counted
			}
		}
		row.Enabled, row.Running, row.Value = enabled/n, running/n, mean(row.Runs)
	}
	return merged
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / max(float64(len(values)), 1)
}

// interval is the half width of the interval of confidence for the mean of runs, by
// Student's t; infinite for a single one.
func interval(runs []float64) float64 {
	if len(runs) < 2 {
		return math.Inf(1)
	}
	// NewSample sorts what it is given.
	s := benchmath.NewSample(append([]float64{}, runs...), &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNormal.Summary(s, confidence)
	return (sum.Hi - sum.Lo) / 2
}

// relative is part in percent of whole, 0 for nothing of nothing.
func relative(part, whole float64) float64 {
	if part == 0 {
		return 0
	}
	return 100 * part / math.Abs(whole)
}

// meanError is perf stat's "+-": the standard error of the mean of runs, in percent of
// it (tools/perf/util/stat.c, stddev_stats and rel_stddev_stats).
func meanError(runs []float64) float64 {
	n, m := float64(len(runs)), mean(runs)
	if n < 2 || m == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range runs {
		sum += (v - m) * (v - m)
	}
	return 100 * math.Sqrt(sum/(n-1)/n) / m
}
