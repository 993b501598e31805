package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"kprof/convert/page"
)

// viewFlags are the flags of kprof view.
type viewFlags struct {
	sel       selection
	sym       symbolOptions
	bases     []string
	addr      string
	source    string
	sourceURL page.Source
	pprof     bool
	noBrowser bool
	capture   recordFlags
	given     [][2]string // of those that say what is read
}

// defaultAddr is a port of this machine only, any that is free.
const defaultAddr = "localhost:0"

func newView() *cobra.Command {
	var f viewFlags
	c := &cobra.Command{
		Use:   "view [INPUT… | flags of kprof record [-- COMMAND [ARGS…]]]",
		Short: "Look at profiles in the browser; record and look in one step",
		Long: `View shows profiles in the browser: as flame graph, in the order of time, the
callers and callees of functions, as a table, as a tree of calls, as a map of when in
each second, by the sizes of values, and sample by sample, all of them filtered by labels,
and by the part of the time that is dragged over. A right click, a long press or the key m says
what can be done with a function: show only stacks with it, hide it, collapse it. For
all of this the page offers the command of kprof report, and saves it: as folded stacks, for
pprof (without addresses), as SVG or PNG, and as a page of its own. INPUT
is anything that kprof reads, perf.data by default; several are tabs, and one tab has
their sum. It is the page that kprof convert -o FILE.html writes, kept in memory.

Without INPUT, a COMMAND, -a, -p, -t or another flag of kprof record has it record
until the command ends, the time (-d) is over, or Ctrl-C. After two seconds the page opens,
and shows what there is so far, each two seconds more; then it is the whole recording.
Nothing is written: kprof record --open does this and keeps perf.data. The exit code
is the command's. With INPUT, --event, --pid, --tid and --cpu select from it.

It prints its address, opens a browser where there is a display, and ends with
Ctrl-C. Over ssh it prints the command that makes the page reachable. Only who knows
the whole address sees the pages.

With --diff-base the first tab is a comparison, as kprof diff makes it: the verdict, what
changed, and the flame graphs of both sides, in which one points at the same stacks; the
other tabs are the profiles.

A link on the page leads to the web interface of google/pprof, which --pprof opens
instead; it also shows source lines, of files below --source only, and the menu of a function
leads to its. Its graph view is drawn by graphviz, if that is installed.`,
		Example: `  kprof view cpu.pb.gz
  kprof view -a -d 5s
  kprof view -- ls -lR /usr/share
  kprof record --open -e page-faults -c 1 -- ls /
  kprof view before.data after.data
  kprof view --diff-base before.data after.data
  kprof view --http localhost:8080 --no-browser perf.data
  kprof view --lines --source-url /build/=https://git.example.org/project/{file}#L{line}
  kprof view --pprof --source ~/src/project perf.data`,
		RunE: func(cmd *cobra.Command, args []string) error {
			inputs := args
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				inputs = args[:n:n]
				f.capture.given(cmd, args[n:])
			} else {
				f.capture.given(cmd, nil)
			}
			records, err := f.records(cmd, inputs, f.capture.command)
			if err != nil {
				return err
			}
			f.given = readingFlags(cmd, f.sel.shape.transforms)
			return f.run(cmd.Context(), inputs, records)
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.bases, "diff-base", nil, "show what differs from this `profile`, or from a directory or pattern of profiles; several are runs of the same")
	fl.StringVar(&f.addr, "http", defaultAddr, "`host:port` to listen at; port 0 is any that is free")
	fl.BoolVar(&f.pprof, "pprof", false, "open pprof's web interface")
	fl.StringVar(&f.source, "source", "", "have pprof's interface show source lines of files below this `directory`")
	fl.Var(sourceFlag{&f.sourceURL}, "source-url", sourceUsage)
	fl.BoolVar(&f.noBrowser, "no-browser", false, "do not open a browser")
	f.flags(c)
	f.sym.flags(c)
	return c
}

func (f *viewFlags) run(ctx context.Context, inputs []string, records bool) (err error) {
	if len(inputs) == 0 {
		inputs = []string{defaultInput}
	}
	if _, _, err := net.SplitHostPort(f.addr); err != nil {
		return usagef("--http %q: wants host:port, or :port for this machine only", f.addr)
	}
	var dir *os.Root
	if f.source != "" {
		if dir, err = os.OpenRoot(f.source); err != nil {
			return fmt.Errorf("--source: %w", err)
		}
		defer dir.Close()
	}
	if !records {
		f.selectShared()
		err = stdinOnce(slices.Concat(inputs, f.bases))
	} else {
		err = stdinOnce(f.bases)
	}
	if err != nil {
		return err
	}
	opts, err := f.sel.options()
	if err != nil {
		return err
	}
	shown := &shownPages{onlyPprof: f.pprof, sources: dir, given: f.given, sourceURL: f.sourceURL}
	shown.needs(&opts, &f.sym)
	if len(f.bases) > 0 {
		if err := f.takeBases(ctx, shown, opts); err != nil {
			return err
		}
	}
	// Before anything is read or recorded: what cannot be shown is not.
	server, err := listenView(f.addr)
	if err != nil {
		return err
	}
	server.browser = !f.noBrowser && haveDisplay()
	if !records {
		shown.read = func() {
			server.signals = watchSignals()
			server.start(shown)
		}
		err = shown.inputs(ctx, inputs, opts, f.sym)
		switch {
		case err == nil:
			err = server.serve(shown)
		case server.served != nil:
			server.remove()
		}
		return errors.Join(err, server.Close())
	}
	err = f.record(ctx, shown, server)
	switch ended, ending := f.capture.ending(); {
	case shown.empty() && err == nil:
		err = exitError{exitFailed} // why has been said
	case shown.empty():
	case ending && server.served != nil:
		messagef("ended by %s", signalName(ended))
		err = exitError{128 + int(ended)}
	case ending:
		messagef("ended by %s, so no page is opened", signalName(ended))
		err = exitError{128 + int(ended)}
	default:
		err = f.capture.thenShow(err, shown, server)
	}
	return errors.Join(err, server.Close())
}
