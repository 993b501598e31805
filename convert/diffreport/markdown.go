package diffreport

import (
	"fmt"
	"io"
	"math"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/printable"
)

// MaxMarkdown is how many bytes Markdown writes at most: comments at GitHub have 65,536
// characters at most.
const MaxMarkdown = 65535

// amounts are how much of a comparison Markdown shows, the first that fits: of how many
// functions, with how many call paths, and how long names, call paths and sentences may be.
var amounts = []amount{
	{functions: math.MaxInt, paths: math.MaxInt, noise: true, name: 1000, path: 4000, text: 4000},
	{functions: math.MaxInt, paths: 10, noise: true, name: 300, path: 800, text: 2000},
	{functions: 100, paths: 5, name: 200, path: 400, text: 1000},
	{functions: 40, name: 120, path: 120, text: 500},
	{functions: 10, name: 60, path: 60, text: 200},
}

type amount struct {
	functions, paths int
	noise            bool
	name, path, text int // characters
}

// Markdown writes a comparison as GitHub's Markdown, for a pull request: a
// heading, a table of what changed, and call paths and noise folded away. It has MaxMarkdown
// bytes at most, and says so if that cut something.
func Markdown(w io.Writer, r *diff.Result, o Options) error {
	var text string
	for i, a := range amounts {
		m := markdownWriter{words: wordsOf(r, o), o: o, amount: a}
		m.write()
		if i > 0 {
			m.linef("<sub>Cut to what a comment may have; as text or JSON the comparison has all of it.</sub>")
		}
		if text = m.b.String(); len(text) <= MaxMarkdown {
			break
		}
	}
	if len(text) > MaxMarkdown { // of many notes, or lists that nothing else cuts
		text = text[:strings.LastIndexByte(text[:MaxMarkdown-len(cutMark)], '\n')+1] + cutMark
	}
	return writeString(w, "comparison", text)
}

const cutMark = "\n</details>\n\n… cut\n"

func (m *markdownWriter) write() {
	r, o := m.r, m.o
	changed, noise := m.changed()
	only := m.onlyBuilt(noise, o.Code, m.span)
	heading := m.count(changed)
	switch {
	case r.Outcome == diff.Inconclusive:
		heading = r.Outcome.String()
		if len(r.Programs) > 0 {
			heading = "cannot tell, other programs ran"
		}
	case len(changed) == 0 && only != "":
		heading = "by samples " + heading
	}
	m.linef("### kprof diff: %s", heading)
	m.linef("")
	m.linef("**%s.**", m.verdict(changed, m.span))
	if o.Judgement != nil {
		m.linef("**%s.**", m.text(Judgement(r, o.Judgement)))
	}
	m.linef("")
	if len(changed) > 0 {
		m.linef("- %s", m.summary(changed, m.span))
	}
	m.linef("- Event: %s", m.text(m.costed()))
	m.linef("- Base: %s", m.text(m.side(&r.Base)))
	m.linef("- New: %s", m.text(m.side(&r.New)))
	if r.Per != diff.PerShare {
		m.linef("- Total: %s %s", m.change(r.Total.Diff), m.margin(&r.Total))
	}
	for _, n := range r.Notes {
		m.linef("- **Note:** %s", m.text(n))
	}
	for _, s := range []string{only, m.codeChanged(m.o.Code, m.span), m.suspects(m.span), m.suspicions(noise, m.span)} {
		if s != "" {
			m.linef("- %s", s)
		}
	}
	m.linef("")
	if len(changed) > 0 {
		shown := changed
		if o.Limit > 0 && len(shown) > o.Limit {
			shown = shown[:o.Limit]
		}
		shown = shown[:min(len(shown), m.amount.functions)]
		m.table(shown)
		if n := len(changed) - len(shown); n > 0 {
			m.linef("… and %d more", n)
			m.linef("")
		}
		m.paths(shown)
	}
	m.renamed()
	m.times()
	if in := r.Interrupts; in != nil && len(in.Functions) > 0 {
		m.linef("<details><summary>%s</summary>", interruptsHeading)
		m.linef("")
		shown := in.Functions[:min(len(in.Functions), m.amount.functions)]
		if o.Limit > 0 && len(shown) > o.Limit {
			shown = shown[:o.Limit]
		}
		m.table(shown)
		m.linef("</details>")
		m.linef("")
	}
	if m.amount.noise {
		m.noise(noise)
	}
	for _, s := range append(m.rules(), m.merged()) {
		if s != "" {
			m.linef("<sub>%s</sub>", m.text(s))
		}
	}
}

type markdownWriter struct {
	words
	amount amount
	o      Options
	b      strings.Builder
}

// span quotes a name, and text makes a sentence mean nothing to Markdown, both cut.
func (m *markdownWriter) span(s string) string {
	return codeSpan(printable.Shorten(s, m.amount.name))
}

// cell is span in a table, where "|" must be escaped even there, and nowhere else.
func (m *markdownWriter) cell(s string) string { return strings.ReplaceAll(m.span(s), "|", "\\|") }

func (m *markdownWriter) text(s string) string {
	return markdown(printable.Shorten(s, m.amount.text))
}

func (m *markdownWriter) linef(format string, args ...any) {
	fmt.Fprintf(&m.b, format+"\n", args...)
}

func (m *markdownWriter) table(fns []diff.Function) {
	m.linef("| function | verdict | new:base | self base | self new | self diff | cum base | cum new | cum diff |")
	m.linef("|:--|:--|--:|--:|--:|--:|--:|--:|--:|")
	for i := range fns {
		f := &fns[i]
		m.linef("| %s | %s | %s | %s | %s | %s %s | %s | %s | %s %s |", m.cell(f.Name), m.text(verdict(f)), times(ratioOf(f).Ratio()),
			m.cost(f.Self.Base), m.cost(f.Self.New), m.change(f.Self.Diff), m.margin(&f.Self),
			m.cost(f.Cum.Base), m.cost(f.Cum.New), m.change(f.Cum.Diff), m.margin(&f.Cum))
	}
	m.linef("")
}

func (m *markdownWriter) paths(fns []diff.Function) {
	fns = fns[:min(len(fns), m.amount.paths)]
	if len(fns) == 0 {
		return
	}
	m.linef("<details><summary>Call paths</summary>")
	m.linef("")
	for i := range fns {
		f := &fns[i]
		code, known := m.o.Code[f.Name]
		if len(f.Paths) == 0 && !known {
			continue
		}
		title := m.span(f.Name)
		if known {
			title += ", code " + m.text(code.String())
		}
		m.linef("%s", title)
		m.linef("")
		for _, p := range f.Paths {
			m.linef("- %s → %s (%s) %s", m.cost(p.Base), m.cost(p.New), m.change(p.New-p.Base), codeSpan(lastOf(strings.Join(p.Stack, ";"), m.amount.path)))
		}
		if n, p := f.NumPaths-len(f.Paths), f.OtherPaths; n > 0 {
			m.linef("- %s → %s (%s) in %d other paths", m.cost(p.Base), m.cost(p.New), m.change(p.New-p.Base), n)
		}
		m.linef("")
	}
	m.linef("</details>")
	m.linef("")
}

// renamed lists the functions that have another name on the base.
func (m *markdownWriter) renamed() {
	lines := m.renames()
	if len(lines) == 0 {
		return
	}
	m.linef("<details><summary>%s renamed</summary>", printable.Count(len(lines), "function"))
	m.linef("")
	m.linef("%s", renamed)
	m.linef("")
	for _, l := range lines[:min(len(lines), m.amount.functions)] {
		m.linef("- %s", m.span(l))
	}
	m.linef("")
	m.linef("</details>")
	m.linef("")
}

func (m *markdownWriter) noise(fns []diff.Function) {
	if len(fns) == 0 {
		return
	}
	few := fns[:min(len(fns), m.o.Noise)]
	m.linef("<details><summary>Noise: %s</summary>", noiseOf(len(fns)))
	m.linef("")
	if len(few) > 0 {
		m.table(few)
	}
	m.linef("</details>")
	m.linef("")
}

// markdown makes text that means nothing to Markdown.
var markdownEscapes = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "<", "&lt;", ">", "&gt;", "[", "\\[", "]", "\\]", "&", "&amp;")

func markdown(s string) string { return markdownEscapes.Replace(printable.Text(s)) }

// codeSpan quotes a name.
func codeSpan(s string) string {
	s = printable.Text(s)
	if !strings.Contains(s, "`") {
		return "`" + s + "`"
	}
	// What quotes is longer than any in it.
	fence := "``"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + " " + s + " " + fence
}

// lastOf cuts a call path, the end of which tells more than its beginning.
func lastOf(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return "…" + string(r[len(r)-n+1:])
	}
	return s
}
