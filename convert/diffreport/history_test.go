package diffreport

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"kprof/convert/diff"
	"kprof/convert/folded"
)

// TestHistoryOfSingleRuns: of a build that has one run alone before it, or from it on, nothing is
// told, and the words say so: by one run each, a history of three builds finds nothing however much
// slower the last is.
func TestHistoryOfSingleRuns(t *testing.T) {
	run := func(name, g string) diff.Run {
		s, err := folded.Read(strings.NewReader("m;f 8000\nm;g "+g+"\n"), folded.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return diff.Run{Name: name, Set: s}
	}
	single := func(name, g string) diff.Build { return diff.Build{Name: name, Runs: []diff.Run{run(name, g)}} }
	double := func(name, g, h string) diff.Build {
		return diff.Build{Name: name, Runs: []diff.Run{run(name+".1", g), run(name+".2", h)}}
	}
	const takes = " cannot be told: it takes two runs before a change, and two from it on"
	for _, test := range []struct {
		builds        []diff.Build
		verdict, note string
	}{
		{[]diff.Build{single("v0", "2000"), single("v1", "2010"), single("v2", "4000")},
			"Inconclusive: too few runs of 3 builds, from v0 to v2.", "whether something changed with v1 or v2" + takes},
		{[]diff.Build{single("v0", "2000"), single("v1", "2010"), single("v2", "2005"), single("v3", "4000")},
			"Not changed in 4 builds, from v0 to v3.", "whether something changed with v1 or v3" + takes},
		{[]diff.Build{double("v0", "2001", "2009"), single("v1", "2010"), single("v2", "2005")},
			"Not changed in 3 builds, from v0 to v2.", "whether something changed with v2" + takes},
		{[]diff.Build{double("v0", "2001", "2009"), single("v1", "2010"), double("v2", "2003", "2007")}, "Not changed in 3 builds, from v0 to v2.", ""},
	} {
		h, err := diff.NewHistory(test.builds, diff.Defaults)
		if err != nil {
			t.Fatal(err)
		}
		var text, js, page bytes.Buffer
		if err := errors.Join(History(&text, h, Options{}), HistoryJSON(&js, h), HistoryHTML(&page, h, Options{})); err != nil {
			t.Fatal(err)
		}
		want, notes := "Verdict: "+test.verdict+"\n", []string{}
		if test.note != "" {
			want += "Note: " + test.note + ".\n"
			notes = append(notes, test.note)
		}
		if want += "\n"; text.String() != want {
			t.Errorf("%q, want %q", &text, want)
		}
		var d struct{ Notes []string }
		if err := json.Unmarshal(js.Bytes(), &d); err != nil || !slices.Equal(d.Notes, notes) {
			t.Errorf("%v in %s, want %q", err, &js, notes)
		}
		if !strings.Contains(page.String(), test.verdict) || !strings.Contains(page.String(), test.note) {
			t.Errorf("%s lacks %q or %q", &page, test.verdict, test.note)
		}
	}
}
