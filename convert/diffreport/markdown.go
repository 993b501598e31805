package diffreport

import (
	"fmt"
	"io"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/printable"
)

// Markdown writes a comparison as GitHub's Markdown, for a pull request: a
// heading, a table of what changed, and call paths and noise folded away.
func Markdown(w io.Writer, r *diff.Result, o Options) error {
	m := markdownWriter{words: words{r, o.NamesHint, o.Times}, o: o}
	changed, noise := m.changed()
	only := m.onlyBuilt(noise, o.Code, codeSpan)
	heading := m.count(changed)
	switch {
	case r.Outcome == diff.Inconclusive:
		heading = r.Outcome.String()
	case len(changed) == 0 && only != "":
		heading = "by samples " + heading
	}
	m.linef("### kprof diff: %s", heading)
	m.linef("")
	m.linef("**%s.**", m.verdict(changed, codeSpan))
	if o.Judgement != nil {
		m.linef("**%s.**", markdown(Judgement(r, o.Judgement)))
	}
	m.linef("")
	if len(changed) > 0 {
		m.linef("- %s", m.summary(changed, codeSpan))
	}
	m.linef("- Event: %s", markdown(m.costed()))
	m.linef("- Base: %s", markdown(m.side(&r.Base)))
	m.linef("- New: %s", markdown(m.side(&r.New)))
	if r.Per != diff.PerShare {
		m.linef("- Total: %s %s", m.change(r.Total.Diff), m.margin(&r.Total))
	}
	for _, n := range r.Notes {
		m.linef("- **Note:** %s", markdown(n))
	}
	for _, s := range []string{only, m.codeChanged(m.o.Code, codeSpan), m.suspects(codeSpan), m.suspicions(noise, codeSpan)} {
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
		m.table(shown)
		if n := len(changed) - len(shown); n > 0 {
			m.linef("… and %d more", n)
			m.linef("")
		}
		m.paths(shown)
	}
	m.renamed()
	m.times()
	m.noise(noise)
	for _, s := range append(m.rules(), m.merged()) {
		if s != "" {
			m.linef("<sub>%s</sub>", markdown(s))
		}
	}
	return writeString(w, "comparison", m.b.String())
}

type markdownWriter struct {
	words
	o Options
	b strings.Builder
}

func (m *markdownWriter) linef(format string, args ...any) {
	fmt.Fprintf(&m.b, format+"\n", args...)
}

func (m *markdownWriter) table(fns []diff.Function) {
	m.linef("| function | verdict | new:base | self base | self new | self diff | cum base | cum new | cum diff |")
	m.linef("|:--|:--|--:|--:|--:|--:|--:|--:|--:|")
	for i := range fns {
		f := &fns[i]
		m.linef("| %s | %s | %s | %s | %s | %s %s | %s | %s | %s %s |", codeSpan(f.Name), markdown(verdict(f)), times(ratioOf(f).Ratio()),
			m.cost(f.Self.Base), m.cost(f.Self.New), m.change(f.Self.Diff), m.margin(&f.Self),
			m.cost(f.Cum.Base), m.cost(f.Cum.New), m.change(f.Cum.Diff), m.margin(&f.Cum))
	}
	m.linef("")
}

func (m *markdownWriter) paths(fns []diff.Function) {
	m.linef("<details><summary>Call paths</summary>")
	m.linef("")
	for i := range fns {
		f := &fns[i]
		code, known := m.o.Code[f.Name]
		if len(f.Paths) == 0 && !known {
			continue
		}
		title := codeSpan(f.Name)
		if known {
			title += ", code " + code.String()
		}
		m.linef("%s", title)
		m.linef("")
		for _, p := range f.Paths {
			m.linef("- %s → %s (%s) %s", m.cost(p.Base), m.cost(p.New), m.change(p.New-p.Base), codeSpan(strings.Join(p.Stack, ";")))
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
	m.linef("<details><summary>%d functions renamed</summary>", len(lines))
	m.linef("")
	m.linef("%s", renamed)
	m.linef("")
	for _, l := range lines {
		m.linef("- %s", codeSpan(l))
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
	m.linef("<details><summary>Noise: %d functions whose differences chance explains, or that are too small</summary>", len(fns))
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

// codeSpan quotes a name. In a table "|" must be escaped even there.
func codeSpan(s string) string {
	s = strings.ReplaceAll(printable.Text(s), "|", "\\|")
	if !strings.Contains(s, "`") {
		return "`" + s + "`"
	}
	return "`` " + s + " ``"
}
