package page

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/folded"
	"kprof/convert/stacks"
)

// TestSave: what is saved is what is selected: folded stacks add up to it, the picture is
// well-formed and has a box for each that can be seen.
func TestSave(t *testing.T) {
	s := pageSet()
	p := openHTML(t, s, browsertest.View{})
	p.Do("kprof.set({group: -1, steps: [{op: 'focus', text: '^do_syscall_64$'}]})")
	settle(p)
	want := sumOf(s, 0, 1, func(_ stacks.Sample, path []string) bool { return slices.Contains(path, "do_syscall_64") })
	set, err := folded.Read(strings.NewReader(browsertest.Eval[string](p, "kprof.foldedText(kprof.p, kprof.sums())")), folded.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "folded", set.Totals(0)[0], want)
	d := xml.NewDecoder(strings.NewReader(browsertest.Eval[string](p, "kprof.svgText(kprof, kprof.flame)")))
	boxes := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			boxes++
		}
	}
	if boxes < 50 {
		t.Errorf("%d boxes", boxes)
	}
	p.ClickOn("#save")
	equal(t, "choices", browsertest.Eval[int](p, "document.querySelectorAll('#menu button').length"), 3)
	p.Keys("f")
	equal(t, "errors", p.Errors(), nil)
}
