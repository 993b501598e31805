package diffreport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/convert/diff"
	"kprof/convert/spandiff"
)

func same(s string) string { return s }

// TestCount says how many functions changed, and of those that did not, why they are listed.
func TestCount(t *testing.T) {
	fns := func(verdicts ...diff.Verdict) (all []diff.Function) {
		for _, v := range verdicts {
			all = append(all, diff.Function{Verdict: v})
		}
		return all
	}
	built := fns(diff.New, diff.Gone)
	built[0].Built, built[1].Built = true, true
	for _, x := range []struct {
		fns  []diff.Function
		want string
	}{
		{nil, "nothing changed"},
		{fns(diff.More), "1 function changed"},
		{fns(diff.More, diff.Less, diff.New, diff.Gone), "4 functions changed"},
		{fns(diff.More, diff.Moved, diff.Renamed), "1 function changed, 2 moved or renamed"},
		{built, "nothing changed, 2 in one build only that cost no more than chance explains"},
		{fns(diff.Unclear), "nothing changed, 1 are unclear, since other programs ran, or ran more or less"},
		{fns(diff.Less, diff.ShareOnly, diff.ShareOnly), "1 function changed, and besides 2 in the share only, since others cost more or less"},
	} {
		if got := (words{}).count(x.fns); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
	for v, want := range map[diff.Verdict]string{
		diff.Noise: sgrNoise, diff.More: sgrWorse, diff.New: sgrWorse, diff.Less: sgrBetter, diff.Gone: sgrBetter,
		diff.Moved: sgrMoved, diff.ShareOnly: sgrMoved, diff.Renamed: sgrMoved, diff.Unclear: sgrMoved,
	} {
		if got := colorOf(&diff.Function{Verdict: v}); got != want {
			t.Errorf("%v has colour %s, want %s", v, got, want)
		}
	}
}

// TestCodeChanged: of which functions the code differs, those first that explain a change of cost.
func TestCodeChanged(t *testing.T) {
	size := func(n uint64) CodeOf { return CodeOf{Known: true, Size: n} }
	padded := CodeOf{Known: true, Size: 64, Padded: true}
	code := map[string]Code{
		"alike":      {Base: size(16), New: size(16)},
		"removed":    {Base: size(16), New: size(0)},
		"added":      {Base: size(0), New: size(16)},
		"larger":     {Base: size(16), New: size(24), Differs: true},
		"other":      {Base: size(16), New: size(16), Differs: true},
		"calls":      {Base: size(16), New: size(12), Differs: true, Calls: []string{"added", "b", "c", "d"}},
		"by symbols": {Base: padded, New: size(0)},
		"not known":  {Base: size(16)},
	}
	f := func(name string, v diff.Verdict, cum float64) diff.Function {
		return diff.Function{Name: name, Verdict: v, Cum: diff.Difference{Diff: cum}}
	}
	r := &diff.Result{Functions: []diff.Function{
		f("alike", diff.More, 9), f("by symbols", diff.Gone, 9), f("not known", diff.Gone, 9), f("unknown", diff.Gone, 9),
		f("other", diff.Noise, 5), f("larger", diff.More, -1), f("removed", diff.Gone, -3), f("added", diff.New, 2), f("calls", diff.Noise, 4),
	}}
	const want = "Code differs in calls (-4 bytes, now calls added, b, c and another), removed (only in base), added (only in new), larger (+8 bytes), other (other instructions)."
	if got := (words{r: r}).codeChanged(code, same); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	code["alike"] = Code{Base: size(16), New: size(16), Differs: true}
	if got := (words{r: r}).codeChanged(code, same); !strings.HasSuffix(got, "larger (+8 bytes) and another.") || !strings.Contains(got, "alike (other instructions), larger") {
		t.Errorf("six: %s", got)
	}
	if got := (words{r: r}).codeChanged(map[string]Code{"alike": {Base: size(16), New: size(16)}}, same); got != "" {
		t.Errorf("none: %s", got)
	}
}

// timesOf is a comparison of groups of spans, of which those that changed are listed first.
func timesOf(groups ...spandiff.Group) *spandiff.Result {
	return &spandiff.Result{By: []string{"syscall"}, Groups: groups, Alpha: 0.05, Least: 0.1, Tests: 7, Blocks: 32}
}

// TestTimesWords: what is said of the times of groups.
func TestTimesWords(t *testing.T) {
	change := func(base, new float64, significant bool) spandiff.Change {
		return spandiff.Change{Base: base, New: new, Significant: significant, Tested: true}
	}
	slower := spandiff.Group{Name: "read", Calls: change(10, 10, false), Mean: change(1000, 2000, true), P99: change(9000, 12_000, true)}
	tail := spandiff.Group{Name: "write", Calls: change(10, 10, false), Mean: change(1000, 1000, false), P99: change(9000, 6000, true)}
	more := spandiff.Group{Name: "", Calls: change(10, 30, false), Rate: change(1, 2, true)}
	fewer := spandiff.Group{Name: "stat", Calls: change(30, 15, false), Rate: change(2, 1, true)}
	noise := spandiff.Group{Name: "poll", Calls: change(10, 10, false), Mean: change(1000, 1000, false)}
	for _, x := range []struct {
		groups []spandiff.Group
		want   []string
	}{
		{[]spandiff.Group{noise}, nil},
		{[]spandiff.Group{slower, tail, more, noise}, []string{"READ slower (mean, p99) ×2.00", "WRITE faster (p99) ×0.67", "all spans more calls ×3.00"}},
		{[]spandiff.Group{fewer, slower, tail, more}, []string{"STAT fewer calls ×0.50", "READ slower (mean, p99) ×2.00", "WRITE faster (p99) ×0.67 and another"}},
		{[]spandiff.Group{fewer, slower, tail, more, more}, []string{"STAT fewer calls ×0.50", "READ slower (mean, p99) ×2.00", "WRITE faster (p99) ×0.67 and 2 others"}},
	} {
		if got := (words{times: timesOf(x.groups...)}).timesChanged(strings.ToUpper); !slices.Equal(got, x.want) {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
	if got := timesVerdict(&spandiff.Group{}); got != "not known" {
		t.Errorf("nothing was tested: %s", got)
	}
	// All that changed are rows, and ten of the others.
	groups := []spandiff.Group{slower, more}
	for range shownTimes + 2 {
		groups = append(groups, noise)
	}
	times := timesOf(groups...)
	times.More = 5
	rows, rest := (words{times: times}).timesRows()
	if len(rows) != 2+shownTimes || rest != 7 || rows[0].g.Name != "read" || !slices.Equal(rows[0].cells, []string{"10", "10", "1us", "2us", "×2.00", "-", "-", "-", "9us", "12us", "×1.33", "slower (mean, p99)"}) {
		t.Errorf("%d rows, %d more, %q", len(rows), rest, rows[0].cells)
	}
	c := change(1000, 2000, true)
	c.Ratio = spandiff.Interval{Low: 1.5, High: 2.75}
	if got := ratioIn(&c); got != "×2.00 1.50–2.75" {
		t.Error(got)
	}
	r := resultOf(t)
	for name, x := range map[string]struct {
		change func(r *spandiff.Result)
		want   string
	}{
		"blocks": {func(*spandiff.Result) {}, "Times of samples by syscall: calls per run, ns each; ratios with intervals of 95%, by a bootstrap of 32 blocks of time; what changed is not chance (p at most 0.05 for all 7 together, by Holm), and at least 10%"},
		"runs":   {func(r *spandiff.Result) { r.Blocks, r.By = 0, nil }, "Times of samples: calls per run, ns each; ratios with intervals of 95%, from the spread between runs; what changed is not chance (p at most 0.05 for all 7 together, by Holm), and at least 10%"},
		"sums":   {func(r *spandiff.Result) { r.Sums = true }, "Times of samples by syscall. The profiles have sums of times only: how they are distributed is not known"},
	} {
		times := timesOf(noise)
		x.change(times)
		if got := (words{r: r, times: times}).timesTitle(); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
	// Colours of a terminal, and what is left out.
	var text, md bytes.Buffer
	o := Options{Times: timesOf(append([]spandiff.Group{slower, tail, more, fewer, {Name: "both", Mean: change(1, 2, true), P99: change(2, 1, true)}}, groups[2:]...)...), Color: true}
	if err := Text(&text, r, o); err != nil {
		t.Fatal(err)
	}
	for name, color := range map[string]string{"read": sgrWorse, "write": sgrBetter, "all spans": sgrWorse, "stat": sgrBetter, "both": sgrMoved, "poll": sgrNoise} {
		found := false
		for line := range strings.Lines(text.String()) {
			found = found || strings.HasPrefix(line, "\x1b["+color+"m") && strings.HasSuffix(line, " "+name+"\x1b[0m\n")
		}
		if !found {
			t.Errorf("%s has no colour %s:\n%s", name, color, &text)
		}
	}
	if err := Markdown(&md, r, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"… and 2 more that did not change\n\n", "\n\n| group | calls base | new | mean base |", "\n|:--|--:|"} {
		if !strings.Contains(md.String(), want) || want[:3] == "…" && !strings.Contains(text.String(), want[:len(want)-1]) {
			t.Errorf("no %q in\n%s", want, &md)
		}
	}
}

// TestHistoryTable: as many functions as are asked for, with what changed before the cost.
func TestHistoryTable(t *testing.T) {
	h := &diff.History{Builds: []string{"v1", "v2", "v3"}, Notes: []string{"beware"}, Series: []diff.Series{
		{Name: "one", Costs: []float64{0.1, 0.2, 0.05}, Verdicts: []diff.Verdict{diff.Noise, diff.More, diff.Less}},
		{Name: "two", Cum: true, Costs: []float64{0.5, 0.5, 0.6}, Verdicts: []diff.Verdict{0, 0, diff.New}},
		{Name: "three", Costs: []float64{0.3, 0.3, 0}, Verdicts: []diff.Verdict{0, 0, diff.Gone}},
	}}
	const table = "    v1       v2      v3  function\n10.00%  ↑20.00%  ↓5.00%  one\n"
	for limit, want := range map[int]string{
		0: "    v1       v2       v3  function\n10.00%  ↑20.00%   ↓5.00%  one\n50.00%   50.00%  ↑60.00%  two *\n30.00%   30.00%   ↓0.00%  three\n",
		3: "    v1       v2       v3  function\n10.00%  ↑20.00%   ↓5.00%  one\n50.00%   50.00%  ↑60.00%  two *\n30.00%   30.00%   ↓0.00%  three\n",
		1: table + "… and 2 more\n",
	} {
		var b bytes.Buffer
		if err := History(&b, h, Options{Limit: limit}); err != nil {
			t.Fatal(err)
		}
		if want = "Verdict: Not changed in 3 builds, from v1 to v3.\nNote: beware.\n\n" + historyCosts(h) + "\n\n" + want; b.String() != want {
			t.Errorf("limit %d:\n%swant\n%s", limit, b.String(), want)
		}
	}
	var b bytes.Buffer
	if err := HistoryJSON(&b, h); err != nil {
		t.Fatal(err)
	}
	var d historyDocument
	if err := json.Unmarshal(b.Bytes(), &d); err != nil || len(d.Series) != 3 || !slices.Equal(d.Series[0].Verdicts, []string{"noise", "more", "less"}) || !d.Series[1].Cum || !slices.Equal(d.Notes, h.Notes) {
		t.Errorf("%v, %+v", err, d)
	}
}

// TestPage: rows of what changed, with their code where it is known, up to a limit.
func TestPage(t *testing.T) {
	r := resultOf(t)
	code := map[string]Code{"f|g": {New: CodeOf{Known: true, Size: 64}}, "h": {}}
	for limit, want := range map[int]int{0: 2, 1: 1, 2: 2} {
		p := Page(r, Options{Limit: limit, Code: code, Judgement: &diff.Judgement{Limit: 0.05, Upper: 0.03}})
		if len(p.Rows) != want || p.Rows[0].Function != "f|g" || p.Rows[0].Verdict != "more" || p.Rows[0].Code != "not known → 64 bytes" || len(p.Rows[0].Cells) != len(p.Columns) || p.Rows[0].Cells[0] != "×3.00" {
			t.Errorf("limit %d: %+v", limit, p.Rows)
		}
		if want > 1 && p.Rows[1].Code != "" {
			t.Errorf("limit %d: %+v", limit, p.Rows[1])
		}
		if !strings.HasSuffix(p.Verdict, ". Within the limit: nothing costs over 5% of the total more (at most 3%).") {
			t.Errorf("%s", p.Verdict)
		}
	}
}

// TestVerdictWords: a function's verdict with what it was, or moved from.
func TestVerdictWords(t *testing.T) {
	up, down := diff.Difference{Diff: 1}, diff.Difference{Diff: -1}
	for want, f := range map[string]diff.Function{
		"more":                {Verdict: diff.More},
		"renamed from g":      {Verdict: diff.Renamed, Pair: "g"},
		"more in place of g":  {Verdict: diff.More, Pair: "g", Rewritten: true},
		"moved within g":      {Verdict: diff.Moved, Within: "g"},
		"moved around g":      {Verdict: diff.Moved, Around: "g"},
		"moved from a, b, c":  {Verdict: diff.Moved, With: []string{"a", "b", "c"}, Self: up},
		"moved to a, b, c, …": {Verdict: diff.Moved, With: []string{"a", "b", "c", "d"}, Self: down},
	} {
		if got := verdict(&f); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	r := &diff.Result{Base: diff.Side{Total: 1}}
	f := diff.Function{Name: "f", Verdict: diff.More, Self: diff.Difference{Base: 0.1, New: 0.1, Diff: 0}, Cum: diff.Difference{Base: 0.1, New: 0.2, Diff: 0.1, Significant: true}}
	f.Paths = []diff.Path{{Stack: []string{"main", "a", "b", "f"}}}
	if got := (words{r: r}).cause(&f, same); got != "f +10.00% of the total (×2.00) with what it calls in b of a" {
		t.Error(got)
	}
	f.Verdict, f.Paths, f.Self = diff.New, nil, f.Cum
	if got := (words{r: r}).cause(&f, same); got != "f +10.00% of the total (only in new)" {
		t.Error(got)
	}
	r.Per, f.Verdict, f.Self.Base = diff.PerRun, diff.More, 0
	if got := (words{r: r}).cause(&f, same); got != "f +10.00%" {
		t.Error(got)
	}
	// What others cause comes with them: the total, of runs and of rates.
	r = resultOf(t)
	r.Outcome, r.Per = diff.Changed, diff.PerSecond
	r.PerRun = diff.Difference{Base: 2, New: 3, Significant: true}
	r.Total = diff.Difference{Base: 10, New: 20, Diff: 10, Significant: true}
	r.Base.Total = 10
	if got := (words{r: r}).answer(nil, same); got != "Changed: the total ×1.50, the total +100.00% per second (×2.00)" {
		t.Error(got)
	}
	var many []diff.Function
	for i := range 5 {
		d := diff.Difference{Base: 1, New: 2, Diff: 1, Significant: true}
		many = append(many, diff.Function{Name: fmt.Sprint("f", i), Verdict: diff.More, Self: d, Cum: d})
	}
	many = append(many, diff.Function{Name: "caller", Verdict: diff.More, Cum: diff.Difference{Diff: 5, Significant: true}})
	r.PerRun.Significant, r.Total.Significant = false, false
	if got := (words{r: r}).answer(many, same); got != "Changed: f0 +10.00% (×2.00), f1 +10.00% (×2.00), f2 +10.00% (×2.00) and 2 others" {
		t.Error(got)
	}
}

// TestTextParts: lines of a text that depend on what is compared, and how much is asked for.
func TestTextParts(t *testing.T) {
	write := func(r *diff.Result, o Options) string {
		var b bytes.Buffer
		if err := Text(&b, r, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	has := func(text string, want bool, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if strings.Contains(text, p) != want {
				t.Errorf("%q: %v in\n%s", p, !want, text)
			}
		}
	}
	r := resultOf(t)
	has(write(r, Options{Limit: 1}), true, "… and 1 more\n", "  f|g\n")
	has(write(r, Options{Limit: 1}), false, "  h\n")
	has(write(r, Options{Limit: 2}), false, "… and")
	has(write(r, Options{}), true, "Noise: 4 functions whose differences chance explains, or that are too small.\n")
	has(write(r, Options{Noise: 2}), true, "or that are too small; the 2 least likely:\n")
	has(write(r, Options{}), false, "Total:")
	r.Functions[1].Pair = "old"
	has(write(r, Options{}), true, "\n"+renamed+"\n  old => h\n\n")
	r.Functions = r.Functions[:3]
	has(write(r, Options{Noise: 2}), true, "Noise: 1 function whose difference chance explains, or that is too small:\n")
	r.Per, r.Total = diff.PerRun, diff.Difference{Diff: 0.1, Low: 0.05, High: 0.15, Significant: true}
	has(write(r, Options{}), true, "Total: +10.00% ±5.00% (changed)\n")
	r.Total.Significant = false
	has(write(r, Options{}), true, "Total: +10.00% ±5.00% (noise)\n")

	// What is left out of what is compared.
	r = resultOf(t)
	for _, x := range []struct {
		idle       int64
		program    bool
		interrupts bool
		want       string
	}{
		{0, false, false, "share of the total"}, {5, false, false, "share of the total, without idle CPUs"}, {5, true, false, "share of the total, without interrupts"},
		{0, true, false, "share of the total"}, {5, false, true, "share of the total, without idle CPUs and interrupts"}, {0, false, true, "share of the total, without interrupts"},
	} {
		r.New.Idle, r.Program, r.Interrupts = x.idle, x.program, nil
		if x.interrupts {
			r.Interrupts = &diff.Interrupts{}
		}
		if got := (words{r: r}).costed(); !strings.HasSuffix(got, ", "+x.want) {
			t.Errorf("%s, want %s", got, x.want)
		}
	}
	has((words{r: r}).rules()[1], false, "only one build")
	r.Builds = func([]string) map[string]diff.Presence { return nil }
	has((words{r: r}).rules()[1], true, "by Holm, or only one build has it)")

	// Sizes of code.
	known := func(n uint64) CodeOf { return CodeOf{Known: true, Size: n} }
	searched := CodeOf{Known: true, Searched: true}
	for want, c := range map[string]Code{
		"16 bytes → absent (removed)":                             {Base: known(16), New: searched},
		"absent → 16 bytes (added)":                               {Base: searched, New: known(16)},
		"absent → absent":                                         {Base: searched, New: searched},
		"none of its own → 16 bytes (added, or inlined before)":   {Base: known(0), New: known(16)},
		"16 bytes → none of its own (removed, or inlined now)":    {Base: known(16), New: known(0)},
		"16 bytes → 12 bytes (-4)":                                {Base: known(16), New: known(12)},
		"16 bytes → 16 bytes, other instructions":                 {Base: known(16), New: known(16), Differs: true},
		"16 bytes → inlined":                                      {Base: known(16), New: CodeOf{Known: true, Searched: true, Inlined: true}},
		"16 bytes → up to 12 bytes":                               {Base: known(16), New: CodeOf{Known: true, Size: 12, Padded: true}},
		"not known → 16 bytes":                                    {New: known(16)},
		"16 bytes → 20 bytes (+4), now calls a, b, c and another": {Base: known(16), New: known(20), Calls: []string{"a", "b", "c", "d"}},
	} {
		if got := c.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
