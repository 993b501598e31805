package livetest

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Wait is a time that a task was off the CPU, as perf knows it, µs.
type Wait struct {
	End, Took float64
	Delay     float64 // of it, from the wake-up on
}

// timehistLine is as perf sched timehist prints a task that leaves its CPU:
//
//	time cpu task[tid/pid] wait delay run
var timehistLine = regexp.MustCompile(`^ *([0-9]+)\.([0-9]+) \[[0-9]+\]  .*\[(-?[0-9]+)(?:/-?[0-9]+)?\] +([0-9.]+) +([0-9.]+) +([0-9.]+) `)

// Timehist returns what perf sched timehist says tasks waited before they ran, by thread: that
// of the sample, which is -1 for one that has ended. It has none for a task that does not
// leave once more.
func Timehist(t testing.TB, file string) map[int64][]Wait {
	t.Helper()
	out, err := PerfCommand(t, "sched", "timehist", "-i", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	waits := map[int64][]Wait{}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for line := range strings.Lines(string(out)) {
		m := timehistLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		tid, _ := strconv.ParseInt(m[3], 10, 64)
		if took := number(m[4]) * 1000; took > 0 {
			left := number(m[1])*1e6 + number(m[2])
			waits[tid] = append(waits[tid], Wait{left - number(m[6])*1000, took, number(m[5]) * 1000})
		}
	}
	return waits
}

// In reports whether one of others is w, which perf rounds.
func (w Wait) In(others []Wait) bool {
	for _, o := range others {
		if d, e := o.End-w.End, o.Took-w.Took; -3 <= d && d <= 3 && -2 <= e && e <= 2 {
			return true
		}
	}
	return false
}
