package bootlog

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"kprof/convert/printable"
)

// TableOptions say what of a log is written as text. The zero value writes all of it.
type TableOptions struct {
	Limit   int  // rows of each table, 0 for all
	ByStart bool // calls in the order in which they began, not the longest first
}

// Table writes a log as text: what did not return, the levels, the subsystems and the
// calls that took longest, and the time in which nothing was called.
func Table(w io.Writer, l *Log, o TableOptions) error {
	out := printable.NewWriter(w)
	t := table{out: out, log: l, opts: o}
	t.head()
	t.unended()
	if levels := l.Levels(); len(levels) > 1 || len(levels) == 1 && levels[0].Name != "" {
		t.totals("level", levels, 0)
	}
	subsystems := l.Subsystems()
	slices.SortStableFunc(subsystems, func(a, b Total) int { return cmp.Compare(b.Time, a.Time) })
	t.totals("subsystem", subsystems, o.Limit)
	t.calls()
	t.phases()
	t.gaps()
	return t.err
}

type table struct {
	out  io.Writer
	log  *Log
	opts TableOptions
	err  error
}

func (t *table) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format, args...)
	}
}

func span(d time.Duration) string { return printable.Value(int64(d), "nanoseconds") }

func seconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }

// kindNouns are what calls of a Kind are called.
var kindNouns = map[string]string{
	Initcall.String(): "initcall", Async.String(): "async call", Probe.String(): "probe",
	Quirk.String(): "PCI quirk", PM.String(): "device callback",
}

// pid is a number of a thread, as far as it is known.
func pid(n int32) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func (t *table) head() {
	if release := t.log.Release(); release != "" {
		t.printf("Kernel: %s\n", printable.Text(release))
	}
	if t.log.Command != "" {
		t.printf("Command line: %s\n", printable.Text(t.log.Command))
	}
	var parts []string
	for _, k := range t.log.Kinds() {
		noun := kindNouns[k.Name]
		if k.Calls != 1 {
			noun += "s"
		}
		text := fmt.Sprintf("%d %s took %s", k.Calls, noun, span(k.Time))
		if k.Failed > 0 {
			text += fmt.Sprintf(", %d failed", k.Failed)
		}
		parts = append(parts, text)
	}
	t.printf("Calls: %s\n", strings.Join(parts, "; "))
	t.printf("Log: %d lines, from %s to %s s\n", t.log.Lines, seconds(t.log.First), seconds(t.log.Last))
	if t.log.Boots > 1 {
		t.printf("It has %d boots, which are added up.\n", t.log.Boots)
	}
	if t.log.Orphans > 0 {
		t.printf("Of %d calls the log does not have the beginning.\n", t.log.Orphans)
	}
	if t.log.Overflow > 0 {
		t.printf("%d more calls are left out.\n", t.log.Overflow)
	}
}

func (t *table) unended() {
	all := t.log.Unended()
	if len(all) == 0 {
		return
	}
	t.printf("\nNot returned when the log ended, the last first:\n%14s  %6s  call\n", "start", "pid")
	for _, i := range t.rows(len(all)) {
		c := &t.log.Calls[all[i]]
		t.printf("%14s  %6s  %s\n", seconds(c.Start), pid(c.PID), printable.Text(c.Title()))
	}
}

// rows are the indexes of what is shown of n rows.
func (t *table) rows(n int) []int {
	if t.opts.Limit > 0 {
		n = min(n, t.opts.Limit)
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func (t *table) totals(what string, all []Total, limit int) {
	var sum time.Duration
	for _, x := range all {
		sum += x.Time
	}
	if sum == 0 {
		return
	}
	t.printf("\n%10s  %6s  %6s  %6s  %s\n", "time", "time%", "calls", "failed", what)
	for i, x := range all {
		if limit > 0 && i == limit {
			t.printf("%38s%d more\n", "", len(all)-i)
			break
		}
		t.printf("%10s  %5.2f%%  %6d  %6d  %s\n", span(x.Time), 100*float64(x.Time)/float64(sum), x.Calls, x.Failed, printable.Text(x.Name))
	}
}

func (t *table) calls() {
	order := make([]int, len(t.log.Calls))
	for i := range order {
		order[i] = i
	}
	of := func(i int) *Call { return &t.log.Calls[i] }
	slices.SortStableFunc(order, func(a, b int) int {
		if t.opts.ByStart {
			return cmp.Compare(of(a).Start, of(b).Start)
		}
		return cmp.Compare(of(b).Duration, of(a).Duration)
	})
	if len(order) == 0 {
		return
	}
	t.printf("\n%10s  %10s  %14s  %6s  %6s  %-9s  call\n", "time", "self", "start", "pid", "result", "level")
	for _, i := range t.rows(len(order)) {
		c := of(order[i])
		result := fmt.Sprint(c.Return)
		if !c.Ended {
			result = "-"
		}
		t.printf("%10s  %10s  %14s  %6s  %6s  %-9s  %s\n", span(c.Duration), span(c.Self), seconds(c.Start), pid(c.PID), result, printable.Text(cmp.Or(c.Level, c.Kind.String())), printable.Text(c.Title()))
	}
}

func (t *table) phases() {
	if len(t.log.Phases) == 0 {
		return
	}
	t.printf("\n%10s  %14s  phase\n", "time", "end")
	for _, p := range t.log.Phases {
		t.printf("%10s  %14s  %s\n", span(p.Duration), seconds(p.End), printable.Text(p.Name))
	}
}

func (t *table) gaps() {
	if len(t.log.Gaps) == 0 {
		return
	}
	var sum time.Duration
	for _, g := range t.log.Gaps {
		sum += g.End - g.Start
	}
	gaps := slices.Clone(t.log.Gaps)
	slices.SortStableFunc(gaps, func(a, b Gap) int { return cmp.Compare(b.End-b.Start, a.End-a.Start) })
	least := ""
	if len(gaps) == maxGaps {
		least = "at least "
	}
	t.printf("\nWithout a call or a line: %s%s in %d gaps\n%10s  %14s  between\n", least, span(sum), len(gaps), "time", "start")
	for _, i := range t.rows(len(gaps)) {
		g := gaps[i]
		t.printf("%10s  %14s  %s\n%28s%s\n", span(g.End-g.Start), seconds(g.Start), printable.Text(g.After), "", printable.Text(g.Before))
	}
}
