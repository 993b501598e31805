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
	for name, want := range map[string]string{"f": "`f`", "a`b": "`` a`b ``", "a``b`": "``` a``b` ```", "a|b": "`a\\|b`"} {
		if got := codeSpan(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
