package diffreport

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"kprof/convert/diff"
)

// TestHistoryHTML: a row for each function with a cell for each build, of which the largest
// has a full bar and changes their frames; whatever names are, they are text.
func TestHistoryHTML(t *testing.T) {
	const hostile = `</td><script>alert("1")</script>`
	h := &diff.History{
		Builds: []string{"v1", hostile, "v3"},
		Series: []diff.Series{
			{Name: "vfs_" + hostile, Cum: true, Costs: []float64{0.1, 0.2, 0.05}, Verdicts: []diff.Verdict{diff.Noise, diff.More, diff.Less}},
			{Name: "never", Costs: []float64{0, 0, 0}, Verdicts: []diff.Verdict{0, 0, 0}},
			{Name: "more", Costs: []float64{1, 1, 1}, Verdicts: []diff.Verdict{0, 0, 0}},
		},
		Notes: []string{"note " + hostile},
	}
	var b bytes.Buffer
	if err := HistoryHTML(&b, h, Options{Limit: 2}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		`<td style="--of-most: 50%">10.00%</td>`, `<td class="more" style="--of-most: 100%">↑20.00%</td>`, `<td class="less" style="--of-most: 25%">↓5.00%</td>`,
		`<td style="--of-most: 0%">0.00%</td>`, "… and 1 more", "<strong>Not changed in 3 builds, from v1 to v3.</strong>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	if strings.Contains(page, "<script") || strings.Count(page, "<tr>") != 3 {
		t.Errorf("a script, or not three rows:\n%s", page)
	}
	// Elements end where they should.
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(page, "<!DOCTYPE html>")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
