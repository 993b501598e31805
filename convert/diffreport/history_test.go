package diffreport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
		{[]diff.Build{single("v0", "2000"), single("v1", "2010"), single("v2", "2005"), single("v3", "2002"), single("v4", "2007"), single("v5", "2012")},
			"Not changed in 6 builds, from v0 to v5.", "whether something changed with v1 or v5" + takes},
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

// TestHistoryOfFewSamples: what kprof diff calls inconclusive, 8 samples of each run, is not called
// unchanged as a history.
func TestHistoryOfFewSamples(t *testing.T) {
	var builds []diff.Build
	for b, lines := range [][2]string{
		{"m;f 3\nm;g 1\nm;h 3\n", "m;f 3\nm;g 1\nm;h 3\nm;i 1\n"},
		{"m;f 3\nm;g 2\nm;h 2\n", "m;f 3\nm;g 2\nm;h 2\nm;i 1\n"},
		{"m;f 3\nm;g 3\nm;h 1\n", "m;f 3\nm;g 3\nm;h 1\nm;i 1\n"},
	} {
		name := fmt.Sprint("v", b)
		var runs []diff.Run
		for i, text := range lines {
			s, err := folded.Read(strings.NewReader(text), folded.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, diff.Run{Name: fmt.Sprint(name, ".", i), Set: s})
		}
		builds = append(builds, diff.Build{Name: name, Runs: runs})
	}
	if r, err := diff.Compare(builds[0].Runs, builds[2].Runs, diff.Defaults); err != nil || r.Outcome != diff.Inconclusive {
		t.Fatalf("compared: %v, %v", r.Outcome, err)
	}
	h, err := diff.NewHistory(builds, diff.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	var text, js bytes.Buffer
	if err := errors.Join(History(&text, h, Options{}), HistoryJSON(&js, h)); err != nil {
		t.Fatal(err)
	}
	if want := "Verdict: Inconclusive: too few samples, or too uneven runs, of 3 builds, from v0 to v2; differences under "; !strings.HasPrefix(text.String(), want) {
		t.Errorf("%q, want %q", &text, want)
	}
	if !strings.Contains(js.String(), `"outcome": "inconclusive"`) {
		t.Errorf("%s", &js)
	}
}
