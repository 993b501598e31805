package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/convert/replay"
	"kprof/convert/table"
	"kprof/perfevent/spanrule"
)

// listFlags are the flags that say how events are listed.
type listFlags struct {
	columns       string
	format        string
	stacks, nanos bool
	reltime       bool
	deltatime     bool
	longest       bool
	limit         uint64
	tail          int
}

func (l *listFlags) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&l.columns, "fields", "F", "", "`columns` to show: comm, pid, tid, cpu, time, period, event, trace, fields, raw, addr, data_src, weight, ins_lat, retire_lat, iregs, uregs, phys_addr, data_page_size, code_page_size, ip, sym, dso; or some more and fewer than by default: +pid,-cpu")
	f.StringVarP(&l.format, "format", "f", "text", "text, as perf script prints it; json, an object a line; or csv")
	f.BoolVar(&l.stacks, "stacks", false, "show the stack of each event that has one")
	f.BoolVar(&l.nanos, "ns", false, "show times to the nanosecond, as json and csv have them")
	f.BoolVar(&l.reltime, "reltime", false, "show times since the first event shown")
	f.BoolVar(&l.deltatime, "deltatime", false, "show times since the event shown before")
	f.Uint64Var(&l.limit, "limit", 0, "end after `N` events, of each input")
}

// printer checks the flags.
func (l *listFlags) printer() (o listing.PrinterOptions, err error) {
	o = listing.PrinterOptions{Stacks: l.stacks, Nanos: l.nanos, Limit: l.limit, Tail: l.tail}
	switch l.format {
	case "text":
	case "json":
		o.Format = listing.JSON
	case "csv":
		o.Format = listing.CSV
	default:
		return o, usagef("-f %q: use text, json or csv", l.format)
	}
	switch {
	case l.reltime && l.deltatime:
		return o, usagef("--reltime and --deltatime exclude each other")
	case l.reltime:
		o.Times = listing.SinceStart
	case l.deltatime:
		o.Times = listing.SinceLast
	}
	if l.columns != "" {
		if o.Columns, err = listing.ParseColumns(l.columns); err != nil {
			return o, usagef("-F %q: %w", l.columns, err)
		}
	}
	return o, nil
}

func newScript() *cobra.Command {
	var sel selection
	var sym symbolOptions
	var list listFlags
	c := &cobra.Command{
		Use:   "script [INPUT…]",
		Short: "List the single events of a recording, with their fields",
		Long: `Script prints the events of a recording one a line, in the order of time over all
CPUs, as perf script does: who, where, when, and what the kernel says of it. What the
kernel lost is told in its place. INPUT is perf.data by default, or a trace: trace-cmd's
trace.dat, or text of the kernel's tracer; - is standard input. Several inputs are listed
one after the other, each with its name before it, or in JSON and CSV in each line.

Columns (-F) are in perf's words and order: trace is the event's payload as the kernel
prints it, fields the same as name=value. With --where only events are shown that match
an expression on their fields; C's operators, ~ for a glob, and in {...}.

With --span, --off-cpu, --longest or --slower-than it lists times between events instead,
each with when it began, how long it was, who it was of and its labels (kprof help spans).`,
		Example: `  kprof script
  kprof script -F comm,tid,time,event,trace --tail 20 perf.data
  kprof script --event sched:sched_switch --where 'next_pid != 0 && prev_state in {0, 1}'
  kprof script --stacks --limit 5
  kprof script --off-cpu --longest --limit 3 --stacks
  kprof script -f json > events.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := sel.options()
			if err != nil {
				return err
			}
			po, err := list.printer()
			if err != nil {
				return err
			}
			if po.Tail < 0 || po.Tail > 0 && po.Limit > 0 {
				return usagef("--tail wants a number, and not beside --limit")
			}
			if sel.shape.offCPU || sel.shape.wakers || len(sel.shape.spans) > 0 || list.longest || sel.shape.slower > 0 {
				return eachInput(args, func(name, input string, _ bool) error { return list.spans(cmd.Context(), name, input, opts, sym) })
			}
			if len(sel.shape.labels) > 0 {
				return usagef("--label is for --span and --off-cpu; of events all fields are listed: see -F")
			}
			sym.NamesOnly = true
			sym.addTo(&opts)
			return eachInput(args, func(name, input string, more bool) error {
				po := po
				po.Input, po.More = input, more
				return listRecording(cmd.Context(), name, listing.Options{Options: opts, Stacks: list.stacks}, po)
			})
		},
	}
	sel.samplesFlags(c)
	list.flags(c)
	sel.shape.whereFlag(c)
	sel.shape.spanFlags(c)
	c.Flags().StringSliceVar(&sel.shape.labels, "label", nil, "of --span and --off-cpu: show `fields` of their events too, or cpu")
	c.Flags().BoolVar(&list.longest, "longest", false, "list times between events, the longest first: of --span, --off-cpu, or what the recording was made for")
	c.Flags().IntVar(&list.tail, "tail", 0, "show only the last `N` events, of each input")
	sym.flags(c)
	return c
}

// checkTimes refuses what is not for times between events.
func (l *listFlags) checkTimes() error {
	switch {
	case l.columns != "" || l.nanos || l.reltime || l.deltatime:
		return usagef("-F, --ns, --reltime and --deltatime are for events; --span and --off-cpu list when each time began, how long it was, and its labels")
	case l.format == "csv":
		return usagef("-f csv is for events; --span and --off-cpu list text or json")
	}
	return nil
}

// spans lists the times between events of an input.
func (l *listFlags) spans(ctx context.Context, name, input string, o convert.Options, sym symbolOptions) error {
	if err := l.checkTimes(); err != nil {
		return err
	}
	o.Times, o.SpanFields = true, true
	o.Labels |= replay.LabelTID
	given := o.OffCPU || len(o.Spans) > 0 // else the recording says it, maybe
	sym.none = given && !l.stacks && !slices.ContainsFunc(o.Spans, (*spanrule.Rule).NamesCode)
	p, err := load(ctx, name, o, sym)
	if err != nil {
		return err
	}
	if len(p.Stats.SpanEvents) == 0 {
		return fmt.Errorf("%s: it keeps no rule of times between events: say which with --span or --off-cpu", name)
	}
	so := table.SpansOptions{
		Events: p.Stats.SpanEvents, Longest: l.longest, Limit: l.limit, Tail: l.tail, Stacks: l.stacks, JSON: l.format == "json", Input: input,
	}
	if err := table.Spans(linesOutput{textOutput(os.Stdout)}, p.Set, so); !errors.Is(err, listing.ErrStop) {
		return err
	}
	return nil
}

// listRecording lists the events of an input.
func listRecording(ctx context.Context, name string, o listing.Options, po listing.PrinterOptions) error {
	f, name, err := openInput(name)
	if err != nil {
		return err
	}
	defer f.Close()
	rec, err := convert.OpenRecording(f)
	if errors.Is(err, convert.ErrNoRecording) {
		return fmt.Errorf("%s: it is no recording, but a profile or text, in which events are added up or without fields: kprof script lists those of a perf.data, or of a trace", name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, worded(err))
	}
	defer rec.Close()
	o.Name = name
	po.Parallel = rec.Rewindable() // else whoever writes may be slow, and each line is waited for
	p := listing.NewPrinter(linesOutput{textOutput(os.Stdout)}, po)
	o.Address = p.Address
	res, err := listing.Read(ctx, rec, o, p)
	err = errors.Join(err, closePrinter(p))
	if res != nil {
		say(res.Warnings)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, worded(err))
	}
	return nil
}

// linesOutput is where lines are written until nobody reads them any more, who then has seen
// enough.
type linesOutput struct{ w io.Writer }

func (o linesOutput) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		err = listing.ErrStop
	}
	return n, err
}

// closePrinter writes what is left, if somebody reads it.
func closePrinter(p *listing.Printer) error {
	if err := p.Close(); !errors.Is(err, listing.ErrStop) {
		return err
	}
	return nil
}
