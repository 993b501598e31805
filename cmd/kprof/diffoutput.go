package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"kprof/convert/compare"
	"kprof/convert/diff"
	"kprof/convert/diffreport"
	"kprof/convert/export"
	"kprof/convert/flamegraph"
	"kprof/convert/folded"
	"kprof/convert/page"
	"kprof/convert/pprof"
	"kprof/convert/printable"
)

// write writes the comparison.
func (f *diffFlags) write(out output, r *diff.Result, c *compare.Comparison, j *diff.Judgement) error {
	return out.create(func(w io.Writer) error {
		bw := bufio.NewWriterSize(w, 1<<20)
		if err := f.render(bw, out, r, c, j); err != nil {
			return err
		}
		return bw.Flush()
	})
}

// shownNoise is how many functions are shown that did not change.
const shownNoise = 10

func (f *diffFlags) render(w io.Writer, out output, r *diff.Result, c *compare.Comparison, j *diff.Judgement) error {
	// Values are written as they are, unless it was said what they are per, or the sides count
	// different things.
	scale, sets := 1.0, r.Sets
	if f.per != "" || !r.OneUnit() {
		scale, sets = r.Scale(), r.Means
	}
	if f.per == "" && !r.OneUnit() && (out.format == export.Folded || out.format == export.Pprof) {
		notef("%s: the base's values are multiplied so that both sides have the same total, since they have different units", out.name)
	}
	switch out.format {
	case export.Folded:
		base, new := sets()
		return folded.WriteDiff(w, base, new, folded.DiffOptions{Scale: scale, PlainNames: !c.OfPerf()})
	case export.Pprof:
		base, new := sets()
		return pprof.Write(w, diff.Negated(base, new, scale), pprof.WriteOptions{})
	case export.SVG:
		base, new := r.Means()
		o := flamegraph.DiffOptions{BaseScale: r.Scale()}
		o.Title = fmt.Sprintf("%s → %s", strings.Join(r.Base.Runs, " "), strings.Join(r.New.Runs, " "))
		o.Notes = r.Notes
		cut, err := flamegraph.WriteDiff(w, base, new, o)
		if err == nil {
			sayCut(out.name, cut, "")
		}
		return err
	}
	o := diffreport.Options{Limit: f.limit, Noise: shownNoise, NamesHint: namesHint, ProgramsHint: "--comm NAME compares one program", PValues: f.pValues, Judgement: j, Times: c.Times}
	if out.format == export.HTML {
		po, err := comparedPage(r, c, o)
		if err != nil {
			return err
		}
		return page.Write(w, r.Both(), po)
	}
	var err error
	if o.Code, err = c.Code(r, f.limit); err != nil {
		return err
	}
	switch out.format {
	case formatJSON:
		return diffreport.JSON(w, r, o)
	case formatMarkdown:
		return diffreport.Markdown(w, r, o)
	}
	if out.name == "-" && isTerminal(os.Stdout) {
		o.Color = wantsColors()
		if !f.wide {
			o.Width = terminalWidth(os.Stdout)
		}
	}
	return diffreport.Text(w, r, o)
}

// explainNames writes the rules and, of a comparison, the names that they changed.
func explainNames(w io.Writer, r *diff.Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "Rules, in this order; --exact-names applies none, --aliases FILE adds to them:")
	for _, rule := range diff.Rules() {
		fmt.Fprintf(b, "\n%s: %s\n", rule.Name, rule.Text)
		for _, e := range rule.Examples {
			fmt.Fprintf(b, "    %s\n", e)
		}
	}
	if r != nil {
		fmt.Fprintf(b, "\nNames that were changed, and which side has them: %s\n", printable.Count(len(r.Merged), "function"))
		for _, m := range r.Merged {
			fmt.Fprintf(b, "\n%s\n", printable.Text(m.Name))
			for _, o := range m.Originals {
				side := "both"
				if !o.New {
					side = "base"
				} else if !o.Base {
					side = "new"
				}
				rules := ""
				for _, rule := range o.Rules {
					rules += " " + rule.String()
				}
				fmt.Fprintf(b, "    %-4s  %s%s\n", side, printable.Text(o.Name), rules)
			}
		}
	}
	return b.Flush()
}
