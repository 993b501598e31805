package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"kprof/convert/render"
	"kprof/perfevent/abi"
)

// topOptions are the flags of the table of functions.
type topOptions struct {
	limit int
	sort  string
	by    string
	wide  bool
}

func newReport() *cobra.Command {
	var sel selection
	var sym symbolOptions
	var top topOptions
	var info inspection
	var stats bool
	c := &cobra.Command{
		Use:   "report [INPUT]",
		Short: "Show the functions that cost most, in the terminal",
		Long: `Report prints the functions of a recording or profile with the samples that were
in them (self) and in them or what they called (cum). INPUT is perf.data by
default; - is standard input.`,
		Example: `  kprof report cpu.pb.gz
  kprof report --by comm perf.data
  kprof report --stats perf.data
  kprof report --header perf.data`,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if info.asked() {
				return info.run(cmd.Context(), os.Stdout, inputArg(args))
			}
			opts, err := sel.options()
			if err != nil {
				return err
			}
			sym.none = stats
			p, err := load(cmd.Context(), inputArg(args), opts, sym)
			if err != nil {
				return err
			}
			if stats {
				return writeStats(os.Stdout, p)
			}
			return renderTop(os.Stdout, p, top)
		},
	}
	f := c.Flags()
	f.IntVarP(&top.limit, "limit", "n", 40, "show `N` rows, 0 for all")
	f.StringVar(&top.sort, "sort", "self", "sort by self or cum")
	f.StringVar(&top.by, "by", "", "group by `what` instead of by function: comm, pid or mapping")
	f.BoolVar(&top.wide, "wide", false, "do not cut lines to the width of the terminal")
	f.BoolVar(&stats, "stats", false, "show the number of records by type and of samples by event")
	info.flags(c)
	sel.flags(c)
	sym.flags(c)
	return c
}

// renderTop writes the table of one event.
func renderTop(w io.Writer, p *profile, o topOptions) error {
	event := p.oneEvent()
	ro := render.TopOptions{Event: event, Column: p.weightColumn(event), Limit: o.limit, By: o.by}
	switch o.sort {
	case "", "self":
	case "cum":
		ro.Sort = render.ByCum
	default:
		return usagef("--sort %q: use self or cum", o.sort)
	}
	if w == os.Stdout && !o.wide {
		ro.Width = terminalWidth(os.Stdout)
	}
	ro.Notes = p.stats.Losses()
	return render.Top(w, p.set, ro)
}

// terminalWidth is the number of columns of a terminal, 0 for anything else.
func terminalWidth(f *os.File) int {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(ws.Col)
}

// writeStats writes the counts of a recording in the form of perf report --stats.
func writeStats(w io.Writer, p *profile) error {
	if p.events == nil {
		return fmt.Errorf("%s is not a recording: it has no records to count", p.source)
	}
	var types []abi.RecordType
	var total uint64
	for t, n := range p.stats.Records {
		types = append(types, t)
		total += n
	}
	slices.Sort(types)
	if _, err := fmt.Fprintf(w, "\nAggregated stats:\n%16s events: %10d\n", "TOTAL", total); err != nil {
		return err
	}
	for _, t := range types {
		n := p.stats.Records[t]
		if _, err := fmt.Fprintf(w, "%16s events: %10d  (%4.1f%%)\n", t, n, 100*float64(n)/float64(total)); err != nil {
			return err
		}
	}
	for _, e := range p.stats.Samples {
		if e.Samples == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s stats:\n%16s events: %10d\n", e.Name, "SAMPLE", e.Samples); err != nil {
			return err
		}
	}
	return nil
}
