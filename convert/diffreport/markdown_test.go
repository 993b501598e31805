package diffreport

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"kprof/convert/diff"
)

// TestMarkdownLimit: whatever names are like, and however many, a comment can hold what is
// written; its rows are whole, what is important is there, and that something was cut is told.
func TestMarkdownLimit(t *testing.T) {
	for _, test := range []struct {
		name              string
		functions, length int
		fill              string
		notes             int
		cut               bool
	}{
		{"small", 20, 10, "x", 0, false},
		{"long names", 60, 5000, "abc", 0, true},
		{"many", 3000, 30, "f", 0, true},
		{"escapes", 1200, 700, "&<`|*_[]\\", 0, true},
		{"backticks", 50, 2000, "`", 0, true},
		{"wide", 800, 900, "漢字", 0, true},
		{"notes", 10, 10, "x", 2000, true},
	} {
		var base, new strings.Builder
		for i := range test.functions {
			name := fmt.Sprint(i, strings.ReplaceAll(strings.Repeat(test.fill, test.length/len(test.fill)), ";", ","))
			fmt.Fprintf(&base, "main;caller;%s %d\n", name, 100_000-i)
			fmt.Fprintf(&new, "main;caller;%s %d\n", name, 100_000-i/2)
		}
		r := compareFolded(t, base.String(), new.String())
		// The first quarter has changed, more than a comparison finds.
		r.Outcome = diff.Changed
		for i := range r.Functions {
			if f := &r.Functions[i]; 4*i < len(r.Functions) {
				f.Verdict, f.Self.Significant = diff.More, true
				f.Paths = []diff.Path{{Stack: []string{"main", "caller", f.Name}}}
			}
		}
		for i := range test.notes {
			r.Notes = append(r.Notes, fmt.Sprint("note ", i, strings.Repeat(" and more", 30)))
		}
		var b bytes.Buffer
		if err := Markdown(&b, r, Options{Noise: 10}); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if len(text) > MaxMarkdown || !strings.HasPrefix(text, "### kprof diff: ") || !strings.Contains(text, "\n**Changed: ") || strings.Contains(strings.ToLower(text), "\n… cut") != (test.notes > 0) {
			t.Errorf("%s: %d bytes:\n%.500s", test.name, len(text), text)
		}
		if cut := strings.Contains(text, "Cut to what a comment may have") || strings.Contains(text, "… cut\n"); cut != test.cut {
			t.Errorf("%s: cut %v", test.name, cut)
		}
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") && test.notes == 0 {
			t.Errorf("%s: what is folded away has no end", test.name)
		}
	}
}

// TestCodeSpan: nothing in a name ends what quotes it.
func TestCodeSpan(t *testing.T) {
	for name, want := range map[string]string{"f": "`f`", "a`b": "`` a`b ``", "a``b`": "``` a``b` ```", "a|b": "`a|b`"} {
		if got := codeSpan(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// TestMarkdownParts: the table, what is folded away, and what is left out, line by line; in tables "|" is
// escaped, and elsewhere is what it is.
func TestMarkdownParts(t *testing.T) {
	r := compareFolded(t, diffBase, diffNew)
	f := &r.Functions[0] // f|g
	f.NumPaths, f.OtherPaths = 4, diff.Path{Base: 0.01, New: 0.03}
	r.Functions[1].Pair = "old|h"
	code := map[string]Code{"f|g": {Base: CodeOf{Known: true, Size: 16}, New: CodeOf{Known: true, Size: 64}, Differs: true}}
	write := func(o Options) string {
		var b bytes.Buffer
		if err := Markdown(&b, r, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	all := write(Options{Noise: 10, Code: code})
	for _, want := range []string{
		"\n- more: `f|g` +20.00%; share only: `h` -20.00%\n",
		"\n| `f\\|g` | more | ×3.00 | 10.00% | 30.00% | +20.00% ±",
		"\n\n<details><summary>Call paths</summary>\n\n`f|g`, code 16 bytes → 64 bytes (+48)\n\n- 10.00% → 30.00% (+20.00%) `main;work;f|g`\n- 1.00% → 3.00% (+2.00%) in 3 other paths\n\n",
		"\n<details><summary>1 function renamed</summary>\n\n" + renamed + "\n\n- `old|h => h`\n\n</details>\n\n",
		"\n<details><summary>Noise: 4 functions",
		"\n<sub>Intervals of 95%: ", "\n<sub>What changed is not chance ",
		"\n- Code differs in `f|g` (+48 bytes).\n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if strings.Contains(all, "more\n\n") || strings.Contains(all, "- Total:") {
		t.Errorf("something is left out, or a total of shares:\n%s", all)
	}
	one := write(Options{Limit: 1})
	if !strings.Contains(one, "\n… and 1 more\n\n") || strings.Contains(one, "| `h` |") || !strings.Contains(one, "| `f\\|g` |") {
		t.Errorf("a limit of 1:\n%s", one)
	}
	if two := write(Options{Limit: 2}); strings.Contains(two, "… and") || !strings.Contains(two, "| `h` |") {
		t.Errorf("a limit of 2:\n%s", two)
	}
	r.Per = diff.PerRun
	r.Total = diff.Difference{Diff: 0.1, Low: 0.05, High: 0.15}
	if per := write(Options{}); !strings.Contains(per, "\n- Total: +10.00% ±5.00%\n") {
		t.Errorf("per run:\n%s", per)
	}
	// The end of a long path tells more.
	for n, want := range map[int]string{7: "main;fg", 6: "…in;fg", 2: "…g"} {
		if got := lastOf("main;fg", n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
