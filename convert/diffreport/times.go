package diffreport

import (
	"fmt"
	"strings"

	"kprof/convert/printable"
	"kprof/convert/spandiff"
)

// shownTimes is how many groups are shown whose times did not change.
const shownTimes = 10

// timesRow is a group of spans as a row of a table.
type timesRow struct {
	g     *spandiff.Group
	cells []string
}

// timesColumns are the headings of timesRow.cells.
var timesColumns = []string{"calls base", "new", "mean base", "new", "ratio", "p50 base", "new", "ratio", "p99 base", "new", "ratio", "verdict"}

// timesRows are the groups that changed, and of the others those with the most time.
func (t words) timesRows() (rows []timesRow, rest int) {
	noise := 0
	for i := range t.times.Groups {
		g := &t.times.Groups[i]
		if g.Verdict() == spandiff.Noise {
			if noise++; noise > shownTimes {
				rest++
				continue
			}
		}
		cells := []string{fmt.Sprintf("%.0f", g.Calls.Base), fmt.Sprintf("%.0f", g.Calls.New)}
		for _, c := range []*spandiff.Change{&g.Mean, &g.Median, &g.P99} {
			cells = append(cells, spanTime(c.Base), spanTime(c.New), ratioIn(c))
		}
		rows = append(rows, timesRow{g, append(cells, timesVerdict(g))})
	}
	return rows, rest + t.times.More
}

// spanTime writes ns, a dash where there are none.
func spanTime(ns float64) string {
	if ns == 0 {
		return "-"
	}
	return nanoseconds(ns)
}

// ratioIn writes a ratio and where it is.
func ratioIn(c *spandiff.Change) string {
	if c.Base == 0 || c.New == 0 {
		return "-"
	}
	text := times(c.New / c.Base)
	if c.Ratio.High > 0 {
		text += fmt.Sprintf(" %.2f–%.2f", c.Ratio.Low, c.Ratio.High)
	}
	return text
}

// timesVerdict is a group's verdict with what of its times it is about.
func timesVerdict(g *spandiff.Group) string {
	var what []string
	for _, c := range []struct {
		name string
		*spandiff.Change
	}{{"mean", &g.Mean}, {"p50", &g.Median}, {"p99", &g.P99}} {
		if c.Significant {
			what = append(what, c.name)
		}
	}
	text := g.Verdict().String()
	if !g.Tested() {
		text = "not known"
	}
	if len(what) > 0 {
		text += " (" + strings.Join(what, ", ") + ")"
	}
	return text
}

// timesChanged names the groups whose times changed, as causes of a verdict.
func (t words) timesChanged(name func(string) string) (causes []string) {
	if t.times == nil {
		return nil
	}
	more := 0
	for i := range t.times.Groups {
		g := &t.times.Groups[i]
		if g.Verdict() == spandiff.Noise {
			continue
		}
		if len(causes) == shownInSummary {
			more++
			continue
		}
		text := groupName(g)
		if g.Name != "" {
			text = name(g.Name)
		}
		c := &g.Rate
		for _, x := range []*spandiff.Change{&g.P99, &g.Median, &g.Mean} {
			if x.Significant {
				c = x
			}
		}
		if c == &g.Rate {
			c = &g.Calls
		}
		causes = append(causes, fmt.Sprintf("%s %s %s", text, timesVerdict(g), times(c.New/c.Base)))
	}
	if more > 0 {
		causes[len(causes)-1] += others(more)
	}
	return causes
}

func groupName(g *spandiff.Group) string {
	if g.Name == "" {
		return "all spans"
	}
	return printable.Text(g.Name)
}

// timesTitle says what the table of times is of.
func (t words) timesTitle() string {
	text := "Times of " + t.r.Event
	if len(t.times.By) > 0 {
		text += " by " + strings.Join(t.times.By, ", ")
	}
	how := "from the spread between runs"
	switch {
	case t.times.Sums:
		text += ". The profiles have sums of times only: how they are distributed is not known"
		return text
	case t.times.Blocks > 0:
		how = fmt.Sprintf("by a bootstrap of %d blocks of time", t.times.Blocks)
	}
	return fmt.Sprintf("%s: calls per run, ns each; ratios with intervals of 95%%, %s; what changed is not chance (p at most %g for all %d together, by Holm), and at least %g%%",
		text, how, t.times.Alpha, t.times.Tests, 100*t.times.Least)
}

// times writes the table of times.
func (t *textWriter) times() {
	if t.words.times == nil {
		return
	}
	rows, rest := t.timesRows()
	t.text("", t.timesTitle()+".")
	widths := make([]int, len(timesColumns))
	table := [][]string{timesColumns}
	for _, r := range rows {
		table = append(table, r.cells)
	}
	for _, cells := range table {
		for i, c := range cells {
			widths[i] = max(widths[i], len([]rune(c)))
		}
	}
	for i, cells := range table {
		l, color, name := "", "", "group"
		for j, c := range cells {
			pad := strings.Repeat(" ", widths[j]-len([]rune(c)))
			if j == len(cells)-1 {
				l += " " + c + pad + " "
			} else {
				l += pad + c + " "
			}
		}
		if i > 0 {
			g := rows[i-1].g
			name = groupName(g)
			switch g.Verdict() {
			case spandiff.Noise:
				color = sgrNoise
			case spandiff.Faster, spandiff.FewerCalls:
				color = sgrBetter
			case spandiff.Spread:
				color = sgrMoved
			default:
				color = sgrWorse
			}
		}
		t.line(color, l+name)
	}
	if rest > 0 {
		t.line("", fmt.Sprintf("… and %d more that did not change", rest))
	}
	t.line("", "")
}

// times writes the table of times.
func (m *markdownWriter) times() {
	if m.words.times == nil {
		return
	}
	rows, rest := m.timesRows()
	m.linef("%s.", m.text(m.timesTitle()))
	m.linef("")
	m.linef("| group | %s |", strings.Join(timesColumns, " | "))
	m.linef("|:--|%s:--|", strings.Repeat("--:|", len(timesColumns)-1))
	for _, r := range rows {
		name := groupName(r.g)
		if r.g.Name != "" {
			name = m.cell(r.g.Name)
		}
		m.linef("| %s | %s |", name, strings.Join(r.cells, " | "))
	}
	m.linef("")
	if rest > 0 {
		m.linef("… and %d more that did not change", rest)
		m.linef("")
	}
}

// timesDocument is a comparison of times as JSON. Times are in ns.
type timesDocument struct {
	By       []string     `json:"by"`
	Alpha    float64      `json:"alpha"`
	Least    float64      `json:"least_change"`
	Tests    int          `json:"tests"`
	Blocks   int          `json:"blocks"` // of time, of each run; 0: intervals are from the spread between runs
	SumsOnly bool         `json:"sums_only,omitempty"`
	Groups   []timesGroup `json:"groups"`
	More     int          `json:"more_groups,omitempty"` // with less time, not compared one by one
}

type timesGroup struct {
	Group   string      `json:"group"`   // "" for all spans
	Verdict string      `json:"verdict"` // also "not known"
	Calls   timesChange `json:"calls"`   // per run
	Rate    timesChange `json:"calls_per_second"`
	Mean    timesChange `json:"mean"`
	Median  timesChange `json:"p50"`
	P99     timesChange `json:"p99"`
}

type timesChange struct {
	Base        float64     `json:"base"`
	New         float64     `json:"new"`
	BaseIn      *[2]float64 `json:"base_interval,omitempty"`
	NewIn       *[2]float64 `json:"new_interval,omitempty"`
	Ratio       *float64    `json:"ratio"`
	RatioIn     *[2]float64 `json:"ratio_interval,omitempty"`
	Tested      bool        `json:"tested"`
	P           float64     `json:"p"`
	Adjusted    float64     `json:"p_adjusted"`
	Significant bool        `json:"significant"`
}

func jsonTimes(r *spandiff.Result) *timesDocument {
	if r == nil {
		return nil
	}
	d := &timesDocument{By: append([]string{}, r.By...), Alpha: r.Alpha, Least: r.Least, Tests: r.Tests, Blocks: r.Blocks, SumsOnly: r.Sums, Groups: []timesGroup{}, More: r.More}
	interval := func(i spandiff.Interval) *[2]float64 {
		if i.High == 0 || finite(i.Low) == nil || finite(i.High) == nil {
			return nil
		}
		return &[2]float64{i.Low, i.High}
	}
	change := func(c *spandiff.Change) timesChange {
		return timesChange{c.Base, c.New, interval(c.Of[0]), interval(c.Of[1]), finite(c.New / c.Base), interval(c.Ratio), c.Tested, c.P, c.Adjusted, c.Significant}
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		verdict := g.Verdict().String()
		if !g.Tested() {
			verdict = "not known"
		}
		rate := change(&g.Rate)
		if g.Calls.P, g.Calls.Adjusted = 1, 1; rate.BaseIn == nil {
			rate.RatioIn = nil
		}
		d.Groups = append(d.Groups, timesGroup{g.Name, verdict, change(&g.Calls), rate, change(&g.Mean), change(&g.Median), change(&g.P99)})
	}
	return d
}
