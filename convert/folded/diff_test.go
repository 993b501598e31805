package folded

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/diff"
	"kprof/convert/stacks/stackstest"
)

// TestDiffFolded has what difffolded.pl prints of these, with names as they are
// matched.
func TestDiffFolded(t *testing.T) {
	var runs [2][]diff.Run
	for side, text := range [...]string{"main;work;f|g 1000\nmain;work;h.isra.0 8900\nmain;idle 100\n", "main;work;f|g 3000\nmain;work;h 6900\nmain;idle 90\nmain;late 10\n"} {
		s, err := Read(strings.NewReader(text), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		runs[side] = []diff.Run{{Set: s}}
	}
	r, err := diff.Compare(runs[0], runs[1], diff.Defaults)
	if err != nil {
		t.Fatal(err)
	}
	base, new := r.Sets()
	for scale, want := range map[float64]string{
		1: "main;idle 100 90\nmain;late 0 10\nmain;work;f|g 1000 3000\nmain;work;h 8900 6900\n",
		2: "main;idle 200 90\nmain;late 0 10\nmain;work;f|g 2000 3000\nmain;work;h 17800 6900\n",
	} {
		var b bytes.Buffer
		if err := WriteDiff(&b, base, new, DiffOptions{Scale: scale}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Error(d)
		}
	}
	var b bytes.Buffer
	if err := WriteDiff(&b, base, new, DiffOptions{Scale: 0.0005}); err != nil { // 0.05, 0.5, 4.45: 5 in all
		t.Fatal(err)
	}
	if d := cmp.Diff("main;idle 0 90\nmain;late 0 10\nmain;work;f|g 1 3000\nmain;work;h 4 6900\n", b.String()); d != "" {
		t.Error(d)
	}
	failed := &stackstest.Failing{}
	if err := WriteDiff(failed, base, new, DiffOptions{Scale: 1}); err == nil {
		t.Error("no error of a writer that fails")
	}
}
