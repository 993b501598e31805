package diffreport

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/printable"
)

// verdict is the answer in one line: what was compared, the totals, the cause and its
// callers, and what could have been told.
func (t words) verdict(changed []diff.Function, name func(string) string) string {
	parts := []string{t.answer(changed, name)}
	for _, s := range []string{t.interrupts(name), t.builds(), t.totals(), t.resolution()} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "; ")
}

// answer is the outcome with its cause.
func (t words) answer(changed []diff.Function, name func(string) string) string {
	text := [...]string{diff.Unchanged: "Not changed", diff.Changed: "Changed", diff.Inconclusive: "Inconclusive"}[t.r.Outcome]
	if t.r.Outcome == diff.Inconclusive {
		if math.IsInf(t.r.Resolution, 1) {
			return text + ": " + t.untold()
		}
		if len(t.r.Programs) > 0 {
			return t.programs(name)
		}
		if t.r.Measured() {
			return text + ": how long calls took differs too much from run to run"
		}
		if !t.r.TooCoarse() {
			return text + ": interrupts differ too much"
		}
		if min(t.r.Base.Samples, t.r.New.Samples) >= manySamples {
			return text + ": what ran differs too much over the time of a run"
		}
		return text + ": too few samples"
	}
	var causes []string
	n := 0
	// Those that changed only with what they call are no causes, if there are others.
	itself := slices.ContainsFunc(changed, changedItself)
	for i := range changed {
		f := &changed[i]
		if !isChange(f) || itself && !changedItself(*f) {
			continue
		}
		if n++; n <= shownInSummary {
			causes = append(causes, t.cause(f, name))
		}
	}
	if more := n - min(n, shownInSummary); more > 0 {
		causes[len(causes)-1] += others(more)
	}
	causes = append(causes, t.timesChanged(name)...)
	if t.r.PerRun.Significant {
		causes = append(causes, "the total "+times(t.r.PerRun.Ratio()))
	}
	if t.r.Total.Significant && t.r.Per != diff.PerShare && !t.r.Measured() {
		causes = append(causes, fmt.Sprintf("the total %s %s (%s)", t.change(t.r.Total.Diff), perWords[t.r.Per], times(t.r.Total.Ratio())))
	}
	if len(causes) > 0 {
		text += ": " + strings.Join(causes, ", ")
	}
	return text
}

// manySamples would tell, if each were chance of its own.
const manySamples = 1000

// shownPrograms is how many programs are named.
const shownPrograms = 3

// programs says that others ran.
func (t words) programs(name func(string) string) string {
	var parts []string
	for _, p := range t.r.Programs[:min(len(t.r.Programs), shownPrograms)] {
		parts = append(parts, fmt.Sprintf("%s %s → %s of the total", name(p.Comm), percent2(p.Base), percent2(p.New)))
	}
	text := "Cannot tell: other programs ran, or ran more or less (" + strings.Join(parts, ", ") + "), which explains what differs"
	if t.programsHint != "" {
		return text + "; " + t.programsHint
	}
	return text + "; compare one program alone"
}

// interrupts names what differs of interrupts, if anything does by more than could have been told
// of the rest: those of equal runs often differ by less.
func (t words) interrupts(name func(string) string) string {
	in := t.r.Interrupts
	if in == nil || !slices.ContainsFunc(in.Functions, func(f diff.Function) bool {
		return math.Abs(f.Changed().Diff) > t.r.Resolution*t.r.Base.Total
	}) {
		return ""
	}
	var parts []string
	for i := range in.Functions[:min(len(in.Functions), shownInSummary)] {
		f := &in.Functions[i]
		d := f.Changed()
		parts = append(parts, fmt.Sprintf("%s %s (%s)", name(f.Name), t.change(d.Diff), times(d.Ratio())))
	}
	return "inconclusive in interrupts: " + strings.Join(parts, ", ") + others(len(in.Functions)-len(parts)) + interruptsDiffer
}

// interruptsHeading is that of a table of functions.
const interruptsHeading = "In interrupts, and in threads that go on with their work (unclear: more than the blocks of each run explain, and one run of each side does not tell how much runs differ)"

// interruptsDiffer is what is to be done about it.
var interruptsDiffer = fmt.Sprintf(", which differ from run to run; record %d runs of each side", leastRuns)

// untold says what one run of each side cannot tell.
func (t words) untold() string {
	if t.r.Per == diff.PerShare {
		return "one run of each side does not tell how much durations differ, of which the profiles have only sums"
	}
	return "one run of each side does not tell how much runs differ per " + perUnits[t.r.Per]
}

// changedItself tells a function whose own cost changed.
func changedItself(f diff.Function) bool {
	return isChange(&f) && f.Self.Significant && !f.Self.ShareOnly
}

// isChange tells a function that costs more or less from one of which only the name, the
// place or the share is another.
func isChange(f *diff.Function) bool {
	switch f.Verdict {
	case diff.More, diff.Less, diff.New, diff.Gone:
		return !f.Built
	}
	return false
}

// shownCallers is how many callers of a cause are named.
const shownCallers = 2

// cause names a function that changed, by how much, and the callers of the path that
// changed most.
func (t words) cause(f *diff.Function, name func(string) string) string {
	d := f.Changed()
	text := name(f.Name) + " " + t.change(d.Diff)
	if t.r.Per == diff.PerShare {
		text += " of the total"
	}
	switch f.Verdict {
	case diff.New:
		text += " (only in new)"
	case diff.Gone:
		text += " (only in base)"
	default:
		if d.Base > 0 {
			text += " (" + times(d.Ratio()) + ")"
		}
	}
	if d == &f.Cum && f.Cum != f.Self {
		text += " with what it calls"
	}
	if len(f.Paths) > 0 {
		stack := f.Paths[0].Stack
		above := stack[:max(len(stack)-1, 0)]
		var callers []string
		if by, ok := t.calledBy(f.Name, above); ok {
			callers = append(callers, name(by))
		}
		for _, c := range slices.Backward(above) {
			if len(callers) < shownCallers {
				callers = append(callers, name(c))
			}
		}
		if len(callers) > 0 {
			text += " in " + strings.Join(callers, " of ")
		}
	}
	return text
}

// calledBy is the function that calls another by its code, if it is not in the stack above that:
// the caller of a leaf that sets up no frame of its own is missing in a callchain by frame pointers,
// which goes on with the caller's.
func (t words) calledBy(callee string, above []string) (caller string, ok bool) {
	calls := func(name string) bool { return slices.Contains(t.code[name].Calls, callee) }
	if len(above) == 0 || calls(above[len(above)-1]) {
		return "", false
	}
	for name := range t.code {
		if calls(name) {
			if ok {
				return "", false // of several, any may have
			}
			caller, ok = name, true
		}
	}
	return caller, ok && caller != callee
}

// times writes a ratio.
func times(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case math.IsInf(x, 1):
		return "new"
	case x >= 100:
		return "×" + strconv.FormatFloat(x, 'f', 0, 64)
	}
	return "×" + strconv.FormatFloat(x, 'f', 2, 64)
}

// shownBuildID is how much of a build id is shown.
const shownBuildID = 12

// builds says which kernels were compared, as far as it is known.
func (t words) builds() string {
	a, b := &t.r.Base.Machine, &t.r.New.Machine
	if a.BuildID != "" && a.BuildID == b.BuildID {
		return "both sides are the same build of the kernel" + parenthesized(kernel(b))
	}
	if a.Kernel == "" && a.BuildID == "" || b.Kernel == "" && b.BuildID == "" {
		return ""
	}
	if a.Kernel == b.Kernel && (a.BuildID == "" || b.BuildID == "") {
		return "both sides are kernel " + kernel(a)
	}
	return "kernel " + kernel(a) + " → " + kernel(b)
}

func kernel(m *diff.Machine) string {
	text := m.Kernel
	if m.BuildID != "" {
		text += " build id " + m.BuildID[:min(len(m.BuildID), shownBuildID)]
	}
	return strings.TrimSpace(text)
}

func parenthesized(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// totals says what a run costs in all.
func (t words) totals() string {
	a, b := perRun(&t.r.Base), perRun(&t.r.New)
	text := ""
	switch d := &t.r.PerRun; {
	case a > 0 && b > 0:
		text = fmt.Sprintf("CPU %s → %s a run (%s", seconds(a), seconds(b), times(b/a))
	case t.r.PerRunKnown:
		text = fmt.Sprintf("total %s → %s a run (%s", t.value(d.Base), t.value(d.New), times(d.Ratio()))
	default:
		return ""
	}
	switch d := &t.r.PerRun; {
	case !math.IsInf(d.Low, 0) && d.Base > 0 && t.r.PerRunKnown && len(t.r.Base.Runs) > 1:
		text += fmt.Sprintf(", %s to %s with %s", times(d.Low/d.Base+1), times(d.High/d.Base+1), t.level())
	case t.r.Per == diff.PerShare || math.IsInf(t.r.Resolution, 1):
		text += ", of one run a side"
	}
	return text + ")"
}

func perRun(s *diff.Side) float64 {
	if len(s.Runs) == 0 {
		return 0
	}
	return s.CPU / float64(len(s.Runs))
}

func seconds(x float64) string { return nanoseconds(x * 1e9) }

func nanoseconds(x float64) string {
	x, short := printable.Scale(x, "nanoseconds")
	return printable.Digits(x, 4) + short
}

// value writes a value of the compared column.
func (t words) value(x float64) string {
	if x, short := printable.Scale(x, t.r.Value.Unit); short != "" {
		return printable.Digits(x, 4) + short
	}
	return printable.Digits(x, 4) + " " + t.r.Value.Type
}

// resolution says what could have been told, and what more would take.
func (t words) resolution() string {
	r := t.r
	if math.IsInf(r.Resolution, 1) || math.IsNaN(r.Resolution) {
		return fmt.Sprintf("record at least %d runs of each side", leastRuns)
	}
	if r.Resolution == 0 {
		return "every difference was counted"
	}
	if r.Resolution < r.MinEffect {
		return fmt.Sprintf("differences under %s of the total were not looked for", percent2(r.MinEffect))
	}
	text := fmt.Sprintf("differences under %s of the total could not be told", percent2(r.Resolution))
	if r.Measured() {
		return text + "; more runs of each side tell more"
	}
	goal := max(r.MinEffect, goodResolution)
	if goal >= r.Resolution {
		return text
	}
	_, s, runs := r.Advice(goal)
	if runs > mostAdvised {
		return text
	}
	text += "; for " + percent2(goal) + " record "
	if s > 0 && len(r.Base.Runs) == 1 && len(r.New.Runs) == 1 {
		text += duration(s) + " or "
	}
	return text + fmt.Sprintf("%d runs of each side", runs)
}

// mostAdvised is a number of runs above which to record more is no advice.
const mostAdvised = 500

// goodResolution is what is advised to be recorded for, a share of the total.
const goodResolution = 0.01

// leastRuns show how much runs differ.
const leastRuns = 3

// percent2 writes a share with two digits that count.
func percent2(x float64) string {
	return strconv.FormatFloat(roundTo(100*x, 2), 'f', -1, 64) + "%"
}

func roundTo(x float64, digits int) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, float64(digits)-math.Ceil(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}

// factor writes a number of at least 1 with two digits that count.
func factor(x float64) string {
	if x < 99.5 {
		return fmt.Sprintf("%.2g", x)
	}
	return fmt.Sprintf("%.0f", roundTo(x, 2))
}

func duration(s float64) string {
	switch {
	case s >= 2*3600:
		return fmt.Sprintf("%.0f hours", s/3600)
	case s >= 120:
		return fmt.Sprintf("%.0f minutes", s/60)
	}
	return fmt.Sprintf("%.0f s", math.Ceil(s))
}

// spansOf names the times of a group of spans.
func spansOf(s *diff.SlowerSpans) string {
	if s.Group == "" {
		return "the " + s.What + " of all calls"
	}
	return "the " + s.What + " of the calls of " + s.Group
}

// Judgement says in a sentence what a limit came to.
func Judgement(r *diff.Result, j *diff.Judgement) string {
	t := words{r: r}
	limit := percent2(j.Limit)
	switch j.Outcome {
	case diff.Unchanged:
		return fmt.Sprintf("Within the limit: nothing costs over %s of the total more (at most %s)", limit, percent2(max(j.Upper, r.Resolution)))
	case diff.Changed:
		if len(j.Slower) > 0 {
			s := &j.Slower[0]
			text := fmt.Sprintf("Over the limit: %s takes %s more, over %s", spansOf(s), percent2(s.Ratio-1), limit)
			return text + alike(len(j.Slower)-1+len(j.Functions))
		}
		if len(j.Functions) == 0 {
			d := &r.Total
			if r.PerRun.Significant {
				d = &r.PerRun
			}
			return fmt.Sprintf("Over the limit: the total costs %s more than the base, over %s", percent2(d.Diff/d.Base), limit)
		}
		f := j.Functions[0]
		text := fmt.Sprintf("Over the limit: %s costs %s of the base's total more, over %s", f.Name, percent2(largest(f)/r.Base.Total), limit)
		return text + alike(len(j.Functions)-1)
	}
	var why []string
	for _, d := range j.Doubts {
		switch d {
		case diff.NotKnown:
			why = append(why, t.untold())
		case diff.Coarse:
			why = append(why, fmt.Sprintf("the limit of %s is below what could have been told, %s", limit, percent2(r.Resolution)))
		case diff.BelowEffect:
			why = append(why, fmt.Sprintf("the limit of %s is below the least difference that was looked for, %s", limit, percent2(r.MinEffect)))
		case diff.MaybeUp:
			of := j.UpperOf
			if of == "" {
				of = "the total"
			}
			why = append(why, fmt.Sprintf("%s may cost up to %s more, over %s", of, percent2(j.Upper), limit))
		case diff.MaybeSlower:
			why = append(why, fmt.Sprintf("%s may take up to %s more, over %s", spansOf(&j.MaybeSlower), percent2(j.MaybeSlower.Ratio-1), limit))
		case diff.SlowerUntested:
			why = append(why, fmt.Sprintf("%s is %s more, over %s, which what was recorded of these does not tell from chance", spansOf(&j.Untested), percent2(j.Untested.Ratio-1), limit))
		case diff.ProgramsUp:
			why = append(why, fmt.Sprintf("%s costs %s more, over %s, as other programs ran, or ran more or less", j.Unclear[0].Name, percent2(largest(j.Unclear[0])/r.Base.Total), limit))
		case diff.InterruptsUp:
			why = append(why, fmt.Sprintf("%s costs %s more in interrupts, over %s%s", j.Interrupts[0].Name, percent2(largest(j.Interrupts[0])/r.Base.Total), limit, ", which differ from run to run"))
		case diff.TotalUp:
			why = append(why, fmt.Sprintf("the total of a run is %s, which one run of each side does not tell from chance", times(r.PerRun.Ratio())))
		}
	}
	text := "Not decided: " + strings.Join(why, "; ")
	switch {
	case slices.Contains(j.Doubts, diff.BelowEffect):
		return text
	case r.Measured():
		return text + "; more runs of each side tell more"
	}
	if j.Limit == 0 {
		return text + "; no recording tells that nothing costs any more: it takes a limit above 0"
	}
	if _, s, runs := r.Advice(j.Limit / decisive); !math.IsInf(r.Resolution, 1) && s > 0 && len(r.Base.Runs) == 1 {
		text += fmt.Sprintf("; record %s, or %d runs of each side", duration(s), runs)
	} else {
		text += fmt.Sprintf("; record %d runs of each side", runs)
	}
	return text
}

// largest is what a limit is held against: of what a function costs more, itself or with what it calls.
func largest(f *diff.Function) float64 { return max(f.Self.Diff, f.Cum.Diff) }

// decisive is by what the resolution must be below a limit for equal builds to pass:
// differences by chance are added to it.
const decisive = 1.5

// suspicions names the differences that chance explains only since so many were looked
// at, with how much more to record.
func (t words) suspicions(noise []diff.Function, name func(string) string) string {
	var names []string
	for i := range noise {
		f := &noise[i]
		d := &f.Self
		if f.Cum.P < d.P {
			d = &f.Cum
		}
		if d.P > t.r.Alpha || math.Abs(d.Diff) < t.r.MinEffect*t.r.Base.Total || len(names) >= shownInSummary || d.Upper == 0 {
			continue
		}
		text := fmt.Sprintf("%s %s (p=%.2g alone", name(f.Name), t.change(d.Diff), d.P)
		if half := d.Upper - d.Diff; !t.r.Measured() {
			text += fmt.Sprintf("; %s times as many samples would tell", factor(max(half*half/d.Diff/d.Diff, 1)))
		}
		names = append(names, text+")")
	}
	if len(names) == 0 {
		return ""
	}
	return "Suspicious, but not more than chance among so many: " + strings.Join(names, ", ") + "."
}

// suspects says what became of the functions that were suspected.
func (t words) suspects(name func(string) string) string {
	var parts []string
	for i := range t.r.Functions {
		f := &t.r.Functions[i]
		if !f.Suspect {
			continue
		}
		d := &f.Self
		if f.Cum.P < d.P {
			d = &f.Cum
		}
		word := "not told from chance"
		if d.Significant {
			word = f.Verdict.String()
		}
		parts = append(parts, fmt.Sprintf("%s %s %s (p=%.2g): %s", name(f.Name), t.change(d.Diff), t.margin(d), d.P, word))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Suspected: " + strings.Join(parts, "; ") + "."
}
