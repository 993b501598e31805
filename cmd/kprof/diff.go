package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/diff"
	"kprof/convert/diffreport"
	"kprof/convert/export"
	"kprof/convert/infile"
	"kprof/convert/spandiff"
	"kprof/convert/store"
)

// Exit codes of comparisons: something costs more than --fail-over allows; what was
// recorded does not tell; and for git bisect run a commit to skip, and a command line that
// makes no sense.
const (
	exitOver      = 3
	exitUndecided = 4

	bisectBad   = 1
	bisectSkip  = 125
	bisectUsage = 128
)

// Formats that only comparisons have.
const (
	formatJSON     format = "json"
	formatMarkdown format = "markdown"
)

var diffEndings = []struct {
	suffix string
	format format
}{
	{".pb.gz", export.Pprof},
	{".pprof", export.Pprof},
	{".folded", export.Folded},
	{".svg", export.SVG},
	{".html", export.HTML},
	{".json", formatJSON},
	{".md", formatMarkdown},
	{".txt", export.Text},
}

// diffFlags are the flags of kprof diff.
type diffFlags struct {
	sel selection
	sym symbolOptions

	fleet fleetFlags

	vmlinux, kallsyms, symfs [2]string
	repeats                  [2][]string
	elf                      [2]string
	ops                      [2]float64
	runOps                   [2]map[string]float64 // as kprof bench has noted them

	per, minEffect, failOver string
	alpha                    float64
	exact, explain           bool
	aliases                  string
	by                       []string
	out, format              string
	json, pValues, withIdle  bool
	withInterrupts           bool
	bisect                   bool
	suspects                 []string
	asm                      string
	limit                    int
	wide                     bool
}

func newDiff() *cobra.Command {
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff {BASE NEW | --base RUN… --new RUN…}",
		Short: "Compare two profiles: what changed, and is it more than noise",
		Long: `Diff compares two profiles of the same load, such as on two builds of a kernel,
function by function: what changed, by how much, and whether that is more than
chance. BASE and NEW are anything that kprof reads; several runs of each, with
--base and --new, tell more than one can. Each may be a directory of runs, or a
pattern in quotes.

There are three answers: changed; not changed, with the least difference that could
have been told; inconclusive, with what to record. --fail-over passes (exit code 0)
only if nothing can have become slower by more than that, fails (3) if something
did, and is not decided (4) otherwise. What cannot be decided without a limit is 4,
too. --bisect has the exit codes of git bisect run instead.

Functions are matched by name. What differs between builds is folded away:
suffixes of clones, wrappers of system calls, entry stubs, what calls tracers (--explain-names
lists the rules, and what they did). Samples of idle CPUs are left out (--with-idle), and of
programs (--comm), or of one run of each side, what ran in interrupts (--with-interrupts).
Differences are shares of the total, or per second, operation or run (--per): what
one run of each side cannot tell, unless it is counts or the log of a boot. Of spans
and times off the CPU it also compares the number of calls, their mean, and the
times that 50 and 99 percent are not above. Single recordings get intervals from the variance between
blocks of time, repeated ones from that between runs; verdicts are corrected for
the number of functions.

With --from, a store of profiles is asked for both sides (kprof help stores), by labels or
by time: each host is a run of its own.

The ending of -o picks the format: .json, .md, .folded (two columns, as
difffolded.pl), .svg (a flame graph of both), .html (a page of both), .pb.gz or .pprof (the base negated,
as pprof -diff_base), .txt. Of several runs pictures and pages have the means that are compared;
.folded and .pb.gz have what was recorded, added up, or with --per these means.`,
		Example: `  kprof diff old.data new.data
  kprof diff --base a1.pb.gz --base a2.pb.gz --new b1.pb.gz --new b2.pb.gz
  kprof diff before/ after/            # directories of runs
  kprof diff --per run --suspect vfs_read before/ after/
  kprof diff -o diff.md --fail-over 2% old.data new.data     # in CI: exit code 3 if slower
  kprof diff --from http://localhost:4040 --base '{kernel_release="6.1"}' --new '{kernel_release="6.12"}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := maxArgs(2)(cmd, args)
			if err == nil {
				err = f.run(cmd, args)
			}
			return f.ended(err)
		},
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		f.bisect = f.bisect || slices.Contains(os.Args, "--bisect")
		return f.ended(unknownFlag(c, err))
	})
	fl := c.Flags()
	f.sel.flags(c)
	f.sym.flags(c)
	f.fleet.flags(c)
	fl.Lookup("force").Usage = "compare what is not comparable, and use a vmlinux although its build id is not the recorded one"
	sides := under(fl, headingSides)
	for side, name := range sideNames {
		fl.StringArrayVar(&f.repeats[side], name, nil, "`file` of a run of the "+name+" side, any number of times")
		fl.StringVar(&f.vmlinux[side], name+"-vmlinux", "", "`file` as of --vmlinux, of the "+name+" side; its functions' sizes are shown")
		fl.StringVar(&f.kallsyms[side], name+"-kallsyms", "", "`file` as of --kallsyms, of the "+name+" side")
		fl.StringVar(&f.symfs[side], name+"-symfs", "", "`directory` as of --symfs, of the "+name+" side")
		fl.StringVar(&f.elf[side], name+"-elf", "", "program or library `file` of the "+name+" side, to show its functions' sizes")
		fl.Float64Var(&f.ops[side], name+"-ops", 0, "number of operations that the "+name+" side did, for --per=ops")
	}
	sides()
	fl.StringVar(&f.per, "per", "", "compare `what`: share (of the total, the default), second, ops, run (of the same work each; the default for logs of boots) or event:NAME")
	fl.Float64Var(&f.alpha, "alpha", diff.Defaults.Alpha, "probability that anything is reported when nothing has changed")
	fl.StringVar(&f.minEffect, "min-effect", "", "least difference to report, in `percent` of the base's total (default 0.25%, or --fail-over if that is less)")
	fl.StringVar(&f.failOver, "fail-over", "", "exit with code 3 if anything costs more by over this `percent` of the base's total, with 4 if that cannot be told")
	fl.BoolVar(&f.bisect, "bisect", false, "exit codes for git bisect run: 0 not slower, 1 slower, 125 cannot tell, 128 bad usage")
	fl.StringArrayVar(&f.suspects, "suspect", nil, "test `function` without correcting for all others; may be repeated")
	fl.StringVar(&f.asm, "asm", "", "show the instructions of `function` in both builds side by side, from the files of --base-vmlinux, --base-elf and so on, or by build id")
	fl.BoolVar(&f.withIdle, "with-idle", false, "compare samples of idle CPUs too")
	fl.StringSliceVar(&f.by, "times-by", nil, "compare the times of spans by `what`: comm, cpu, a field of the event, or another label; several with commas (default that of the rule, or the comm off the CPU)")
	fl.BoolVar(&f.withInterrupts, "with-interrupts", false, "compare what ran in interrupts too: of programs (--comm, --pid, --tid), and of one run of each side")
	fl.BoolVar(&f.pValues, "p-values", false, "show the p-value of each difference")
	fl.BoolVar(&f.exact, "exact-names", false, "match functions by their names as they are")
	fl.BoolVar(&f.explain, "explain-names", false, "list the rules by which names are matched, and the names that they changed")
	fl.StringVar(&f.aliases, "aliases", "", "`file` with lines of NAME => OTHER: functions to match as another")
	fl.StringVarP(&f.out, "output", "o", "", "`file` to write, - for standard output")
	fl.BoolVar(&f.json, "json", false, "as -f json")
	fl.StringVarP(&f.format, "format", "f", "", "text, json, markdown, html, folded, svg or pprof, whatever the file is called")
	fl.VarP(rowsOf(&f.limit, 40), "limit", "n", "show `N` changed functions, 0 for all")
	fl.BoolVar(&f.wide, "wide", false, "do not cut lines to the width of the terminal")
	return c
}

var sideNames = [2]string{"base", "new"}

// percentage parses a number with a percent sign.
func percentage(flag, s string) (float64, error) {
	n, ok := strings.CutSuffix(s, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
	if !ok || err != nil || x < 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0, usagef("%s %q: wants a percentage like 2%%", flag, s)
	}
	return x / 100, nil
}

func (f *diffFlags) run(cmd *cobra.Command, args []string) error {
	var names [2][]string
	var queries [2][]store.Query
	err := f.fleet.check(cmd)
	switch {
	case err != nil:
	case f.fleet.from != "":
		queries, err = f.fleet.queries(f.repeats, args, time.Now())
	default:
		names, err = f.runs(args)
	}
	if err != nil {
		return err
	}
	out, err := f.output()
	if err != nil {
		return err
	}
	if err := f.listsOnly(out); err != nil {
		return err
	}
	o, perEvent, err := f.options()
	if err != nil {
		return err
	}
	if f.explain && names[0] == nil && f.fleet.from == "" {
		return out.create(func(w io.Writer) error { return explainNames(w, nil) })
	}
	limit := math.Inf(1)
	if f.failOver != "" {
		if limit, err = percentage("--fail-over", f.failOver); err != nil {
			return err
		}
		if f.minEffect == "" {
			o.MinEffect = min(o.MinEffect, limit)
		}
	}
	opts, err := f.profileOptions(perEvent)
	if err != nil {
		return err
	}
	var profiles [2][]*convert.Profile
	if f.fleet.from != "" {
		profiles, err = f.fleet.load(cmd.Context(), queries, opts)
	} else {
		profiles, err = f.load(cmd.Context(), names, opts)
	}
	if err != nil {
		return err
	}
	c, err := f.comparison(profiles, o, perEvent)
	if err != nil {
		return err
	}
	if f.asm != "" {
		return f.writeAsm(out, c)
	}
	r, err := c.Compare()
	if err != nil {
		return withFlags(err)
	}
	if f.explain {
		return out.create(func(w io.Writer) error { return explainNames(w, r) })
	}
	var j *diff.Judgement
	if !math.IsInf(limit, 1) {
		x := c.Judge(r, limit)
		j = &x
	}
	if err := f.write(out, r, c, j); err != nil {
		return err
	}
	return f.judge(r, j, c.Times)
}

// listsOnly checks what --explain-names and --asm go together with: they write text, and judge
// nothing.
func (f *diffFlags) listsOnly(out output) error {
	flag := "--asm"
	switch {
	case f.explain:
		flag = "--explain-names"
	case f.asm == "":
		return nil
	}
	switch {
	case out.format != export.Text:
		return usagef("%s writes text, not %s", flag, out.format)
	case f.failOver != "" || f.bisect:
		return usagef("%s judges nothing: it goes without --fail-over and --bisect", flag)
	}
	return nil
}

// ended is how the command ends, for git bisect run by other exit codes.
func (f *diffFlags) ended(err error) error {
	var exit exitError
	var usage usageError
	switch {
	case err == nil || !f.bisect:
		return err
	case errors.As(err, &exit) && exit.code == exitOver:
		return exitError{bisectBad}
	case errors.As(err, &exit):
		return exitError{bisectSkip}
	case errors.As(err, &usage), isCobraUsage(err):
		messagef("%v", err)
		return exitError{bisectUsage}
	}
	messagef("%v%s", err, remedy(err))
	return exitError{bisectSkip}
}

// output applies the rules of -o and -f.
func (f *diffFlags) output() (output, error) {
	if f.json && f.format != "" && f.format != string(formatJSON) {
		return output{}, usagef("--json and -f %s exclude each other", f.format)
	}
	if f.json {
		f.format = string(formatJSON)
	}
	o := output{name: f.out, format: format(f.format)}
	if o.name == "" {
		o.name = "-"
	}
	switch o.format {
	case export.Text, formatJSON, formatMarkdown, export.Folded, export.Pprof, export.SVG, export.HTML:
		return o, nil
	case "":
	default:
		return o, usagef("unknown format %q: use text, json, markdown, html, folded, svg or pprof", f.format)
	}
	if o.name == "-" {
		o.format = export.Text
		return o, nil
	}
	for _, e := range diffEndings {
		if strings.HasSuffix(o.name, e.suffix) {
			o.format = e.format
			return o, nil
		}
	}
	return o, usagef("%s: the ending does not tell the format: use .txt, .json, .md, .html, .folded, .svg or .pb.gz, or give -f", f.out)
}

// options checks the flags that say how to compare. perEvent is the event to
// divide by, "" for none.
func (f *diffFlags) options() (o diff.Options, perEvent string, err error) {
	o = diff.Defaults
	o.Force, o.Alpha, o.Names.Exact = f.sym.Force, f.alpha, f.exact
	o.WithIdle, o.WithInterrupts, o.Suspects = f.withIdle, f.withInterrupts, f.suspects
	o.Program = !f.withInterrupts && (len(f.sel.comms) > 0 || f.sel.pids+f.sel.tids != "")
	if !(o.Alpha > 0 && o.Alpha < 1) {
		return o, "", usagef("--alpha %v: wants a probability between 0 and 1", f.alpha)
	}
	switch {
	case f.minEffect != "":
		if o.MinEffect, err = percentage("--min-effect", f.minEffect); err != nil {
			return o, "", err
		}
	}
	switch event, byEvent := strings.CutPrefix(f.per, "event:"); {
	case f.per == "" || f.per == "share":
	case f.per == "run":
		o.Per = diff.PerRun
	case f.per == "second":
		o.Per = diff.PerSecond
	case f.per == "ops":
		o.Per = diff.PerOps
	case byEvent && event != "":
		o.Per, perEvent = diff.PerEvent, event
	default:
		return o, "", usagef("--per %q: use share, second, ops, run or event:NAME", f.per)
	}
	for side, n := range f.ops {
		switch {
		case o.Per != diff.PerOps && n != 0:
			return o, "", usagef("--%s-ops is for --per=ops", sideNames[side])
		case n != 0 && wrongOperations(n) != "":
			return o, "", usagef("--%s-ops %s", sideNames[side], wrongOperations(n))
		}
	}
	if f.aliases != "" {
		file, err := infile.Open(f.aliases)
		if err != nil {
			return o, "", err
		}
		defer file.Close()
		if o.Names.Aliases, err = diff.ReadAliases(file); err != nil {
			return o, "", fmt.Errorf("%s: %w", f.aliases, err)
		}
	}
	return o, perEvent, nil
}

// judge fails if something costs more than allowed, or nobody knows.
func (f *diffFlags) judge(r *diff.Result, j *diff.Judgement, times *spandiff.Result) error {
	outcome := r.Outcome
	if j != nil {
		if outcome = j.Outcome; outcome != diff.Unchanged {
			messagef("%s", diffreport.Judgement(r, j))
		}
	} else if f.bisect && outcome == diff.Changed {
		// Without a limit, whatever costs more is bad.
		if functions, total := r.Exceeds(0); len(functions) == 0 && !total && !times.Slower() {
			outcome = diff.Unchanged
		}
	}
	switch {
	case outcome == diff.Inconclusive:
		return exitError{exitUndecided}
	case outcome == diff.Changed && (j != nil || f.bisect):
		return exitError{exitOver}
	}
	return nil
}
