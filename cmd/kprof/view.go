package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/pprofui"
	"kprof/convert/stacks"
)

// viewFlags are the flags of kprof view.
type viewFlags struct {
	sel       selection
	sym       symbolOptions
	bases     []string
	addr      string
	source    string
	noBrowser bool
	capture   recordFlags
}

// defaultAddr is a port of this machine only, any that is free.
const defaultAddr = "localhost:0"

func newView() *cobra.Command {
	var f viewFlags
	c := &cobra.Command{
		Use:   "view [INPUT… | flags of kprof record [-- COMMAND [ARGS…]]]",
		Short: "Look at profiles in the browser; record and look in one step",
		Long: `View shows profiles in the browser: as a flame graph, as a table, the callers and
callees of functions, and their source where lines are known. INPUT is anything
that kprof reads, perf.data by default; several are added up. With --diff-base it
shows what differs from another profile.

Without INPUT, a COMMAND, -a, -p, -t or another flag of kprof record has it record
first, until the command ends, the time (-d) is over, or Ctrl-C; then the page opens.
Nothing is written: kprof record --open does this and keeps perf.data. The exit code
is the command's. With INPUT, --event, --pid, --tid and --cpu select from it.

It prints its address, opens a browser where there is a display, and ends with
Ctrl-C. Over ssh it prints the command that makes the page reachable. Only who knows the whole address sees the pages. No file that a profile
names is opened, unless --source allows those below a directory. The web interface
is that of google/pprof. Its graph view is drawn by graphviz, if that is installed.`,
		Example: `  kprof view cpu.pb.gz
  kprof view -a -d 5s
  kprof view -- ls -lR /usr/share
  kprof record --open -e page-faults -c 1 -- ls /
  kprof view --diff-base before.data after.data
  kprof view --http localhost:8080 --no-browser perf.data
  kprof view --source ~/src/project perf.data`,
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
			return f.run(cmd.Context(), inputs, records)
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.bases, "diff-base", nil, "show the difference from this `profile`; several are added up")
	fl.StringVar(&f.addr, "http", defaultAddr, "`host:port` to listen at; port 0 is any that is free")
	fl.StringVar(&f.source, "source", "", "show source lines of files below this `directory`")
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
	}
	opts, err := f.sel.options()
	if err != nil {
		return err
	}
	shown := new(pprofui.Profiles)
	if !records {
		if err := addInputs(ctx, shown.Show, inputs, opts, f.sym); err != nil {
			return err
		}
	}
	if len(f.bases) > 0 {
		if err := addInputs(ctx, shown.Base, f.bases, opts, f.sym); err != nil {
			return err
		}
	}
	// Before anything is recorded: what cannot be shown is not.
	server, err := listenView(f.addr, dir)
	if err != nil {
		return err
	}
	server.browser = !f.noBrowser && haveDisplay()
	if !records {
		return errors.Join(server.serve(shown), server.Close())
	}
	err = f.record(ctx, shown)
	switch ended, ending := f.capture.ending(); {
	case shown.Empty() && err == nil:
		err = exitError{exitFailed} // why has been said
	case shown.Empty():
	case ending:
		messagef("ended by %s, so no page is opened", signalName(ended))
		err = exitError{128 + int(ended)}
	default:
		err = f.capture.thenShow(err, shown, server)
	}
	return errors.Join(err, server.Close())
}

// addInputs loads inputs, adds them up, and has put keep the sum.
func addInputs(ctx context.Context, put func(*stacks.Set) error, inputs []string, opts convert.Options, sym symbolOptions) error {
	p, err := loadSum(ctx, inputs, opts, sym)
	if err != nil {
		return err
	}
	p.ShownFirst()
	set := p.Set
	noteStacks(set)
	if err := put(set); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(inputs, ", "), err)
	}
	return nil
}

// noteStacks says that pages will be slow, if they will.
func noteStacks(set *stacks.Set) {
	if n := set.NumStacks(); n > pprofui.ManyStacks {
		notef("pprof's pages take their time with %d different stacks: select some, or use kprof convert -o FILE.html", n)
	}
}
