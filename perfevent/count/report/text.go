package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"
)

// TextOptions say what is above and below the rows.
type TextOptions struct {
	Title string // what was counted: "'ls /'"
}

// Widths of the columns, perf's.
const (
	valueWidth  = 18
	unitWidth   = 4
	eventWidth  = 32
	metricWidth = 29
)

// WriteText writes the report for people, in the columns of perf stat.
func (rep *Report) WriteText(w io.Writer, o TextOptions) error {
	b := bufio.NewWriter(w)
	runs := ""
	if n := len(rep.Times); n > 0 {
		runs = fmt.Sprintf(" (%d runs)", n)
	}
	fmt.Fprintf(b, "\n Counts for %s%s:\n\n", printable(o.Title), runs)
	rep.appendRows(b)
	rep.appendCosts(b)
	fmt.Fprintln(b)
	if n := len(rep.Times); n > 0 {
		half := interval(rep.Times)
		fmt.Fprintf(b, "%18.9f ± %.9f seconds elapsed  ( ± %s )\n", rep.Elapsed.Seconds(), half, percent(relative(half, rep.Elapsed.Seconds())))
	} else {
		fmt.Fprintf(b, "%18.9f seconds elapsed\n", rep.Elapsed.Seconds())
	}
	if rep.User+rep.System > 0 {
		fmt.Fprintf(b, "\n%18.9f seconds user\n%18.9f seconds sys\n", rep.User.Seconds(), rep.System.Seconds())
	}
	var foot []string
	for i := range rep.Rows {
		if r := &rep.Rows[i]; r.Status == Counted && r.share() < 100 {
			foot = append(foot, "(NN%): the events took turns on the PMU; counted for that part of the time, and scaled up")
			break
		}
	}
	if len(rep.Times) > 0 {
		foot = append(foot, fmt.Sprintf("±: the mean of the runs lies in there with %.0f %% confidence, if they are normally distributed", confidence*100))
	}
	if len(foot) > 0 {
		fmt.Fprintf(b, "\n %s\n", strings.Join(foot, "\n "))
	}
	fmt.Fprintln(b)
	return b.Flush()
}

// WriteIntervalText writes the rows of an interval, with headings before the first.
func (rep *Report) WriteIntervalText(w io.Writer, first bool) error {
	b := bufio.NewWriter(w)
	if first {
		fmt.Fprintf(b, "#           time %*s %-*s event\n", valueWidth, "counts", unitWidth, "unit")
	}
	rep.appendRows(b)
	return b.Flush()
}

// appendRows writes a line for each row.
func (rep *Report) appendRows(b *bufio.Writer) {
	places, units, events, cgroups, metrics := 0, unitWidth, eventWidth, 0, metricWidth
	for i := range rep.Rows {
		r := &rep.Rows[i]
		places = max(places, uniseg.StringWidth(printable(r.Place)))
		events = max(events, uniseg.StringWidth(printable(r.Event)))
		units = max(units, uniseg.StringWidth(printable(r.Unit)))
		metrics = max(metrics, len(r.Metric.text()))
		cgroups = max(cgroups, uniseg.StringWidth(printable(r.Cgroup)))
	}
	for i := range rep.Rows {
		r := &rep.Rows[i]
		var l strings.Builder
		if rep.At > 0 {
			fmt.Fprintf(&l, "%16.9f ", rep.At.Seconds())
		}
		if places > 0 {
			l.WriteString(column(r.Place, places) + " ")
		}
		fmt.Fprintf(&l, "%*s %s %s", valueWidth, r.valueText(), column(r.Unit, units), column(r.Event, events))
		if cgroups > 0 {
			l.WriteString(" " + column(r.Cgroup, cgroups))
		}
		fmt.Fprintf(&l, " %-*s", metrics, r.Metric.text())
		if len(r.Runs) > 0 && r.Status == Counted {
			fmt.Fprintf(&l, " ( ± %s )", percent(relative(interval(r.Runs), r.Value)))
		}
		if r.Status == Counted && r.share() < 100 {
			fmt.Fprintf(&l, "  (%.2f%%)", r.share())
		}
		fmt.Fprintln(b, strings.TrimRight(l.String(), " "))
	}
}

// text is the metric as it stands behind a count.
func (m Metric) text() string {
	switch {
	case m.Unit == "":
		return ""
	case m.Unit[0] == '%':
		return fmt.Sprintf("# %8.*f%s", m.Decimals, m.Value, m.Unit)
	}
	return fmt.Sprintf("# %8.*f %s", m.Decimals, m.Value, m.Unit)
}

// percent is a share with two decimals; nothing is known of the mean of one run.
func percent(p float64) string {
	if math.IsInf(p, 0) || math.IsNaN(p) {
		return "unknown"
	}
	return fmt.Sprintf("%.2f %%", p)
}

// valueText is the value with commas between thousands.
func (r *Row) valueText() string {
	if r.Status != Counted {
		return "<" + r.Status.String() + ">"
	}
	return commas(r.number())
}

// number is the value with as many decimals as perf stat prints.
func (r *Row) number() string {
	decimals := 2
	if r.Whole {
		decimals = 0
	}
	return strconv.FormatFloat(r.Value, 'f', decimals, 64)
}

func commas(number string) string {
	whole, fraction, dot := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + fraction
	}
	return sign + whole
}

// appendCosts says what recording the events would cost, where that was measured.
func (rep *Report) appendCosts(b *bufio.Writer) {
	first := true
	for i := range rep.Rows {
		r := &rep.Rows[i]
		if r.RecordCost == 0 || r.Status != Counted || rep.Elapsed <= 0 {
			continue
		}
		if first {
			fmt.Fprint(b, "\n Recording each of them with its callchain would cost, on this machine as it is now:\n\n")
			first = false
		}
		name := printable(r.Event)
		for _, p := range []string{r.Place, r.Cgroup} {
			if p != "" {
				name += " " + printable(p)
			}
		}
		perSecond := r.Value / rep.Elapsed.Seconds()
		fmt.Fprintf(b, "%*.2f usec a hit, and %.2f %% of one CPU at %s hits a second   %s\n", valueWidth,
			float64(r.RecordCost)/float64(time.Microsecond), 100*perSecond*r.RecordCost.Seconds(),
			commas(strconv.FormatFloat(perSecond, 'f', 0, 64)), name)
	}
}

// column is a name filled with blanks to n columns of a terminal, of which a character of East Asia
// takes two.
func column(s string, n int) string {
	s = printable(s)
	return s + strings.Repeat(" ", max(n-uniseg.StringWidth(s), 0))
}

// printable is a name without what a terminal takes for a command.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}
