package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// history simulates builds of some runs each; change says by build what share of samples
// goes to f20 instead.
func history(builds, runs, samples int, seed uint64, change func(build int) float64) []Build {
	var all []Build
	for b := range builds {
		l := load{functions: 60, samples: samples, burst: 2, slow: change(b), slower: "f20", times: true}
		all = append(all, Build{fmt.Sprint("build", b), l.runs(fmt.Sprint("build", b, "run"), runs, seed*1000+uint64(b))})
	}
	return all
}

// points are the builds of a history's changes.
func points(h *History) (at []int) {
	for _, c := range h.Changes {
		at = append(at, c.Build)
	}
	return at
}

// TestHistory: over ten builds the one from which on a function is slower is found, and
// that in which it is fast again; without a change none is, but for the share that alpha
// allows.
func TestHistory(t *testing.T) {
	step := func(from, to int) func(int) float64 {
		return func(b int) float64 {
			if b >= from && b < to {
				return 0.03
			}
			return 0
		}
	}
	for _, test := range []struct {
		name   string
		runs   int
		change func(int) float64
		want   []int
	}{
		{"one run each, slower from build 6 on", 1, step(6, 10), []int{6}},
		{"three runs each, slower from build 4 on", 3, step(4, 10), []int{4}},
		{"slower in builds 3 to 6", 2, step(3, 7), []int{3, 7}},
		{"slower in the last", 3, step(9, 10), []int{9}},
	} {
		right, n := 0, some(10)
		for seed := range uint64(n) {
			h, err := NewHistory(history(10, test.runs, 6000, seed, test.change), Defaults)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Equal(points(h), test.want) && h.Series[0].Name == "f20" && h.Series[0].Verdicts[test.want[0]] == More {
				right++
			} else if right == int(seed) {
				t.Logf("%s: %v", test.name, points(h))
			}
		}
		t.Logf("%s: right in %d of %d", test.name, right, n)
		if right*20 < n*18 && !testing.Short() {
			t.Errorf("%s: right in %d of %d histories only", test.name, right, n)
		}
	}
	wrong, n := 0, some(40)
	for seed := range uint64(n) {
		h, err := NewHistory(history(10, 1, 3000, 500+seed, step(0, 0)), Defaults)
		if err != nil {
			t.Fatal(err)
		}
		if len(h.Changes) > 0 {
			wrong++
		}
	}
	t.Logf("%d of %d histories without a change have one", wrong, n)
	if wrong*100 > 7*n && !testing.Short() {
		t.Errorf("%d of %d histories without a change have one", wrong, n)
	}
}

// TestHistoryCosts: a series has the cost of each build, and what is wrong is told.
func TestHistoryCosts(t *testing.T) {
	var builds []Build
	for i, n := range []string{"2000", "2010", "2005", "4000", "4010", "4003"} {
		builds = append(builds, Build{fmt.Sprint("v", i), []Run{profile(t, fmt.Sprint("run", i), "m;f 8000\nm;g "+n)}})
	}
	h, err := NewHistory(builds, Defaults)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(points(h), []int{3}) || len(h.Series) == 0 || h.Series[0].Name != "g" || !near(h.Series[0].Costs[0], 0.2) || !near(h.Series[0].Costs[3], 4000.0/12000) {
		t.Errorf("%v, %+v", points(h), h.Series)
	}
	for want, builds := range map[string][]Build{
		"at least three builds": builds[:2],
		"v0: no runs":           {{"v0", nil}, builds[1], builds[2]},
		"same run":              {builds[0], {"again", builds[0].Runs}, builds[1]},
	} {
		if _, err := NewHistory(builds, Defaults); err == nil || !strings.Contains(err.Error(), want) && want != "same run" {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
