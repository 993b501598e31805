package diffreport

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"kprof/convert/diff"
)

// summaryWords say what became of functions, in the order of a summary: what is
// on one side only comes first, since a build that has it explains the rest.
var summaryWords = []struct {
	verdict diff.Verdict
	words   string
}{
	{diff.New, "only in new"},
	{diff.Gone, "only in base"},
	{diff.More, "more"},
	{diff.Less, "less"},
	{diff.Moved, "moved"},
	{diff.Renamed, "renamed"},
	{diff.ShareOnly, "share only"},
	{diff.Unclear, "unclear"},
}

// shownInSummary is how many functions of a verdict are named.
const shownInSummary = 3

// summary names in a line the functions that changed most, by what became of them;
// name writes one.
func (t words) summary(changed []diff.Function, name func(string) string) string {
	var parts []string
	for _, s := range summaryWords {
		var fns []*diff.Function
		for i := range changed {
			if changed[i].Verdict == s.verdict {
				fns = append(fns, &changed[i])
			}
		}
		if len(fns) == 0 {
			continue
		}
		var names []string
		for _, f := range fns[:min(len(fns), shownInSummary)] {
			text := name(f.Name)
			if s.verdict != diff.Moved && s.verdict != diff.Renamed {
				text += " " + t.change(f.Changed().Diff)
			}
			names = append(names, text)
		}
		text := s.words + ": " + strings.Join(names, ", ")
		text += others(len(fns) - len(names))
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// count says how many functions changed.
func (t words) count(changed []diff.Function) string {
	n, share, elsewhere, built, unclear := 0, 0, 0, 0, 0
	for i := range changed {
		switch {
		case isChange(&changed[i]):
			n++
		case changed[i].Verdict == diff.ShareOnly:
			share++
		case changed[i].Verdict == diff.Unclear:
			unclear++
		case changed[i].Built:
			built++
		default:
			elsewhere++
		}
	}
	text := fmt.Sprintf("%d functions changed", n)
	switch n {
	case 0:
		text = "nothing changed"
	case 1:
		text = "1 function changed"
	}
	if elsewhere > 0 {
		text += fmt.Sprintf(", %d moved or renamed", elsewhere)
	}
	if built > 0 {
		text += fmt.Sprintf(", %d in one build only that cost no more than chance explains", built)
	}
	if unclear > 0 {
		text += fmt.Sprintf(", %d are unclear, since other programs ran, or ran more or less", unclear)
	}
	if share > 0 {
		text += fmt.Sprintf(", and besides %d in the share only, since others cost more or less", share)
	}
	return text
}

// alike says that others are over a limit too.
func alike(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "; so does another"
	}
	return fmt.Sprintf("; so do %d others", n)
}

func others(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " and another"
	}
	return fmt.Sprintf(" and %d others", n)
}

// onlyBuilt names functions that are said to be noise, since they have few samples,
// but that only one of both builds has; empty if there are none.
func (t words) onlyBuilt(noise []diff.Function, code map[string]Code, name func(string) string) string {
	var parts []string
	for side, words := range [...]string{"only base", "only new"} {
		var fns []*diff.Function
		for i := range noise {
			c, known := code[noise[i].Name]
			has, lacks := c.Base, c.New
			if side == 1 {
				has, lacks = lacks, has
			}
			if known && has.Size > 0 && lacks.Without() {
				fns = append(fns, &noise[i])
			}
		}
		slices.SortStableFunc(fns, func(a, b *diff.Function) int {
			return cmp.Compare(math.Abs(b.Cum.Diff), math.Abs(a.Cum.Diff))
		})
		var names []string
		for _, f := range fns[:min(len(fns), shownInSummary)] {
			names = append(names, name(f.Name)+" "+t.change(f.Cum.Diff))
		}
		if len(names) == 0 {
			continue
		}
		text := words + " has " + strings.Join(names, ", ")
		text += others(len(fns) - len(names))
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not told from noise by samples, but by symbols: " + strings.Join(parts, "; ") + "."
}

// shownCodeChanges is how many functions are named of which the code differs.
const shownCodeChanges = 5

// codeChanged names the functions with samples of which the builds have other code, those
// first that say by what they call why, then those whose cost differs most; empty if there
// are none, or if nobody knows.
func (t words) codeChanged(code map[string]Code, name func(string) string) string {
	var fns []*diff.Function
	for i := range t.r.Functions {
		f := &t.r.Functions[i]
		c := code[f.Name]
		if c.Differs || c.Base.Size > 0 && c.New.Without() && !c.Base.Padded || c.New.Size > 0 && c.Base.Without() && !c.New.Padded {
			fns = append(fns, f)
		}
	}
	if len(fns) == 0 {
		return ""
	}
	// What calls a function that is only there, or changed, is why that is called.
	explains := func(f *diff.Function) bool {
		return slices.ContainsFunc(code[f.Name].Calls, func(callee string) bool { return code[callee].Base.Without() && code[callee].New.Size > 0 })
	}
	rank := func(f *diff.Function) int {
		switch {
		case f.Verdict == diff.New || f.Verdict == diff.Gone || explains(f):
			return 0
		case f.Verdict != diff.Noise:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(fns, func(a, b *diff.Function) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(math.Abs(b.Cum.Diff), math.Abs(a.Cum.Diff)))
	})
	var parts []string
	for _, f := range fns[:min(len(fns), shownCodeChanges)] {
		short := name(f.Name)
		c := code[f.Name]
		switch {
		case c.Base.Without():
			short += " (only in new)"
		case c.New.Without():
			short += " (only in base)"
		default:
			by := "other instructions"
			if n := int64(c.New.Size) - int64(c.Base.Size); n != 0 {
				by = fmt.Sprintf("%+d bytes", n)
			}
			if len(c.Calls) > 0 {
				var calls []string
				for _, callee := range c.Calls[:min(len(c.Calls), shownInSummary)] {
					calls = append(calls, name(callee))
				}
				by += ", now calls " + strings.Join(calls, ", ") + others(len(c.Calls)-len(calls))
			}
			short += " (" + by + ")"
		}
		parts = append(parts, short)
	}
	return fmt.Sprintf("Code differs in %s", strings.Join(parts, ", ")) + others(len(fns)-len(parts)) + "."
}
