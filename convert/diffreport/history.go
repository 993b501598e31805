package diffreport

import (
	"fmt"
	"io"
	"math"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/printable"
)

// HistorySchema and HistoryVersion are what a history as JSON says of its form. Fields are
// added without another version.
const (
	HistorySchema  = "kprof.history"
	HistoryVersion = 1
)

// History writes a history as text: what changed from which build on, and a table of
// functions by build, in which a change stands before the cost, ↑ for more and ↓ for
// less.
func History(w io.Writer, h *diff.History, o Options) error {
	t := textWriter{o: o}
	t.text("", "Verdict: "+historyVerdict(h))
	for _, n := range historyNotes(h) {
		t.text(sgrMoved, "Note: "+n+".")
	}
	t.line("", "")
	if len(h.Series) == 0 {
		return writeString(w, "history", t.b.String())
	}
	t.text("", historyCosts(h))
	t.line("", "")
	shown := h.Series
	if o.Limit > 0 && len(shown) > o.Limit {
		shown = shown[:o.Limit]
	}
	rows := [][]string{append([]string{}, h.Builds...)}
	names := []string{"function"}
	for i := range shown {
		x := &shown[i]
		row := make([]string, len(h.Builds))
		for b, c := range x.Costs {
			row[b] = historyMark(x.Verdicts[b]) + historyCost(h, c)
		}
		rows = append(rows, row)
		name := x.Name
		if x.Cum {
			name += " *"
		}
		names = append(names, name)
	}
	t.columns(rows, names)
	if n := len(h.Series) - len(shown); n > 0 {
		t.line("", fmt.Sprintf("… and %d more", n))
	}
	return writeString(w, "history", t.b.String())
}

// historyVerdict says from which builds on what changed.
func historyVerdict(h *diff.History) string {
	if len(h.Changes) == 0 {
		return unchangedHistory(h)
	}
	var parts []string
	for i := range h.Changes {
		c := &h.Changes[i]
		in := words{r: c.Result}
		changed, _ := in.changed()
		parts = append(parts, fmt.Sprintf("%s: %s", printable.Text(h.Builds[c.Build]), uncapitalized(in.answer(changed, printable.Text))))
	}
	return strings.Join(parts, "; ") + "."
}

// unchangedHistory says of a history without changes whether one would have been told.
func unchangedHistory(h *diff.History) string {
	of := fmt.Sprintf("%d builds, from %s to %s", len(h.Builds), printable.Text(h.Builds[0]), printable.Text(h.Builds[len(h.Builds)-1]))
	switch {
	case h.Outcome != diff.Inconclusive:
		return fmt.Sprintf("Not changed in %s.", of)
	case math.IsInf(h.Resolution, 1):
		return fmt.Sprintf("Inconclusive: too few runs of %s.", of)
	}
	return fmt.Sprintf("Inconclusive: too few samples, or too uneven runs, of %s; differences under %s of the total could not be told.", of, percent2(h.Resolution))
}

// historyNotes are the notes of a history, and one on the builds of which it tells nothing.
func historyNotes(h *diff.History) []string {
	notes := append([]string{}, h.Notes...)
	var names []string
	for _, b := range h.Untold {
		names = append(names, h.Builds[b])
	}
	if len(names) > 0 {
		notes = append(notes, "whether something changed with "+strings.Join(names, " or ")+" cannot be told: it takes two runs before a change, and two from it on")
	}
	return notes
}

// historyCosts says what the numbers are.
func historyCosts(h *diff.History) string {
	return fmt.Sprintf("Costs: %s, of those marked * with what they call; ↑ is where a function costs more than before, ↓ where less.", perWords[h.Per])
}

// columns writes rows, each with cells of one width a column, and its name behind.
func (t *textWriter) columns(rows [][]string, names []string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for b, cell := range row {
			widths[b] = max(widths[b], printable.Width(cell))
		}
	}
	for i, row := range rows {
		var l strings.Builder
		for b, cell := range row {
			l.WriteString(strings.Repeat(" ", widths[b]-printable.Width(cell)) + cell + "  ")
		}
		t.line("", l.String()+names[i])
	}
}

func uncapitalized(s string) string { return strings.ToLower(s[:1]) + s[1:] }

func historyMark(v diff.Verdict) string {
	switch v {
	case diff.More, diff.New:
		return "↑"
	case diff.Less, diff.Gone:
		return "↓"
	}
	return ""
}

func historyCost(h *diff.History, x float64) string {
	if h.Per == diff.PerShare {
		return percent(x)
	}
	if len(h.Changes) > 0 { // of which there is one where there is a cost
		return words{r: h.Changes[0].Result}.cost(x)
	}
	return printable.Digits(x, 4)
}

type historyDocument struct {
	Schema  string          `json:"schema"`
	Version int             `json:"version"`
	Outcome string          `json:"outcome"`
	Per     string          `json:"per"`
	Builds  []string        `json:"builds"`
	Changes []historyChange `json:"changes"`
	Series  []historySeries `json:"functions"`
	Notes   []string        `json:"notes"`
}

type historyChange struct {
	Build   string `json:"build"` // the first that has it
	Index   int    `json:"index"`
	Verdict string `json:"verdict"`
}

type historySeries struct {
	Name     string    `json:"name"`
	Cum      bool      `json:"cum"`      // costs are with what is called
	Costs    []float64 `json:"costs"`    // by build: shares, or values per what "per" says
	Verdicts []string  `json:"verdicts"` // by build: "more", "less", "new", "gone", or "noise" where nothing changed
}

// HistoryJSON writes a history as one JSON object.
func HistoryJSON(w io.Writer, h *diff.History) error {
	d := historyDocument{
		Schema: HistorySchema, Version: HistoryVersion, Outcome: h.Outcome.String(), Per: perNames[h.Per], Builds: h.Builds,
		Changes: []historyChange{}, Series: []historySeries{}, Notes: historyNotes(h),
	}
	for i := range h.Changes {
		c := &h.Changes[i]
		in := words{r: c.Result}
		changed, _ := in.changed()
		d.Changes = append(d.Changes, historyChange{h.Builds[c.Build], c.Build, in.answer(changed, printable.Text)})
	}
	for _, s := range h.Series {
		x := historySeries{Name: s.Name, Cum: s.Cum, Costs: s.Costs}
		for _, v := range s.Verdicts {
			x.Verdicts = append(x.Verdicts, v.String())
		}
		d.Series = append(d.Series, x)
	}
	return writeJSON(w, "history", d)
}
