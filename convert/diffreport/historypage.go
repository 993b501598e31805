package diffreport

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"

	"kprof/convert/diff"
	"kprof/convert/printable"
)

//go:embed historypage.html
var historyPageText string

var historyPage = template.Must(template.New("history").Parse(historyPageText))

type historyView struct {
	Title, Verdict, Costs string
	Notes, Builds         []string
	Rows                  []historyRow
	Left                  int
}

type historyRow struct {
	Name  string
	Cells []historyCell
}

// historyCell is a cost, as part of the largest of its row too, in percent.
type historyCell struct {
	Text, Class string
	OfMost      int
}

// HistoryHTML writes a history as a page of one file without a script: the verdict, and a
// row for each function with a bar for its cost in each build, framed orange from where it
// costs more than before, and blue from where it costs less.
func HistoryHTML(w io.Writer, h *diff.History, o Options) error {
	v := historyView{
		Title:   fmt.Sprintf("%d builds, %s → %s", len(h.Builds), printable.Text(h.Builds[0]), printable.Text(h.Builds[len(h.Builds)-1])),
		Verdict: historyVerdict(h), Costs: historyCosts(h),
	}
	for _, n := range historyNotes(h) {
		v.Notes = append(v.Notes, printable.Text(n))
	}
	for _, b := range h.Builds {
		v.Builds = append(v.Builds, printable.Text(b))
	}
	shown := h.Series
	if o.Limit > 0 && len(shown) > o.Limit {
		shown = shown[:o.Limit]
	}
	v.Left = len(h.Series) - len(shown)
	for i := range shown {
		x := &shown[i]
		row := historyRow{Name: printable.Text(x.Name)}
		if x.Cum {
			row.Name += " *"
		}
		most := 0.0
		for _, c := range x.Costs {
			most = max(most, c)
		}
		for b, c := range x.Costs {
			cell := historyCell{Text: historyMark(x.Verdicts[b]) + historyCost(h, c)}
			if most > 0 {
				cell.OfMost = int(math.Round(100 * max(c, 0) / most))
			}
			switch historyMark(x.Verdicts[b]) {
			case "↑":
				cell.Class = "more"
			case "↓":
				cell.Class = "less"
			}
			row.Cells = append(row.Cells, cell)
		}
		v.Rows = append(v.Rows, row)
	}
	var page bytes.Buffer
	if err := historyPage.Execute(&page, v); err != nil {
		return fmt.Errorf("make history: %w", err)
	}
	return writeString(w, "history", page.String())
}
