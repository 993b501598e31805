package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteFields writes a line for each row, with the fields of perf stat -x, in perf's
// order, which perf-stat(1) has under "CSV FORMAT":
//
//	time of the interval   with intervals, in seconds
//	place                  CPUn, or COMM-TID, when rows have one
//	value                  or <not counted>, <not supported>
//	unit                   of the value
//	event
//	cgroup                 when rows have one
//	variance               with several runs: the standard error of the mean in percent
//	running time           in nanoseconds
//	share                  of the time that the event was on the PMU, in percent
//	metric, its unit       those that perf has
func (rep *Report) WriteFields(w io.Writer, separator string) error {
	b := bufio.NewWriter(w)
	places, cgroups := false, false
	for i := range rep.Rows {
		places = places || rep.Rows[i].Place != ""
		cgroups = cgroups || rep.Rows[i].Cgroup != ""
	}
	for i := range rep.Rows {
		r := &rep.Rows[i]
		var f []string
		if rep.At > 0 {
			f = append(f, fmt.Sprintf("%16.9f", rep.At.Seconds()))
		}
		if places {
			f = append(f, r.Place)
		}
		value := "<" + r.Status.String() + ">"
		if r.Status == Counted {
			value = r.number()
		}
		f = append(f, value, r.Unit, r.Event)
		if cgroups {
			f = append(f, r.Cgroup)
		}
		if rep.Times != nil {
			f = append(f, fmt.Sprintf("%.2f%%", meanError(r.Runs)))
		}
		f = append(f, fmt.Sprint(r.Running.Nanoseconds()), fmt.Sprintf("%.2f", r.share()))
		if m := r.Metric; m.fromPerf() {
			f = append(f, fmt.Sprintf("%.*f", m.Decimals, m.Value), strings.TrimLeft(m.Unit, "% "))
		} else {
			f = append(f, "", "")
		}
		for i := range f {
			f[i] = strings.ReplaceAll(f[i], "\n", "?")
		}
		fmt.Fprintln(b, strings.Join(f, separator))
	}
	return b.Flush()
}
