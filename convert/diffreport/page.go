package diffreport

import (
	"kprof/convert/diff"
	"kprof/convert/page"
	"kprof/convert/printable"
)

// Page is what a page shows of a comparison beside its pictures: the verdict, and the
// functions that changed with their intervals.
func Page(r *diff.Result, o Options) page.Compare {
	t := wordsOf(r, o)
	changed, _ := t.changed()
	p := page.Compare{
		Verdict: t.verdict(changed, printable.Text) + ".",
		Columns: []string{"new:base", "self base", "self new", "self diff", t.level(), "cum base", "cum new", "cum diff", t.level()},
		Rows:    []page.CompareRow{},
	}
	if o.Judgement != nil {
		p.Verdict += " " + Judgement(r, o.Judgement) + "."
	}
	if o.Limit > 0 && len(changed) > o.Limit {
		changed = changed[:o.Limit]
	}
	for i := range changed {
		f, text := &changed[i], ""
		if code, known := o.Code[f.Name]; known && (code.Base.Known || code.New.Known) {
			text = code.String()
		}
		p.Rows = append(p.Rows, page.CompareRow{Function: f.Name, Verdict: verdict(f), Code: text, Cells: []string{
			times(ratioOf(f).Ratio()),
			t.cost(f.Self.Base), t.cost(f.Self.New), t.change(f.Self.Diff), t.margin(&f.Self),
			t.cost(f.Cum.Base), t.cost(f.Cum.New), t.change(f.Cum.Diff), t.margin(&f.Cum),
		}})
	}
	return p
}
