package diffreport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprof/convert/diff"
	"kprof/convert/folded"
	"kprof/convert/stacks"
)

func compareFolded(t *testing.T, base, new string) *diff.Result {
	t.Helper()
	var runs [2][]diff.Run
	for side, text := range [...]string{base, new} {
		s, err := folded.Read(strings.NewReader(text), folded.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		runs[side] = []diff.Run{{Name: [...]string{"old.folded", "new.folded"}[side], Set: s}}
	}
	o := diff.Defaults
	o.MinEffect = 0.01
	r, err := diff.Compare(runs[0], runs[1], o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	diffBase = "main;work;f|g 1000\nmain;work;h.isra.0 8900\nmain;idle 100\n"
	diffNew  = "main;work;f|g 3000\nmain;work;h 6900\nmain;idle 90\nmain;late 10\n"
)

// rowOf returns the words of the line of a function, which is the last word.
func rowOf(text, function string) []string {
	for line := range strings.Lines(text) {
		if w := strings.Fields(line); len(w) > 8 && w[len(w)-1] == function {
			return w
		}
	}
	return nil
}

func TestDiffTable(t *testing.T) {
	r := compareFolded(t, diffBase, diffNew)
	var b bytes.Buffer
	if err := Text(&b, r, Options{Noise: 10, NamesHint: "aliases.txt lists them", Code: map[string]Code{
		"f|g": {Base: CodeOf{Known: true, Searched: true}, New: CodeOf{Known: true, Size: 64}},
	}}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	// Shares by hand: f 1000 → 3000, h 8900 → 6900 and idle 100 → 90 of 10,000.
	for function, want := range map[string]string{
		"f|g":  "10.00% 30.00% +20.00% ×3.00 10.00% 30.00% +20.00% more",
		"h":    "89.00% 69.00% -20.00% ×0.78 89.00% 69.00% -20.00% share",
		"idle": "1.00% 0.90% -0.10% ×0.90 1.00% 0.90% -0.10% noise",
		"main": "0.00% 0.00% +0.00% ×1.00 100.00% 100.00% +0.00% noise",
	} {
		row := rowOf(text, function)
		if len(row) != 11 {
			t.Errorf("%s: row %q in\n%s", function, row, text)
			continue
		}
		got := strings.Join(append(append(row[0:3:3], row[4:8]...), row[9]), " ")
		if got != want {
			t.Errorf("%s: %s, want %s", function, got, want)
		}
	}
	for _, want := range []string{
		"Base:  10000 samples: old.folded", "at least 1.00% of the base's total",
		"f|g, code absent → 64 bytes (added)\n", "10.00%    30.00%   +20.00%  main;work;f|g\n",
		"1 function changed, and besides 1 in the share only, since others cost more or less; more: f|g +20.00%; share only: h -20.00%.\n",
		"Verdict: Changed: f|g +20.00% of the total (×3.00) in work of main; total 10000 samples → 10000 samples a run (×1.00, of one run a side); ",
		"Noise: 4 functions",
		"Matched by names without what differs between builds: 1 function, such as h (base h.isra.0, new h); aliases.txt lists them.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Index(text, "f|g") > strings.Index(text, " h\n") || strings.Index(text, "Noise:") < strings.Index(text, " h\n") {
		t.Errorf("order:\n%s", text)
	}
	if strings.Contains(text, "\x1b") {
		t.Error("colour where none was asked for")
	}
}

func TestDiffTableOfATerminal(t *testing.T) {
	r := compareFolded(t, diffBase, diffNew)
	for _, width := range []int{60, 80, 120} {
		var b bytes.Buffer
		if err := Text(&b, r, Options{Noise: 10, Width: width, Color: true}); err != nil {
			t.Fatal(err)
		}
		grey := 0
		for line := range strings.Lines(b.String()) {
			plain := line
			for _, sgr := range []string{sgrWorse, sgrBetter, sgrMoved, sgrNoise, "0"} {
				plain = strings.ReplaceAll(plain, "\x1b["+sgr+"m", "")
			}
			if n := len([]rune(strings.TrimRight(plain, "\n"))); n > width {
				t.Errorf("width %d: a line of %d: %q", width, n, line)
			}
			if strings.HasPrefix(line, "\x1b["+sgrNoise+"m") {
				grey++
			}
			switch w := strings.Fields(plain); {
			case width < 120 || len(w) < 9 || !strings.HasSuffix(w[0], "%"):
			case w[len(w)-1] == "h" && !strings.HasPrefix(line, "\x1b["+sgrMoved+"m"),
				w[len(w)-1] == "idle" && !strings.HasPrefix(line, "\x1b["+sgrNoise+"m"):
				t.Errorf("colour of %q", line)
			}
		}
		if grey < 5 {
			t.Errorf("width %d: %d grey lines", width, grey)
		}
	}
}

func TestDiffNothing(t *testing.T) {
	// The same shares, of twice the samples.
	r := compareFolded(t, diffBase, strings.ReplaceAll(diffBase, "00\n", "000\n"))
	for name, write := range map[string]func(*bytes.Buffer) error{
		"table":    func(b *bytes.Buffer) error { return Text(b, r, Options{}) },
		"markdown": func(b *bytes.Buffer) error { return Markdown(b, r, Options{}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.ToLower(b.String()), "nothing changed") || strings.Contains(b.String(), "more ") && name == "markdown" && strings.Contains(b.String(), "| more |") {
			t.Errorf("%s:\n%s", name, b.String())
		}
	}
}

// TestDiffSummary tells first what only one side has, and names no more than three.
func TestDiffSummary(t *testing.T) {
	for _, test := range []struct{ base, new, want string }{
		{"main;a 9000\nmain;old 1000\n", "main;a 9000\nmain;b 1000\n",
			"2 functions changed; only in new: `b` +10.00%; only in base: `old` -10.00%"},
		// Of 12,500 added has 2,500, main 7,500 and a itself 5,000.
		{"main;a 5000\nrest;x 5000\n", "main;a 5000\nmain;a;added 2500\nrest;x 5000\n",
			"3 functions changed, and besides 2 in the share only, since others cost more or less; only in new: `added` +20.00%; more: `a` +10.00%, `main` +10.00%; share only: `x` -10.00%, `rest` -10.00%"},
		{"main;a 9000\nmain;b 1000\n", "main;a 9000\nmain;b 1000\nmain;c 1000\nmain;d 1000\nmain;e 1000\nmain;f 1000\n",
			"4 functions changed, and besides 2 in the share only, since others cost more or less; only in new: `c` +7.14%, `d` +7.14%, `e` +7.14% and another; share only: `a` -25.71%, `b` -2.86%"},
	} {
		r := compareFolded(t, test.base, test.new)
		text := words{r: r}
		changed, _ := text.changed()
		if got := text.count(changed) + "; " + text.summary(changed, codeSpan); got != test.want {
			t.Errorf("%q\nwant %q", got, test.want)
		}
	}
}

// TestDiffOnlyBuilt: of functions with few samples, those are named that one of
// both builds does not have.
func TestDiffOnlyBuilt(t *testing.T) {
	r := compareFolded(t, "main;a 9980\nmain;rare 12\nmain;old 8\n", "main;a 9900\nmain;added 60\nmain;called 30\nmain;asm 10\n")
	text := words{r: r}
	changed, noise := text.changed()
	there, absent := CodeOf{Known: true, Size: 80}, CodeOf{Known: true}
	code := map[string]Code{
		"added": {Base: absent, New: there}, "called": {Base: there, New: there}, "asm": {New: there},
		"old": {Base: there, New: absent}, "rare": {Base: there, New: there},
	}
	const want = "Not told from noise by samples, but by symbols: only base has `old` -0.08%; only new has `added` +0.60%."
	if got := text.onlyBuilt(noise, code, codeSpan); got != want || len(changed) > 0 {
		t.Errorf("%q, want %q; %d changed", got, want, len(changed))
	}
	var table, md bytes.Buffer
	o := Options{Code: code}
	if err := errors.Join(Text(&table, r, o), Markdown(&md, r, o)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "\nBy samples, nothing changed: ") || !strings.Contains(table.String(), "only new has added +0.60%.\n") ||
		!strings.HasPrefix(md.String(), "### kprof diff: by samples nothing changed\n") || !strings.Contains(md.String(), want) {
		t.Errorf("%s\n%s", &table, &md)
	}
	if got := text.onlyBuilt(noise, nil, codeSpan); got != "" {
		t.Errorf("without code: %q", got)
	}
}

// TestDiffCaller: who calls a function that sets up no frame is not in the callchain, but in the
// code; what the callchain has is right where the code says so too, or where several may have.
func TestDiffCaller(t *testing.T) {
	r := compareFolded(t, "main;work 3000\nmain;rest 7000\n", "main;work 3000\nmain;rest 7000\nmain;added 1000\n")
	calls := Code{Differs: true, Calls: []string{"added"}}
	for _, test := range []struct {
		code map[string]Code
		want string
	}{
		{nil, "(only in new) in main;"},
		{map[string]Code{"work": calls, "added": {}}, "(only in new) in work of main;"},
		{map[string]Code{"work": calls, "main": calls}, "(only in new) in main;"},
		{map[string]Code{"work": calls, "rest": calls}, "(only in new) in main;"},
		{map[string]Code{"added": calls}, "(only in new) in main;"},
	} {
		text := wordsOf(r, Options{Code: test.code})
		changed, _ := text.changed()
		if got := text.verdict(changed, codeSpan); !strings.Contains(strings.ReplaceAll(got, "`", ""), test.want) {
			t.Errorf("%v: %s, want %s", test.code, got, test.want)
		}
	}
}

// TestDiffCode is worded as what is known of it.
func TestDiffCode(t *testing.T) {
	none, listed := CodeOf{Known: true}, CodeOf{Known: true, Padded: true, Size: 96}
	for want, code := range map[string]Code{
		"none of its own → up to 96 bytes (added, or inlined before)": {Base: none, New: listed},
		"up to 96 bytes → none of its own (removed, or inlined now)":  {Base: listed, New: none},
		"up to 96 bytes → 80 bytes":                                   {Base: listed, New: CodeOf{Known: true, Size: 80}},
		"96 bytes → 80 bytes (-16)":                                   {Base: CodeOf{Known: true, Size: 96}, New: CodeOf{Known: true, Size: 80}},
		"inlined → 80 bytes":                                          {Base: CodeOf{Known: true, Searched: true, Inlined: true}, New: CodeOf{Known: true, Size: 80}},
		"96 bytes → 96 bytes, other instructions":                     {Base: CodeOf{Known: true, Size: 96}, New: CodeOf{Known: true, Size: 96}, Differs: true},
		"96 bytes → 99 bytes (+3), now calls added":                   {Base: CodeOf{Known: true, Size: 96}, New: CodeOf{Known: true, Size: 99}, Differs: true, Calls: []string{"added"}},
		"not known → up to 96 bytes":                                  {New: listed},
	} {
		if got := code.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestDiffMarkdown: every row of a table has as many cells as its head, whatever
// is in a name.
func TestDiffMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, compareFolded(t, diffBase, diffNew), Options{Noise: 10}); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		rows++
		if n := strings.Count(strings.ReplaceAll(line, "\\|", ""), "|"); n != 10 {
			t.Errorf("%d bars in %s", n, line)
		}
	}
	if rows != 2+2+2+4 || !strings.Contains(b.String(), "| `f\\|g` | more | ×3.00 | 10.00% | 30.00% | +20.00% ±") {
		t.Errorf("%d rows in\n%s", rows, b.String())
	}
}

func TestDiffJSON(t *testing.T) {
	r := compareFolded(t, diffBase, diffNew)
	var b bytes.Buffer
	if err := JSON(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	var d struct {
		Per       string
		Functions []struct {
			Name, Verdict string
			Self          struct {
				Diff, Low, High float64
				Base_value      int64
				New_value       int64
			}
			Paths []struct {
				Stack []string
				Diff  float64
			}
		}
		Merged []struct {
			Name      string
			Originals []struct {
				Name  string
				Rules []string
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	f := d.Functions[0]
	got := fmt.Sprint(d.Per, f.Name, f.Verdict, f.Self.Base_value, f.Self.New_value, f.Paths[0].Stack, d.Merged)
	want := "share f|g more 1000 3000 [main work f|g] [{h [{h []} {h.isra.0 [suffix]}]}]"
	want = strings.Replace(want, "share f|g more ", "sharef|gmore", 1)
	if got != want || f.Self.Low > f.Self.Diff || f.Self.High < f.Self.Diff || len(d.Functions) != 6 {
		t.Errorf("%s, want %s; %+v", got, want, f.Self)
	}
}

// TestDiffRenamed: what has another name is told with it, and as lines for a file of
// aliases, with which the comparison says the same.
func TestDiffRenamed(t *testing.T) {
	base, new := "m;g;do_mas_munmap 2000\nm;f 8000\n", "m;g;do_vmi_munmap 2005\nm;f 8000\n"
	r := compareFolded(t, base, new)
	var text, md, js bytes.Buffer
	if err := errors.Join(Text(&text, r, Options{}), Markdown(&md, r, Options{}), JSON(&js, r, Options{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Verdict: Not changed; ", "  do_mas_munmap => do_vmi_munmap\n", " renamed  do_vmi_munmap (from do_mas_munmap)\n", "\nnothing changed, 1 moved or renamed; renamed: do_vmi_munmap.\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	if !strings.Contains(md.String(), "- `do_mas_munmap => do_vmi_munmap`\n") || !strings.Contains(js.String(), `"base_name": "do_mas_munmap"`) {
		t.Errorf("%s\n%s", &md, &js)
	}
}

// TestHistory: the build from which on something is slower is named, and the row of the
// function has it marked; as JSON it is by number.
func TestHistory(t *testing.T) {
	var builds []diff.Build
	for i, n := range []string{"2000", "2010", "2005", "4000", "4010", "4003"} {
		s, err := folded.Read(strings.NewReader("m;f 8000\nm;g "+n+"\n"), folded.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		builds = append(builds, diff.Build{Name: fmt.Sprint("v", i), Runs: []diff.Run{{Name: fmt.Sprint("run", i), Set: s}}})
	}
	h, err := diff.NewHistory(builds, diff.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	var text, js bytes.Buffer
	if err := errors.Join(History(&text, h, Options{}), HistoryJSON(&js, h)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text.String(), "Verdict: v3: changed: g +13.") || !strings.Contains(text.String(), "20.00%  20.08%  20.04%  ↑33.33%  33.39%  33.35%  g\n") {
		t.Errorf("%s", &text)
	}
	var d struct {
		Schema  string
		Changes []struct{ Index int }
	}
	if err := json.Unmarshal(js.Bytes(), &d); err != nil || d.Schema != HistorySchema || len(d.Changes) != 1 || d.Changes[0].Index != 3 {
		t.Errorf("%v in %s", err, &js)
	}
}

// TestLargeNumbers: no number is written with an exponent, nor with digits behind the point that say
// nothing: costs, totals, and the mean of three runs.
func TestLargeNumbers(t *testing.T) {
	var runs [2][]diff.Run
	for side, texts := range [...][]string{{"f 40000000000000\ng 77000000000001", "f 40100000000000\ng 77300000000000", "f 40200000000000\ng 77100000000000"}, {"f 90000000000000\ng 77300000000000", "f 90300000000000\ng 77000000000000"}} {
		for i, text := range texts {
			s, err := folded.Read(strings.NewReader(text+"\n"), folded.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			runs[side] = append(runs[side], diff.Run{Name: fmt.Sprint(side, i), Set: s})
		}
	}
	for unit, want := range map[string][]string{
		"nanoseconds": {"40100s", "90150s", "total 117233s → 167300s a run"},
		"count":       {"40100000000000", "90150000000000", "total 117233333333334 samples → 167300000000000 samples a run"},
	} {
		for side := range runs {
			for i := range runs[side] {
				runs[side][i].Set.Events[0].Values[0].Unit = unit
			}
		}
		o := diff.Defaults
		o.Per = diff.PerRun
		r, err := diff.Compare(runs[0], runs[1], o)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := Text(&b, r, Options{Noise: 2}); err != nil {
			t.Fatal(err)
		}
		h := &diff.History{Builds: []string{"a", "b"}, Per: diff.PerRun, Changes: []diff.Change{{Build: 1, Result: r}}}
		text := b.String() + historyCost(h, 40_100_000_000_000)
		for _, w := range want {
			if strings.Count(text, w) == 0 {
				t.Errorf("%s: no %q in %s", unit, w, text)
			}
		}
		heading, at := -1, 0
		for line := range strings.Lines(text) {
			if i := strings.Index(line, "  verdict  "); i >= 0 {
				heading = len([]rune(line[:i]))
			}
			if i := strings.Index(line, "  noise  "); i >= 0 {
				if at = len([]rune(line[:i])); at != heading {
					t.Errorf("%s: the verdict is at column %d, its heading at %d: %s", unit, at, heading, text)
				}
			}
		}
		if at == 0 {
			t.Errorf("%s: no rows: %s", unit, text)
		}
		if strings.Contains(text, "e+") {
			t.Errorf("%s: an exponent in %s", unit, text)
		}
	}
}

// TestOverLimit counts what else is over a limit.
func TestOverLimit(t *testing.T) {
	const rest = "d 17000\ne 17000\nf 17000\ng 17000\nh 17000\ni 1\n" // no common divisor
	const base = "a 5000\nb 5000\nc 5000\n" + rest
	for new, want := range map[string]string{
		"a 9000\nb 5000\nc 5000\n" + rest: "a costs 3.7% of the base's total more, over 1%",
		"a 9000\nb 8000\nc 5000\n" + rest: "a costs 3.4% of the base's total more, over 1%; so does another",
		"a 9000\nb 8000\nc 8000\n" + rest: "a costs 3.2% of the base's total more, over 1%; so do 2 others",
	} {
		r := compareFolded(t, base, new)
		j := r.Judge(0.01)
		if got := Judgement(r, &j); got != "Over the limit: "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSamplesOfASide: the number of samples is what was recorded; what they tell as much as is said
// where that is much less, and is all that is known of sums.
func TestSamplesOfASide(t *testing.T) {
	ns := stacks.ValueType{Type: "span", Unit: "nanoseconds"}
	timed := stacks.New(stacks.Event{Name: "span", Values: []stacks.ValueType{ns}})
	sums := stacks.New(stacks.Event{Name: "span", Values: []stacks.ValueType{ns}})
	for _, s := range []*stacks.Set{timed, sums} {
		s.AddLocation(stacks.NoMapping, 1, stacks.KindUser)
	}
	for i := range 400 {
		v := int64(1000)
		if i%4 == 0 {
			v = 10_000
		}
		row := timed.Add(0, timed.Intern([]uint32{0}), 0, v)
		timed.AddTimedSample(stacks.TimedSample{Time: uint64(i), Sample: uint32(row), Value: v})
		sums.Add(0, sums.Intern([]uint32{0}), 0, v+7)
	}
	r, err := diff.Compare([]diff.Run{{Name: "timed", Set: timed}}, []diff.Run{{Name: "sums", Set: sums}}, diff.Options{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	// The square of the sum by the sum of squares: (100*10 + 300)^2 / (100*100 + 300) = 164.
	if got, want := (words{r: r}).side(&r.Base), "400 samples (worth 164 equal ones): timed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (words{r: r}).side(&r.New); !strings.HasPrefix(got, "worth about ") {
		t.Errorf("%q is no guess", got)
	}
}
