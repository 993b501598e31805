package diffreport

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/printable"
)

// Text writes a comparison for a terminal: what is compared, the functions
// that changed, their call paths, and last the noise, grey where there is colour.
func Text(w io.Writer, r *diff.Result, o Options) error {
	t := textWriter{words: wordsOf(r, o), o: o}
	changed, noise := t.changed()
	t.text("", "Verdict: "+t.verdict(changed, printable.Text)+".")
	if o.Judgement != nil {
		t.text("", Judgement(r, o.Judgement)+".")
	}
	t.line("", "")
	t.header()
	only := t.onlyBuilt(noise, t.o.Code, printable.Text)
	switch {
	case len(changed) > 0:
		t.text("", t.count(changed)+"; "+t.summary(changed, printable.Text)+".")
	case only != "":
		t.text("", "By samples, n"+nothing[1:])
	case r.Outcome == diff.Unchanged:
		t.text("", nothing)
	case t.words.times != nil && t.words.times.Changed():
		t.text("", "No function's share changed: what did are times, below.")
	}
	for _, s := range []string{only, t.codeChanged(t.o.Code, printable.Text), t.suspects(printable.Text), t.suspicions(noise, printable.Text)} {
		if s != "" {
			t.text("", s)
		}
	}
	t.line("", "")
	if len(changed) > 0 {
		shown := t.functions(changed, o.Limit)
		t.paths(shown)
	}
	t.renamed()
	t.times()
	if in := r.Interrupts; in != nil && len(in.Functions) > 0 {
		t.text(sgrMoved, interruptsHeading+":")
		t.functions(in.Functions, o.Limit)
	}
	t.noise(noise)
	return writeString(w, "comparison", t.b.String())
}

type textWriter struct {
	words
	o Options
	b strings.Builder
}

// Colours of lines: ECMA-48 SGR parameters.
const (
	sgrWorse  = "31" // red
	sgrBetter = "32" // green
	sgrMoved  = "33" // yellow
	sgrNoise  = "90" // grey
)

func colorOf(f *diff.Function) string {
	switch {
	case f.Verdict == diff.Noise:
		return sgrNoise
	case f.Verdict == diff.Moved || f.Verdict == diff.ShareOnly || f.Verdict == diff.Renamed || f.Verdict == diff.Unclear:
		return sgrMoved
	case f.Verdict == diff.More || f.Verdict == diff.New:
		return sgrWorse
	}
	return sgrBetter
}

// line writes a line of at most Width columns.
func (t *textWriter) line(color, l string) {
	l = printable.Text(strings.TrimRight(l, " "))
	if t.o.Width > 0 {
		l = printable.Shorten(l, t.o.Width)
	}
	if t.o.Color && color != "" {
		l = "\x1b[" + color + "m" + l + "\x1b[0m"
	}
	t.b.WriteString(l)
	t.b.WriteByte('\n')
}

// text writes a sentence, on several lines where it does not fit.
func (t *textWriter) text(color, s string) {
	l := ""
	for _, word := range strings.Fields(s) {
		if t.o.Width > 0 && l != "" && printable.Width(l)+1+printable.Width(word) > t.o.Width {
			t.line(color, l)
			l = " "
		}
		if l != "" {
			l += " "
		}
		l += word
	}
	t.line(color, l)
}

func (t *textWriter) header() {
	t.line("", "Event: "+t.costed())
	t.line("", "Base:  "+t.side(&t.r.Base))
	t.line("", "New:   "+t.side(&t.r.New))
	if t.r.Per != diff.PerShare {
		v := "noise"
		if t.r.Total.Significant {
			v = "changed"
		}
		t.line("", fmt.Sprintf("Total: %s %s (%s)", t.change(t.r.Total.Diff), t.margin(&t.r.Total), v))
	}
	for _, s := range append([]string{t.units()}, t.rules()...) {
		t.text("", s)
	}
	if s := t.merged(); s != "" {
		t.text("", s)
	}
	for _, n := range t.r.Notes {
		t.text(sgrMoved, "Note: "+n+".")
	}
	t.line("", "")
}

// narrow is a width that has no room for all that is known of what functions cost
// with their calls: names matter more.
const narrow = 110

// row is a line of the table of functions.
type row struct {
	color    string
	cells    []string
	verdict  string
	function string
}

// rows writes lines below their headings, in columns that are as wide as what is in them needs: cells are
// the cost of the function itself on both sides, the difference and its interval, the ratio; the same
// of what it calls, or where that is narrow the difference alone; and the p-value, if it is shown.
func (t *textWriter) rows(color string, rows []row) {
	widths := []int{9, 9, 9, 9, 8, 9, 9, 9, 9, 8}
	head := []string{"self base", "new", "diff", t.level(), "new:base", "cum base", "new", "diff", t.level(), "p"}
	between := "  "
	if t.narrow() {
		widths = []int{9, 7, 8, 7, 8, 8, 8}
		head = []string{"self base", "new", "diff", t.level(), "new:base", "cum diff", "p"}
		between = " "
	}
	if !t.o.PValues {
		head = head[:len(head)-1]
	}
	rows = append([]row{{color, head, "verdict", "function"}}, rows...)
	for _, r := range rows {
		for i, cell := range r.cells {
			widths[i] = max(widths[i], printable.Width(cell))
		}
	}
	for _, r := range rows {
		var l strings.Builder
		for i, cell := range r.cells {
			fmt.Fprintf(&l, "%*s ", widths[i], cell)
		}
		t.line(r.color, fmt.Sprintf("%s %-7s%s%s", l.String(), r.verdict, between, r.function))
	}
}

// units says what stands in the columns.
func (t *textWriter) units() string {
	cost := "shares of the total"
	if t.r.Per != diff.PerShare {
		cost = t.r.Value.Unit + " " + perWords[t.r.Per]
		if _, short := printable.Scale(0, t.r.Value.Unit); strings.HasSuffix(short, "s") {
			cost = "time " + perWords[t.r.Per]
		}
	}
	return "Costs are " + cost + ", self or with what is called (cum); diff and its interval are in percent of the base's total, new:base is the ratio of what changed."
}

func (t *textWriter) narrow() bool { return t.o.Width > 0 && t.o.Width < narrow }

// functions writes rows, all but those above the limit, and returns those shown.
func (t *textWriter) functions(fns []diff.Function, limit int) []diff.Function {
	rest := 0
	if limit > 0 && len(fns) > limit {
		rest = len(fns) - limit
		fns = fns[:limit]
	}
	color := ""
	if fns[0].Verdict == diff.Noise {
		color = sgrNoise
	}
	var rows []row
	for i := range fns {
		f := &fns[i]
		name := f.Name
		if moved, ok := strings.CutPrefix(verdict(f), f.Verdict.String()+" "); ok {
			name += " (" + moved + ")"
		}
		word, _, _ := strings.Cut(f.Verdict.String(), " ")
		d := ratioOf(f)
		cells := []string{t.cost(f.Self.Base), t.cost(f.Self.New), t.change(f.Self.Diff), t.margin(&f.Self), times(d.Ratio())}
		if t.narrow() {
			cells = append(cells, t.change(f.Cum.Diff))
		} else {
			cells = append(cells, t.cost(f.Cum.Base), t.cost(f.Cum.New), t.change(f.Cum.Diff), t.margin(&f.Cum))
		}
		if t.o.PValues {
			cells = append(cells, strconv.FormatFloat(d.P, 'g', 2, 64))
		}
		rows = append(rows, row{colorOf(f), cells, word, name})
	}
	t.rows(color, rows)
	if rest > 0 {
		t.line("", fmt.Sprintf("… and %d more", rest))
	}
	t.line("", "")
	return fns
}

// ratioOf is the difference that a row's ratio is of.
func ratioOf(f *diff.Function) *diff.Difference {
	if d := f.Changed(); d.Significant {
		return d
	}
	if f.BaseSelf == 0 && f.NewSelf == 0 {
		return &f.Cum
	}
	return &f.Self
}

// paths writes the call paths of functions, and their code where it is known.
func (t *textWriter) paths(fns []diff.Function) {
	for i := range fns {
		f := &fns[i]
		code, known := t.o.Code[f.Name]
		if len(f.Paths) == 0 && !known {
			continue
		}
		title := f.Name
		if known {
			title += ", code " + code.String()
		}
		t.line(colorOf(f), title)
		for _, p := range f.Paths {
			t.path(p, strings.Join(p.Stack, ";"))
		}
		if n := f.NumPaths - len(f.Paths); n > 0 {
			t.path(f.OtherPaths, fmt.Sprintf("(%d other paths)", n))
		}
		t.line("", "")
	}
}

func (t *textWriter) path(p diff.Path, text string) {
	l := fmt.Sprintf("%9s %9s %9s  ", t.cost(p.Base), t.cost(p.New), t.change(p.New-p.Base))
	if n := t.o.Width - printable.Width(l); t.o.Width > 0 && n > 0 {
		// The end of a path tells more than its beginning.
		text = printable.ShortenStart(printable.Text(text), n)
	}
	t.line("", l+text)
}

// renamed lists the functions that have another name on the base.
func (t *textWriter) renamed() {
	lines := t.renames()
	if len(lines) == 0 {
		return
	}
	t.text("", renamed)
	for _, l := range lines {
		t.line("", "  "+l)
	}
	t.line("", "")
}

// noiseOf says why so many functions are noise.
func noiseOf(n int) string {
	if n == 1 {
		return "1 function whose difference chance explains, or that is too small"
	}
	return fmt.Sprintf("%d functions whose differences chance explains, or that are too small", n)
}

func (t *textWriter) noise(fns []diff.Function) {
	if len(fns) == 0 {
		return
	}
	few := fns[:min(len(fns), t.o.Noise)]
	text := "Noise: " + noiseOf(len(fns))
	if len(few) == 0 {
		t.text(sgrNoise, text+".")
		return
	}
	if len(fns) > 1 {
		text += fmt.Sprintf("; the %d least likely", len(few))
	}
	t.text(sgrNoise, text+":")
	t.functions(few, 0)
}
