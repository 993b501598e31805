//go:build !portable

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"kprof/perfevent/event"
	"kprof/perfevent/tracefs"
	"kprof/record"
	"kprof/record/tracer"
	"kprof/symbolize"
)

func newProbe() *cobra.Command {
	c := &cobra.Command{
		Use:   "probe",
		Short: "List, keep and remove dynamic probes",
		Long: `Probe shows and changes the dynamic probes of this kernel, whoever made them.
Those of a recording are made and removed by kprof record; here is how to keep
one between recordings, and how to get rid of any.`,
		Example: `  kprof probe list`,
		Args: func(c *cobra.Command, args []string) error {
			if err := maxArgs(0)(c, args); err != nil && strings.HasPrefix(err.Error(), c.CommandPath()) {
				return err // it was mistyped
			}
			if len(args) > 0 {
				return usagef("%s has no command %q; a probe is made with kprof probe add kprobe:%[2]s, or recorded with kprof record -e kprobe:%[2]s", c.CommandPath(), args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newProbeList(), newProbeAdd(), newProbeDel(), newProbeCleanup())
	return c
}

// withTracefs is a command that needs tracefs, which is mounted where it is not.
func withTracefs(run func(fs *tracefs.FS, args []string) error) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		fs, err := tracefs.Find(tracefs.Options{Mount: true})
		if err == nil {
			err = run(fs, args)
		}
		if errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("%w: run as root", err)
		}
		return err
	}
}

func oneArg(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("wants one argument, not %d: quote what has blanks", len(args))
	}
	return nil
}

func newProbeList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List all dynamic probes, their hits, and whose they are",
		Long: `List shows each probe in tracefs: its event, what the kernel counted, whose it is,
and its definition. Probes of the kprobe and uprobe PMUs are not listed by any
kernel: they go with the process that opened them.`,
		Example: `  kprof probe list`,
		Args:    maxArgs(0),
		RunE: withTracefs(func(fs *tracefs.FS, _ []string) error {
			probes, err := fs.Probes()
			if err != nil {
				return err
			}
			if asJSON {
				return writeProbesJSON(os.Stdout, probes)
			}
			return writeProbes(textOutput(os.Stdout), probes)
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON: a list of event, hits, misses, owner and definition")
	return c
}

func writeProbes(w io.Writer, probes []tracefs.Probe) error {
	if len(probes) == 0 {
		messagef("there are no probes in tracefs")
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "EVENT\tHITS\tMISSES\tOWNER\tDEFINITION")
	for _, p := range probes {
		hits, misses := "unknown", "unknown"
		if p.Kind == tracefs.Breakpoint {
			hits = fmt.Sprint(p.Hits)
		}
		if p.MissesKnown {
			misses = fmt.Sprint(p.Misses)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", p.Event(), hits, misses, p.OwnerText(event.KeptGroup), p)
	}
	return tw.Flush()
}

func newProbeAdd() *cobra.Command {
	return &cobra.Command{
		Use:   "add PROBE",
		Short: "Make a probe that stays",
		Long: `Add makes a probe and prints the name of its event, to be recorded with -e. PROBE
is what -e takes: kprobe:FUNC, with fetch arguments after a blank, uprobe:…, or
the kernel's own lines, such as p:[GROUP/]NAME PLACE ARGUMENTS. It stays until it is removed with
kprof probe del, or the machine starts again.`,
		Example: `  kprof probe add uprobe:/bin/bash:readline    # makes the event kprof:readline`,
		Args:    oneArg,
		RunE: func(_ *cobra.Command, args []string) error {
			spec, err := event.ParseSpec(args[0])
			if err != nil {
				return usageError{err}
			}
			res := event.Resolver{MountTracefs: true, Readable: symbolize.DemangleSimple.Readable}
			def, err := res.KeepProbe(spec)
			if err != nil {
				return err
			}
			_, err = fmt.Println(def.Event())
			return err
		},
	}
}

func newProbeDel() *cobra.Command {
	return &cobra.Command{
		Use:   "del GLOB",
		Short: "Remove probes by the name of their event",
		Long: `Del removes the probes whose event, GROUP:NAME as kprof probe list shows it,
matches. One that somebody records cannot be removed.`,
		Example: `  kprof probe del kprof:readline`,
		Args:    oneArg,
		RunE: withTracefs(func(fs *tracefs.FS, args []string) error {
			err := fs.RemoveMatching(args[0])
			if errors.Is(err, path.ErrBadPattern) {
				return usageError{err}
			}
			return err
		}),
	}
}

func newProbeCleanup() *cobra.Command {
	return &cobra.Command{
		Use:   "cleanup",
		Short: "Remove what kprofs that were killed left behind",
		Long: `Cleanup removes the probes of recordings whose kprof is no more, as the next kprof
record would, and instances of the tracer that they made. Probes of others, and those made
with kprof probe add, stay.`,
		Example: `  kprof probe cleanup`,
		Args:    maxArgs(0),
		RunE: withTracefs(func(fs *tracefs.FS, _ []string) error {
			removed, err := fs.Cleanup()
			for _, p := range removed {
				fmt.Println(p.Event())
			}
			instances, ierr := tracer.RemoveStale(fs)
			for _, name := range instances {
				fmt.Println("instances/" + name)
			}
			return errors.Join(err, ierr)
		}),
	}
}

// reportProbes reports what the kernel counted of each probe of a recording, and
// what became of it. Of probes in tracefs, whoever made them, that is all of their hits;
// of others, those that are past the filter. Many without a hit, as of a glob, are one line.
func reportProbes(stats *record.Stats) {
	const many = 8
	var without []int
	for i, e := range stats.Events {
		if e.Probe && e.Hits+e.Kernel.Hits+e.Missed+e.Lost == 0 {
			without = append(without, i)
		}
	}
	for i, e := range stats.Events {
		sumUp := len(without) > many && !voice.verbose && slices.Contains(without, i)
		if (e.MissedKnown || e.Probe) && !sumUp {
			notef("%s", e.Account())
		}
	}
	if len(without) > many && !voice.verbose {
		notef("%d probes had no hit (-v lists them)", len(without))
	}
}

// probeVias are the values of --probe-via.
var probeVias = map[string]event.ProbeVia{
	"auto": event.ProbeAuto, "pmu": event.ProbePMU, "tracefs": event.ProbeTracefs,
}
