// Package diffreport writes what a comparison found as text, Markdown or JSON.
package diffreport

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/printable"
	"kprof/convert/spandiff"
)

// Options say what is shown of a comparison.
type Options struct {
	// Limit is the number of changed functions shown. Default: all.
	Limit int
	// Noise is the number of functions shown whose difference is noise.
	Noise int
	// Width is the number of columns a line may have. Default: any.
	Width int
	// Color marks lines for a terminal.
	Color bool
	// NamesHint is a clause on where the functions are listed that were matched by
	// another name than their own. Default: none.
	NamesHint string
	// ProgramsHint is a clause on how to compare one program alone. Default: none.
	ProgramsHint string
	// PValues shows the p-value of each difference.
	PValues bool
	// Judgement is what came of a limit that a comparison was held against, and is told of; nil for none.
	Judgement *diff.Judgement
	// Times are the times of spans of both sides, where it is these that are compared; nil
	// else.
	Times *spandiff.Result
	// Code has what the builds themselves say of functions, by name.
	Code map[string]Code
}

// Code is the code of a function in both builds.
type Code struct {
	Base, New CodeOf
	// Differs says that both builds have other instructions, beside what linking decides, and
	// Calls are the functions that only the new build's call or jump to.
	Differs bool
	Calls   []string
}

// CodeOf is the code of a function in one build.
type CodeOf struct {
	Size  uint64 // in bytes, of all its parts; 0 if it has no code of its own
	Known bool   // whether the build was at hand
	// Padded tells that only symbols were at hand: Size reaches up to the next one.
	Padded bool
	// Searched tells that the build's debug information was looked into, Inlined
	// that it knows the function although that has no code of its own.
	Searched, Inlined bool
}

func (c CodeOf) String() string {
	switch {
	case !c.Known:
		return "not known"
	case c.Size > 0 && c.Padded:
		return fmt.Sprintf("up to %d bytes", c.Size)
	case c.Size > 0:
		return fmt.Sprintf("%d bytes", c.Size)
	case c.Inlined:
		return "inlined"
	case c.Searched:
		return "absent"
	}
	return "none of its own"
}

// Without tells that a build has no such function, for all that is known.
func (c CodeOf) Without() bool { return c.Known && c.Size == 0 && !c.Inlined }

// String says what became of the code, as far as it is known.
func (c Code) String() string {
	text := c.sizes()
	switch {
	case len(c.Calls) > 0:
		text += ", now calls " + strings.Join(c.Calls[:min(len(c.Calls), shownInSummary)], ", ") + others(max(0, len(c.Calls)-shownInSummary))
	case c.Differs && c.Base.Size == c.New.Size:
		text += ", other instructions"
	}
	return text
}

func (c Code) sizes() string {
	text := c.Base.String() + " → " + c.New.String()
	absent := func(c CodeOf) bool { return c.Searched && c.Size == 0 && !c.Inlined }
	switch {
	case absent(c.Base) && c.New.Size > 0:
		return text + " (added)"
	case c.Base.Size > 0 && absent(c.New):
		return text + " (removed)"
	case c.Base.Without() && c.New.Size > 0:
		return text + " (added, or inlined before)"
	case c.Base.Size > 0 && c.New.Without():
		return text + " (removed, or inlined now)"
	case c.Base.Size > 0 && c.New.Size > 0 && c.Base.Size != c.New.Size && c.Base.Padded == c.New.Padded:
		return fmt.Sprintf("%s (%+d)", text, int64(c.New.Size)-int64(c.Base.Size))
	}
	return text
}

// words words the parts of a comparison.
type words struct {
	r    *diff.Result
	hint string // Options.NamesHint

	times        *spandiff.Result // Options.Times
	programsHint string           // Options.ProgramsHint
	code         map[string]Code  // Options.Code
}

func wordsOf(r *diff.Result, o Options) words {
	return words{r, o.NamesHint, o.Times, o.ProgramsHint, o.Code}
}

var perWords = [...]string{
	diff.PerShare:  "share of the total",
	diff.PerSecond: "per second",
	diff.PerOps:    "per operation",
	diff.PerEvent:  "per event",
	diff.PerRun:    "per run",
}

var perUnits = [...]string{
	diff.PerShare:  "share",
	diff.PerSecond: "second",
	diff.PerOps:    "operation",
	diff.PerEvent:  "event",
	diff.PerRun:    "run",
}

// costed says what is compared.
func (t words) costed() string {
	text := fmt.Sprintf("%s, %s, %s", t.r.Event, t.r.Value.Words(), perWords[t.r.Per])
	var without []string
	switch idle := t.r.Base.Idle > 0 || t.r.New.Idle > 0; {
	case idle && t.r.Program:
		without = []string{"interrupts"}
	case idle:
		without = []string{"idle CPUs"}
	}
	if t.r.Interrupts != nil {
		without = append(without, "interrupts")
	}
	if len(without) > 0 {
		text += ", without " + strings.Join(without, " and ")
	}
	return text
}

func (t words) side(s *diff.Side) string {
	text, worth := printable.Count(s.Counted, "sample"), int64(math.Round(s.Samples))
	switch {
	case s.Counted == 0:
		text = "worth about " + printable.Count(worth, "sample")
	case math.Abs(s.Samples-float64(s.Counted)) > 0.1*float64(s.Counted):
		text += fmt.Sprintf(" (worth %d equal ones)", worth)
	}
	if t.r.Measured() {
		text = "measured"
	}
	if s.CPU > 0 {
		text += ", " + seconds(s.CPU) + " CPU"
	}
	if s.Seconds > 0 {
		text += " in " + seconds(s.Seconds)
	}
	if t.r.Per != diff.PerShare {
		text += ", " + t.cost(s.Total) + " " + perWords[t.r.Per]
	}
	if n := len(s.Runs); n > 1 {
		text += fmt.Sprintf(", %d runs", n)
	}
	return text + ": " + strings.Join(s.Runs, " ")
}

// level is the level of the intervals in percent.
func (t words) level() string {
	return strconv.FormatFloat(math.Round(1e4*(1-t.r.Alpha))/100, 'f', -1, 64) + "%"
}

func (t words) rules() []string {
	atLeast := ""
	if t.r.MinEffect > 0 {
		atLeast = fmt.Sprintf(", and at least %s of the base's total", percent(t.r.MinEffect))
	}
	builds := ""
	if t.r.Builds != nil {
		builds = ", or only one build has it"
	}
	return []string{
		fmt.Sprintf("Intervals of %s: %s.", t.level(), t.r.Method),
		fmt.Sprintf("What changed is not chance (p at most %g for all %d differences together, by Holm%s)%s.", t.r.Alpha, t.r.Tests, builds, atLeast),
	}
}

// merged says how many functions were matched by another name than their own, with
// an example that both sides have by different names.
func (t words) merged() string {
	if len(t.r.Merged) == 0 {
		return ""
	}
	text := "Matched by names without what differs between builds: " + printable.Count(len(t.r.Merged), "function")
	for _, m := range t.r.Merged {
		var base, new string
		for _, o := range m.Originals {
			if o.Base && !o.New {
				base = o.Name
			} else if o.New && !o.Base {
				new = o.Name
			}
		}
		if base != "" && new != "" {
			text += fmt.Sprintf(", such as %s (base %s, new %s)", m.Name, base, new)
			break
		}
	}
	if t.hint != "" {
		text += "; " + t.hint
	}
	return text + "."
}

// cost writes a cost: a share, or a value per what the heading says.
func (t words) cost(x float64) string {
	if t.r.Per == diff.PerShare {
		return percent(x)
	}
	x, short := printable.Scale(x, t.r.Value.Unit)
	return printable.Digits(x, 4) + short
}

// change writes a difference as a share of the base's total.
func (t words) change(x float64) string {
	s := percent(x / t.r.Base.Total)
	if !strings.HasPrefix(s, "-") {
		s = "+" + s
	}
	return s
}

// margin writes half of an interval as a share of the base's total.
func (t words) margin(d *diff.Difference) string {
	if math.IsInf(d.High, 1) {
		return "not known"
	}
	return "±" + percent((d.High-d.Low)/2/t.r.Base.Total)
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 2, 64) + "%" }

// changed returns the functions that changed, and the others.
func (t words) changed() (changed, noise []diff.Function) {
	n := 0
	for n < len(t.r.Functions) && t.r.Functions[n].Verdict != diff.Noise {
		n++
	}
	return t.r.Functions[:n], t.r.Functions[n:]
}

// renames are the functions that have another name on the base, as lines of a file of
// aliases.
func (t words) renames() (lines []string) {
	for i := range t.r.Functions {
		if f := &t.r.Functions[i]; f.Pair != "" {
			lines = append(lines, f.Pair+" => "+f.Name)
		}
	}
	return lines
}

// renamed says what the lines of renames are.
const renamed = "Functions that the new side has by another name, as a file of aliases has them:"

// shownWith is how many functions are named that cost moved from or to.
const shownWith = 3

// verdict is a function's, with what its cost moved from or to.
func verdict(f *diff.Function) string {
	if f.Pair != "" && f.Rewritten {
		return fmt.Sprintf("%s in place of %s", f.Verdict, f.Pair)
	}
	if f.Pair != "" {
		return fmt.Sprintf("%s from %s", f.Verdict, f.Pair)
	}
	if f.Within != "" {
		return fmt.Sprintf("%s within %s", f.Verdict, f.Within)
	}
	if f.Around != "" {
		return fmt.Sprintf("%s around %s", f.Verdict, f.Around)
	}
	if len(f.With) == 0 {
		return f.Verdict.String()
	}
	way := "to"
	if f.Self.Diff > 0 {
		way = "from"
	}
	with := f.With
	if len(with) > shownWith {
		with = append(slices.Clone(with[:shownWith]), "…")
	}
	return fmt.Sprintf("%s %s %s", f.Verdict, way, strings.Join(with, ", "))
}

// nothing says that nothing has changed.
const nothing = "Nothing changed: no difference is more than chance explains and large enough."

// writeString is io.WriteString with an error that says what was written.
func writeString(w io.Writer, what, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
