package page

import (
	"fmt"
	"strings"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
)

// TestHostileTexts: what units, labels and their values are called is no name of JavaScript's,
// and no other flag's; commands and texts that are copied have nothing that a terminal obeys.
func TestHostileTexts(t *testing.T) {
	keys := []string{"constructor", "__proto__", "toString", "time", "event", "focus", "comm"}
	s := stacks.New(stacks.Event{Name: "__proto__", Values: []stacks.ValueType{{Type: "constructor", Unit: "constructor"}, {Type: "toString", Unit: "__proto__"}}})
	loc := s.AddLocation(stacks.NoMapping, 0, stacks.KindUser)
	s.SetLines(loc, stacks.Line{Function: s.AddFunction(stacks.Function{Name: "a\x03\nb"})})
	for i := range 3 {
		var labels []stacks.Label
		for _, k := range keys {
			labels = append(labels, stacks.Label{Key: k, Str: []string{"constructor", "x\x03curl evil\n", "plain"}[i]})
		}
		s.Add(0, s.Intern([]uint32{loc}), s.InternLabels(labels), 1<<i, 10<<i)
	}
	flags := map[string]string{"time": "--time", "event": "--event", "focus": "--focus"}
	p := openPage(t, pageOf(t, s, Options{Select: Select{Command: []string{"kprof", "report"}, Inputs: []string{"x"}, Flags: flags, Labels: map[string]string{"comm": "--comm"}}}), browsertest.View{})
	equal(t, "total", total(p), 7)
	for k, key := range keys {
		for v, want := range []string{"kprof report --comm constructor x", "", "kprof report --comm plain x"} {
			if key != "comm" {
				want = ""
			}
			p.Do(fmt.Sprintf("kprof.set({filter: new Map([[%d, new Set([%d])]]), group: %[1]d})", k, v))
			settle(p)
			equal(t, key, total(p), 1<<v)
			equal(t, key+": command", browsertest.Eval[string](p, "kprof.command()"), want)
		}
	}
	p.Do("kprof.set({filter: new Map(), column: 1, group: -1}); window.copied = []; kprof.copy = (text) => copied.push(text)")
	for _, view := range []string{"callers", "functions", "tree", "flame"} {
		p.Do(fmt.Sprintf("kprof.set({view: %q})", view))
		settle(p)
	}
	p.Do("kprof.flame.canvas.focus()")
	p.Keys(browsertest.Up + browsertest.Up + "yt")
	equal(t, "copied", browsertest.Eval[[]string](p, "copied"), []string{"a\uFFFD\uFFFDb", "a\uFFFD\uFFFDb"})
	p.Do("kprof.set({group: 6}); kprof.flame.canvas.focus()")
	settle(p)
	p.Keys(browsertest.Up + browsertest.Up + browsertest.Right + browsertest.Right + "y")
	if c := browsertest.Eval[[]string](p, "copied"); strings.ContainsAny(strings.Join(c, ""), "\x03\n") || len(c) != 3 {
		t.Errorf("copied %q", c)
	}
	equal(t, "errors", p.Errors(), nil)
}
