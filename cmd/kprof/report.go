package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/browse"
	"kprof/convert/export"
	"kprof/convert/printable"
	"kprof/convert/replay"
	"kprof/convert/table"
	"kprof/perfevent/spelling"
)

// topOptions are the flags of the table of functions, and of the tree of calls.
type topOptions struct {
	limit   int
	sort    string
	by      string
	wide    bool
	tree    bool
	reverse bool
	lines   bool    // told apart
	min     float64 // percent
	json    bool
	hist    bool
	values  bool // those of --value
	delays  bool
	screen  bool // on standard output, which may be a terminal
}

// check checks the flags, and adds to the options of a conversion what they need.
func (o *topOptions) check(c *convert.Options) error {
	switch {
	case o.tree && o.json:
		return usagef("--tree and --json exclude each other: take kprof convert -f folded")
	case o.tree && o.by != "":
		return usagef("--tree and --by exclude each other")
	case o.hist && (o.tree || o.json):
		return usagef("--histogram is not for --tree, nor for --json, which has the distributions of times anyway")
	case o.delays && (o.tree || o.json || o.hist || o.by != ""):
		return usagef("--delays is a table of its own: without --tree, --json, --histogram and --by")
	case o.reverse && !o.tree:
		return usagef("--reverse is for --tree")
	case o.hist && c.Value != nil && (len(c.Spans) > 0 || c.OffCPU):
		return usagef("--histogram is of times with --span and --off-cpu, and of values with --value, not of both")
	case !(o.min >= 0 && o.min <= 100):
		return usagef("--min %v: wants a share from 0 to 100 percent", o.min)
	case o.sort != "self" && o.sort != "cum":
		return usagef("--sort %q: use self or cum%s", o.sort, byOfSort(o.sort))
	}
	o.values = c.Value != nil
	c.Times = c.Times || o.hist && o.values
	if o.by == "" {
		return nil
	}
	for key := range strings.SplitSeq(o.by, ",") {
		switch key {
		case "":
			return usagef("--by %q: wants comm, pid, tid, cpu, mapping, event or a field, several with a comma between them", o.by)
		case "mapping", "event":
		default:
			addLabels(c, []string{key})
		}
	}
	return nil
}

// byOfSort is what to say of perf report's --sort, which says what a row is of.
func byOfSort(sort string) string {
	var keys []string
	for key := range strings.SplitSeq(sort, ",") {
		switch key {
		case "comm", "pid", "tid", "cpu":
			keys = append(keys, key)
		case "dso":
			keys = append(keys, "mapping")
		case "sym", "symbol": // as without --by
		default:
			return ""
		}
	}
	if len(keys) == 0 {
		return "; rows are of functions anyway"
	}
	return "; --by " + strings.Join(keys, ",") + " says what rows are of"
}

// checkGiven checks what given says of the command line: flags that would change nothing.
func (o *topOptions) checkGiven(given func(flag string) bool) error {
	switch {
	case given("min") && !o.tree:
		return usagef("--min is for --tree; -n shows fewer rows")
	case o.tree && (given("limit") || given("sort")):
		return usagef("-n and --sort are not for --tree, which has the heaviest first: --min leaves out more")
	}
	return nil
}

// groupError says what there is to group by where that is why an input is refused.
func (o *topOptions) groupError(err error) error {
	var label *convert.NoLabelError
	if errors.As(err, &label) && (label.Key == replay.CgroupLabel || label.Key == replay.ContainerLabel) && !slices.Contains(label.Have, replay.CgroupLabel) {
		return fmt.Errorf("%w: kprof record --all-cgroups records cgroups", err)
	}
	if errors.As(err, &label) {
		return fmt.Errorf("%w; or group by mapping or event", err)
	}
	var field *replay.UnknownFieldError
	if !errors.As(err, &field) || !slices.Contains(strings.Split(o.by, ","), field.Key) {
		return err
	}
	what := "comm, pid, tid, cpu, mapping or event"
	if len(field.Fields) > 0 {
		what = "comm, pid, tid, cpu, mapping, event, or a field: " + listed(field.Fields)
	}
	near := field.Near
	if field.Key == "dso" { // as perf calls it
		near = []string{"mapping"}
	}
	return fmt.Errorf("--by %q: samples have no such label%s; group by %s", field.Key, spelling.Question(near), what)
}

// listed lists names, of very many the first.
func listed(names []string) string {
	const most = 40
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}
	return strings.Join(names, ", ")
}

func newReport() *cobra.Command {
	var sel selection
	var sym symbolOptions
	var top topOptions
	var info inspection
	var regs registerOptions
	var stats, stdio bool
	var out string
	c := &cobra.Command{
		Use:   "report [INPUT…]",
		Short: "Show the functions that cost most, in the terminal",
		Long: `On a terminal report is a table of functions to look around in: callers, what is called,
search, other events, the same in the browser; ? tells the keys. In a pipe, or with --stdio, it
prints text.

Report prints the functions of a recording or profile with the samples that were
in them (self) and in them or what they called (cum). INPUT is perf.data by
default; - is standard input; several are added up. With --tree it prints which function called which,
the heaviest first, down to a share of --min percent. With --lines both tell the
source lines of a function apart. --focus, --ignore, --show-from, --show-to, --hide,
--show, --collapse-recursion and --collapse are done in the order in which they are given.`,
		Example: `  kprof report cpu.pb.gz
  kprof report --by comm perf.data
  kprof report --tree --min 2 perf.data
  kprof report --hide '^__' --collapse '[kernel]' perf.data
  kprof report --stats perf.data
  kprof report --header perf.data`,
		RunE: func(cmd *cobra.Command, args []string) error {
			lines := func(write func(io.Writer) error) error { return output{name: out, format: export.Text}.create(write) }
			given := cmd.Flags().Changed
			if info.asked() {
				if err := ownText(info.flag(), given); err != nil {
					return err
				}
				return lines(func(w io.Writer) error { return info.run(cmd.Context(), w, args) })
			}
			opts, err := sel.options()
			if err != nil {
				return err
			}
			if err := cmp.Or(top.check(&opts), top.checkGiven(given)); err != nil {
				return err
			}
			if stats {
				if err := ownText("--stats", given); err != nil {
					return err
				}
				sym.none = true
				return lines(func(w io.Writer) error { return writeStats(cmd.Context(), w, args, opts, &sel, sym) })
			}
			toOut := func(write func(io.Writer) error) error {
				if out != "-" {
					return lines(write)
				}
				return paged(write)
			}
			if top.asksRegisters(&opts) && len(args) < 2 {
				r, err := regs.read(cmd.Context(), inputArg(args), opts, sym)
				if err != nil {
					return err
				}
				if r != nil {
					return toOut(func(w io.Writer) error { return r.write(w, top) })
				}
			}
			if regs.regions != "" || given("last") {
				return usagef("--regions and --last are for --by register, of one recording of accesses to registers (rwmmio events)")
			}
			p, err := loadSum(cmd.Context(), args, opts, sym)
			if err != nil {
				return top.groupError(err)
			}
			top.lines = sym.Lines
			write := func(w io.Writer) error { return renderTop(w, p, top) }
			text := out != "-" || stdio || top.json || top.hist || top.delays || slices.ContainsFunc([]string{"limit", "min", "wide"}, given)
			if !text && onScreen() {
				page := func(at browse.Looked, signals *signals) error {
					return servePage(cmd.Context(), args, p, &sel, sym, readingFlags(cmd, sel.shape.transforms), at, signals)
				}
				if looked, err := top.look(p, page); looked || err != nil {
					return err
				}
			}
			top.screen = out == "-" && !top.json
			return toOut(write)
		},
	}
	f := c.Flags()
	f.VarP(rowsOf(&top.limit, 40), "limit", "n", "show `N` rows, 0 for all")
	f.StringVar(&top.sort, "sort", "self", "sort by self or cum")
	f.StringVar(&top.by, "by", "", "group by `what` instead of by function: comm, pid, tid, cpu, mapping, event, a field of the event, or another label of a profile; several with commas")
	f.BoolVar(&top.tree, "tree", false, "show the tree of calls")
	f.BoolVar(&top.reverse, "reverse", false, "show the tree from the functions up to their callers")
	f.Float64Var(&top.min, "min", 0.5, "leave out of the tree what has less than this share, in `percent`")
	f.BoolVar(&top.wide, "wide", false, "do not cut lines to the width of the terminal")
	f.StringVarP(&out, "output", "o", "-", "`file` to write to, - for standard output")
	f.BoolVar(&top.json, "json", false, "as JSON: the event, the total, and rows of name, mapping, self and cum; of times their distributions too")
	f.BoolVar(&stats, "stats", false, "show the number of records by type and of samples by event")
	f.BoolVar(&top.delays, "delays", false, "show of each task how long it waited for a CPU, the longest wait first, and when that was, of times off the CPU")
	f.BoolVar(&stdio, "stdio", false, "print text, though there is a terminal to look around on; -n, --min, --wide, --json, --delays and --histogram do so too")
	f.BoolVar(&top.hist, "histogram", false, "show how the times of --span and --off-cpu, or what --value says, are distributed, of all or of each group of --by, a line for each power of two")
	f.StringVar(&regs.regions, "regions", "", "of --by register: `file` that says whose registers are where, lines START-END : NAME as in /proc/iomem, or /proc/vmallocinfo")
	f.IntVar(&regs.last, "last", 3, "of --by register: show the last `N` accesses of each CPU")
	info.flags(c)
	sel.flags(c)
	sym.flags(c)
	return c
}

// writeStats writes how many records and samples recordings have.
func writeStats(ctx context.Context, w io.Writer, inputs []string, opts convert.Options, sel *selection, sym symbolOptions) error {
	return eachHeaded(w, inputs, func(name string) error {
		p, err := loadAny(ctx, name, opts, sym)
		if p == nil {
			return err
		}
		if err != nil && !sel.any() && len(p.Stats.Records) > 0 {
			messagef("%v", err)
			err = nil // the counts are the answer
		}
		return errors.Join(p.WriteStats(w), err)
	})
}

// renderTop writes the table of one event, or its tree.
func renderTop(w io.Writer, p *profile, o topOptions) error {
	event, column, keys := 0, 0, strings.Split(o.by, ",")
	if slices.Contains(keys, "event") {
		column = p.shownColumn(event)
	} else {
		event, column = p.choose(keys)
	}
	width, color := 0, false
	if o.screen {
		color = isTerminal(os.Stdout) && wantsColors()
		if !o.wide {
			width = terminalWidth(os.Stdout)
		}
	}
	notes := p.losses()
	if note := shareLeft(p, event, column); note != "" && !o.json && !slices.Contains(keys, "event") {
		notes = slices.Insert(notes, 0, note)
	}
	if o.tree {
		return table.Tree(w, p.Set, table.TreeOptions{
			Event: event, Column: column, Reverse: o.reverse, Lines: o.lines, Min: o.min / 100, Width: width, Color: color, Notes: notes,
		})
	}
	ro := table.TopOptions{Event: event, Column: column, Limit: o.limit, By: o.by, Lines: o.lines, Width: width, Color: color, Notes: notes}
	for _, d := range p.Stats.Durations {
		ro.Durations = append(ro.Durations, table.Durations{Event: d.Event, Labels: d.Labels, Histogram: d.Histogram})
	}
	if o.hist && len(ro.Durations) == 0 && o.values {
		ro.Durations, ro.OfValues = table.ValuesOf(p.Set), true
	}
	for _, c := range p.Stats.Calls {
		ro.Calls = append(ro.Calls, table.Calls(c))
	}
	if o.sort == "cum" {
		ro.Sort = table.ByCum
	}
	switch {
	case o.delays:
		var all []table.Delays
		for _, d := range p.Stats.Delays {
			all = append(all, table.Delays(d))
		}
		err := table.WriteDelays(w, p.Set, all, o.limit)
		if errors.Is(err, table.ErrNoDelays) {
			return fmt.Errorf("--delays is for one recording with times off the CPU (-e off-cpu, --off-cpu) in which tasks waited for one: %w", err)
		}
		return err
	case o.json:
		return table.JSON(w, p.Set, ro)
	case o.hist:
		err := table.Histograms(w, p.Set, ro)
		if errors.Is(err, table.ErrNoDurations) {
			return fmt.Errorf("--histogram is for one recording with times between events (--span, --off-cpu), or of what --value says of each sample, of all or by labels: of %s there is none", p.Set.Events[event].Name)
		}
		return err
	}
	return table.Top(w, p.Set, ro)
}

// shareLeft says how much of a column --focus and the like have left, where that is not all.
func shareLeft(p *profile, event, column int) string {
	all, transformed := p.AllStacks(event, column)
	if !transformed || all <= 0 {
		return ""
	}
	left := p.Set.Totals(event)[column]
	if left == all {
		return ""
	}
	unit := p.Set.Events[event].Values[column].Unit
	return fmt.Sprintf("%.2f%% of %s; the shares are of the stacks that are left", 100*float64(left)/float64(all), printable.Value(all, unit))
}

// terminalWidth is the number of columns of a terminal, 0 for anything else.
func terminalWidth(f *os.File) int {
	columns, _ := terminalSize(f)
	return columns
}
