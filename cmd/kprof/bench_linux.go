//go:build !portable

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kprof/convert/printable"
	"kprof/record/bench"
)

// benchFlags are the flags of kprof bench.
type benchFlags struct {
	runs       int
	interleave bool
	sides      [2]string
	before     string
	opsFrom    string
	ops        float64
	again      int
	strict     bool
	dir        string
	events     []string
	frequency  uint64
	all        bool
	callGraph  string
}

func newBench() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "bench [flags] [--] COMMAND [ARGS…]",
		Short: "Record a command again and again, for kprof diff",
		Long: `Bench records a COMMAND again and again, as kprof record does, each run into a file of
its own in a directory that kprof diff and kprof history take as one side. Between runs it looks
at what disturbs them: other programs, a CPU frequency that changes, CPUs that are throttled,
other virtual machines. Such a run is made again (--again), and told of if that does not help.

With --interleave it records two commands in turns, those of --base and --new, so that what
changes slowly on the machine makes no difference between them; their runs are in DIR/base
and DIR/new. These and --before are for sh.

The number of operations of a run, for kprof diff --per=ops, is what --ops-from finds in its
output, or --ops.`,
		Example: `  kprof bench -r 2 --ops-from '^total ([0-9]+)' -o old-runs -- ls -l /usr
  kprof bench -r 2 --interleave --base 'ls /usr' --new 'ls -l /usr' -o runs`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	c.Flags().SetInterspersed(false)
	fl := c.Flags()
	fl.IntVarP(&f.runs, "repeat", "r", 5, "record `N` runs, of each side")
	fl.BoolVar(&f.interleave, "interleave", false, "record the commands of --base and --new in turns")
	for i, name := range sideNames {
		fl.StringVar(&f.sides[i], name, "", "with --interleave: `command` of the "+name+" side, for sh")
	}
	fl.StringVar(&f.before, "before", "", "`command` to run before each run, for sh; it is not recorded")
	fl.StringVar(&f.opsFrom, "ops-from", "", "`regexp` that finds the number of operations in the command's output: in its group, or all of it, where it matches last")
	fl.Float64Var(&f.ops, "ops", 0, "`number` of operations of each run")
	fl.IntVar(&f.again, "again", 2, "make a run again up to `N` times if something disturbed it")
	fl.BoolVar(&f.strict, "strict", false, "fail where something disturbed a run all the same")
	fl.StringVarP(&f.dir, "output", "o", "", "`directory` for the runs, which has none yet")
	fl.StringArrayVarP(&f.events, "event", "e", nil, "`event` to sample, as with kprof record")
	fl.VarP((*frequency)(&f.frequency), "freq", "F", "samples per second and CPU, in `Hz`, as with kprof record")
	fl.BoolVarP(&f.all, "all-cpus", "a", false, "the whole machine while the command runs, and not the command alone")
	fl.StringVar(&f.callGraph, "call-graph", "", callGraphUsage)
	return c
}

func (f *benchFlags) run(cmd *cobra.Command, args []string) error {
	o, err := f.options(args)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(cmd.Context())
	defer end()
	signals := watchSignals()
	signals.stopping(ctx, end)
	noisy, made := 0, 0
	err = bench.Record(ctx, o, func(r bench.Run) {
		made++
		if len(r.Noise) > 0 {
			noisy++
		}
		f.say(&r)
	})
	var failed *bench.CommandError
	switch s := signals.asked(); {
	case err != nil && s != nil:
		messagef("%v: %d of %d runs are made", s, made, o.Runs*len(o.Sides))
		return exitError{128 + int(s.(syscall.Signal))}
	case errors.As(err, &failed):
		what := "its command or its recorder"
		if failed.Before {
			what = "--before"
		}
		messagef("%s: %s ended with exit code %d; no more runs are made", runName(failed.Side, failed.Number), what, failed.Code)
		return exitError{failed.Code}
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%w: name another directory, or remove it", err)
	case err != nil:
		return err
	}
	if f.interleave {
		notef("kprof diff %s %s compares them", o.Sides[0].Dir, o.Sides[1].Dir)
	} else {
		notef("kprof diff %s OTHER compares them with those of another build", f.dir)
	}
	if noisy > 0 && f.strict {
		return fmt.Errorf("something disturbed %d of %d runs", noisy, f.runs*len(o.Sides))
	}
	return nil
}

// options checks the flags.
func (f *benchFlags) options(args []string) (o bench.Options, err error) {
	o = bench.Options{Runs: f.runs, Again: f.again, Ops: f.ops, Output: os.Stdout}
	switch {
	case f.runs < 1 || f.again < 0:
		return o, usagef("-r wants a number above 0, --again one that is not negative")
	case f.dir == "":
		return o, usagef("say where the runs shall be: -o DIR")
	case f.interleave && (f.sides[0] == "" || f.sides[1] == "" || len(args) > 0):
		return o, usagef("--interleave records two commands: --base COMMAND --new COMMAND, and none behind them")
	case !f.interleave && f.sides[0]+f.sides[1] != "":
		return o, usagef("--base and --new are for --interleave")
	case !f.interleave && len(args) == 0:
		return o, usagef("name a command to record: kprof bench -o DIR -- COMMAND")
	case f.ops != 0 && f.opsFrom != "":
		return o, usagef("--ops and --ops-from exclude each other")
	case f.ops != 0 && wrongOperations(f.ops) != "":
		return o, usagef("--ops %s", wrongOperations(f.ops))
	}
	if f.opsFrom != "" {
		if o.OpsFrom, err = regexp.Compile(f.opsFrom); err != nil {
			return o, usageError{err}
		}
	}
	if f.before != "" {
		o.Before = []string{"sh", "-c", f.before}
	}
	self, err := os.Executable()
	if err != nil {
		return o, err
	}
	side := func(name, dir string, command []string) {
		o.Sides = append(o.Sides, bench.Side{Name: name, Dir: dir, Record: func(file string) []string {
			return append(append([]string{self}, f.recordArgs(file)...), command...)
		}})
	}
	if !f.interleave {
		side("", f.dir, args)
		return o, nil
	}
	for i, name := range sideNames {
		side(name, filepath.Join(f.dir, name), []string{"sh", "-c", f.sides[i]})
	}
	return o, nil
}

// recordArgs are those of kprof record, without the command.
func (f *benchFlags) recordArgs(file string) []string {
	args := []string{"record", "-q", "-o", file}
	for _, e := range f.events {
		args = append(args, "-e", e)
	}
	if f.frequency > 0 {
		args = append(args, "-F", strconv.FormatUint(f.frequency, 10))
	}
	if f.callGraph != "" {
		args = append(args, "--call-graph="+f.callGraph)
	}
	if f.all {
		args = append(args, "-a")
	}
	return append(args, "--")
}

// runName is what a run is called.
func runName(side string, number int) string {
	if side == "" {
		return fmt.Sprintf("run %d", number)
	}
	return fmt.Sprintf("run %d of %s", number, side)
}

// say tells of a run.
func (f *benchFlags) say(r *bench.Run) {
	text := fmt.Sprintf("%s: %s s, %s s of CPU", runName(r.Side, r.Number), printable.Digits(r.Seconds, 3), printable.Digits(r.CPU, 3))
	if r.Ops > 0 {
		text += fmt.Sprintf(", %s operations", strconv.FormatFloat(r.Ops, 'f', -1, 64))
	}
	if r.Again > 0 {
		text += fmt.Sprintf(", attempt %d", r.Again+1)
	}
	if len(r.Noise) == 0 {
		notef("%s", text)
		return
	}
	var noise []string
	for _, n := range r.Noise {
		noise = append(noise, n.String())
	}
	messagef("%s; disturbed: %s", text, strings.Join(noise, ", "))
}
