package flamegraph

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/folded"
	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/livetest"
)

// shareOf is how much of the folded stacks, in percent, goes through a frame that
// a regular expression matches, below one that holds all of them: a path such as
// "comm;main;", or "".
func shareOf(t *testing.T, lines, expression, below string) float64 {
	t.Helper()
	re := regexp.MustCompile(expression)
	var all, found float64
	for line := range strings.Lines(lines) {
		at := strings.LastIndexByte(line, ' ')
		weight, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(line[:at]+";", below) {
			continue
		}
		all += weight
		for frame := range strings.SplitSeq(line[:at], ";") {
			if re.MatchString(frame) {
				found += weight
				break
			}
		}
	}
	return 100 * found / all
}

func foldedText(t *testing.T, s *stacks.Set) string {
	t.Helper()
	return livetest.Written(t, func(w io.Writer) error { return folded.Write(w, s, folded.Options{}) })
}

// TestSVGSearchTotals: the share that a search shows is that of all samples, though
// most of their frames are too narrow to be drawn.
func TestSVGSearchTotals(t *testing.T) {
	s := stackstest.GraphOf(3000, 3)
	lines := foldedText(t, s)
	names := s.Names().Names
	var searches [][2]string // as typed, and for Go
	for _, n := range names[:20] {
		e := "^" + regexp.QuoteMeta(n) + "$"
		searches = append(searches, [2]string{e, e})
	}
	searches = append(searches, [][2]string{
		{"f1", "(?i)f1"}, {"F1", "F1"}, {"INLINE", "INLINE"}, {"inline_F", "inline_F"}, {"f[3-5]_|^inline", "(?i)f[3-5]_|^inline"},
		{`^f\d+_\S+$`, `(?i)^f\d+_\S+$`}, {`\W2`, `(?i)\W2`}, {"worker/1", "(?i)worker/1"}, {".", "."}, {"no such name", "no such name"},
	}...)
	var p *browsertest.Page
	for _, test := range []struct {
		name   string
		o      Options
		atMost bool // there is only room for the totals of names
	}{
		{"all drawn", Options{MinWidth: -1, MaxSize: 50_000_000}, false},
		{"wide", Options{MinWidth: 20}, false},
		{"callers", Options{MinWidth: 20, Reverse: true}, false},
		{"narrow", Options{MinWidth: 8, Width: 300, Inverted: true}, false},
		{"by time", Options{MinWidth: 5, ByTime: true}, false},
		{"totals", Options{MinWidth: 20, MaxSize: leastMaxSize}, true},
	} {
		set := s
		if test.o.ByTime {
			set = stackstest.Timed(stackstest.GraphOf(3000, 3))
		}
		file := svgFile(t, svg(t, set, test.o))
		if p == nil {
			p = browsertest.OpenFile(t, file, browsertest.View{Width: 1200, Height: 900})
		} else {
			p.Go(browsertest.FileURL(t, file))
			p.Wait("document.querySelector('.page')")
		}
		exact := 0
		for _, search := range searches {
			want := shareOf(t, lines, search[1], "")
			got, sure := strings.CutPrefix(svgSearch(p, search[0]), "at least ")
			sure = !sure
			if sure {
				exact++
			}
			value, err := strconv.ParseFloat(strings.TrimSuffix(got, "% matched"), 64)
			switch {
			case err != nil:
				t.Errorf("%s: /%s/: %q", test.name, search[0], got)
			case sure && got != fmt.Sprintf("%.2f%% matched", want):
				t.Errorf("%s: /%s/: %s, want %.2f%%", test.name, search[0], got, want)
			case !sure && (!test.atMost || value > want+.005):
				t.Errorf("%s: /%s/: at least %v, want %.2f%%", test.name, search[0], got, want)
			}
		}
		if exact < 20 || test.atMost == (exact == len(searches)) {
			t.Errorf("%s: %d of %d shares are exact", test.name, exact, len(searches))
		}
	}
}

// TestSVGSearchHere: the share below the frame that is zoomed into counts what is
// not drawn too.
func TestSVGSearchHere(t *testing.T) {
	s := stackstest.GraphOf(3000, 4)
	lines := foldedText(t, s)
	p := browsertest.OpenFile(t, svgFile(t, svg(t, s, Options{MinWidth: 15})), browsertest.View{Width: 1200, Height: 900})
	d := drawnIn(p, ".graph")
	clickOn(p, d.find(t, "worker/2"))
	p.Wait("location.hash.startsWith('#zoom=')")
	for _, e := range []string{"f2", "f[3-5]_|^inline", "f59"} {
		want := fmt.Sprintf("%.2f%% matched here, %.2f%% in all", shareOf(t, lines, e, "worker/2;"), shareOf(t, lines, e, ""))
		if got := svgSearch(p, e); got != want {
			t.Errorf("/%s/: %s, want %s", e, got, want)
		}
	}
}

// TestDiffSVGSearch: in a comparison it is that of the mean of both.
func TestDiffSVGSearch(t *testing.T) {
	base, set := stackstest.GraphOf(2000, 5), stackstest.GraphOf(3000, 5)
	var b strings.Builder
	o := DiffOptions{}
	o.MinWidth = 20
	if _, err := WriteDiff(&b, base, set, o); err != nil {
		t.Fatal(err)
	}
	p := browsertest.OpenFile(t, svgFile(t, b.String()), browsertest.View{Width: 1200, Height: 900})
	was, is := foldedText(t, base), foldedText(t, set)
	for _, e := range []string{"f2", "f[3-5]_|^inline", "worker/0"} {
		want := (shareOf(t, was, e, "") + shareOf(t, is, e, "")) / 2
		got, err := strconv.ParseFloat(strings.TrimSuffix(svgSearch(p, e), "% matched"), 64)
		if err != nil || math.Abs(got-want) > .0051 {
			t.Errorf("/%s/: %v, %v, want %.2f", e, got, err, want)
		}
	}
}

// TestSVGSearchDeep: the share below a frame is found however many frames it is below.
func TestSVGSearchDeep(t *testing.T) {
	const deep = 12_000
	s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	location := func(name string) uint32 {
		l := s.AddLocation(stacks.NoMapping, uint64(len(s.Locations)), stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
		return l
	}
	f, leaf, narrow := location("f"), location("leaf"), location("narrow")
	chain := slices.Repeat([]uint32{f}, deep)
	s.Add(0, s.Intern(chain), 0, 600_000)
	s.Add(0, s.Intern(append([]uint32{leaf}, chain...)), 0, 399_999)
	s.Add(0, s.Intern(append([]uint32{narrow}, chain...)), 0, 1) // is not drawn
	p := browsertest.OpenFile(t, svgFile(t, svg(t, s, Options{MaxSize: 50_000_000})), browsertest.View{Width: 1200, Height: 900})
	p.Do(fmt.Sprintf("location.hash = 'zoom=%d'", deep))
	p.Wait("!document.querySelector('button').disabled")
	if got, want := svgSearch(p, "narrow|leaf"), "40.00% matched here, 40.00% in all"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
