//go:build !portable

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"kprof/convert"
	"kprof/convert/export"
)

// kprof view looks at an INPUT or at what it records itself. Flags that both have
// mean what kprof record means by them where there is no INPUT, and select from it
// where there is one.

// sharedFlags are the flags that say what to record, or select from an INPUT.
// Those that are targets have something recorded where there is no INPUT; the
// others do not, by themselves, since perf.data may be meant.
var sharedFlags = map[string]struct {
	target bool
	usage  string
}{
	"event": {false, "`event` to record, as with kprof record; of an INPUT, take only these"},
	"pid":   {true, "record these processes and what they start, a comma-separated `list`; of an INPUT, take only these"},
	"tid":   {true, "record these threads and what they start, a comma-separated `list`; of an INPUT, take only these"},
	"cpu":   {false, "record only on these CPUs, a `list` like 0,4-7; of an INPUT, take only these"},
}

// flags gives a command the flags of what is recorded and of what is selected.
func (f *viewFlags) flags(c *cobra.Command) {
	f.capture.captureFlags(c)
	selects := &cobra.Command{}
	f.sel.flags(selects)
	c.Flags().AddFlagSet(selects.Flags()) // but for those that there are
	for name, shared := range sharedFlags {
		c.Flags().Lookup(name).Usage = shared.usage
	}
}

// records reports whether something is to be recorded, and refuses what says both
// that and to look at inputs.
func (f *viewFlags) records(c *cobra.Command, inputs, command []string) (bool, error) {
	captures, selects := &cobra.Command{}, &cobra.Command{}
	new(recordFlags).captureFlags(captures)
	new(selection).flags(selects)
	records, only := command != nil, "" // a flag that only recordings have
	selecting := ""                     // one that only an INPUT has
	c.Flags().Visit(func(given *pflag.Flag) {
		shared, both := sharedFlags[given.Name]
		switch {
		case both:
			records = records || shared.target && len(inputs) == 0
		case captures.Flags().Lookup(given.Name) != nil:
			records, only = true, flagName(given)
		case selects.Flags().Lookup(given.Name) != nil && !slices.Contains(shapingFlags, given.Name):
			selecting = flagName(given)
		}
	})
	if !records {
		return false, f.nothingToView(inputs)
	}
	switch {
	case len(inputs) > 0 && command != nil:
		return false, usagef("%q is an input, and %q a command to record: one of them", inputs[0], command[0])
	case len(inputs) > 0 && isCommand(inputs[0]):
		return false, usagef("a command to record comes after --: kprof view %s … -- %s", only, strings.Join(inputs, " "))
	case len(inputs) > 0:
		return false, usagef("%s is for what is recorded, not for the input %q", only, inputs[0])
	case command != nil && len(command) == 0:
		return false, usagef("after -- comes the command to record")
	case selecting != "":
		return false, usagef("%s selects from an input, and is not for what is recorded", selecting)
	}
	return true, nil
}

// flagName is a flag as it is typed.
func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// isCommand reports whether a word that names no file names a program.
func isCommand(word string) bool {
	if _, err := os.Stat(word); err == nil {
		return false
	}
	_, err := exec.LookPath(word)
	return err == nil
}

// nothingToView says what to type where there is no input.
func (f *viewFlags) nothingToView(inputs []string) error {
	if len(inputs) > 0 {
		if isCommand(inputs[0]) {
			return fmt.Errorf("there is no file %q; to record a command and look at it: kprof view -- %s", inputs[0], strings.Join(inputs, " "))
		}
		return nil
	}
	if _, err := os.Stat(defaultInput); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no %s here: name a recording, or record and look at it with 'kprof view -a -d 5s' or 'kprof view -- COMMAND'", defaultInput)
	}
	return nil
}

// selectShared takes the flags that recordings have too for what selects from an INPUT.
func (f *viewFlags) selectShared() {
	f.sel.events, f.sel.pids, f.sel.tids, f.sel.cpu = f.capture.events, f.capture.pids, f.capture.tids, f.capture.cpus
}

// record records, and keeps the profile for the pages, which show it while it grows.
// Nothing is written.
func (f *viewFlags) record(ctx context.Context, shown *shownPages, server *viewServer) error {
	if st, err := os.Stat(defaultInput); err == nil && st.Mode().IsRegular() && f.capture.pids+f.capture.tids != "" && !voice.quiet {
		messagef("-p and -t say what to record; to select from %s, name it: kprof view … %[1]s", defaultInput)
	}
	f.capture.sym, f.capture.sel.shape = f.sym, f.sel.shape
	if !shown.onlyPprof && shown.bases == nil {
		shown.recording = make(chan struct{})
		if len(f.capture.command) > 0 {
			server.out = os.Stderr // standard output is the command's
		}
		f.capture.viewed = &liveView{shown: shown, start: func() {
			if server.served == nil && isTerminal(os.Stderr) && !voice.quiet {
				fmt.Fprintln(os.Stderr) // below the line of progress
			}
			server.start(shown)
		}}
	}
	return f.capture.record(ctx, output{format: shown.format(), keep: shown.keep})
}

// recordAndOpen is kprof record --open: it records to an output and shows pages of
// what is in it.
func (f *recordFlags) recordAndOpen(ctx context.Context, out output) error {
	shown := new(shownPages)
	var shape convert.Options
	f.offCPU()
	if err := f.sel.shape.addTo(&shape); err != nil {
		return err
	}
	if out.name == "-" {
		return usagef("--open shows what is in a file, so it is not for -o -; kprof view records without one")
	}
	if st, err := os.Stat(out.name); err == nil && !st.Mode().IsRegular() {
		return usagef("--open shows what is in a file, and %s is none; kprof view records without one", out.name)
	}
	out.keep = shown.keep
	server, err := listenView(defaultAddr)
	if err != nil {
		return err
	}
	server.browser = haveDisplay()
	recorded := f.record(ctx, out)
	if _, ending := f.ending(); ending {
		return errors.Join(recorded, server.Close())
	}
	if out.format == export.Data && f.recorded > 0 {
		sym := symbolOptions{signals: f.sym.signals}
		if err := shown.inputs(ctx, []string{out.name}, shape, sym); err != nil {
			return errors.Join(err, server.Close())
		}
	}
	return errors.Join(f.thenShow(recorded, shown, server), server.Close())
}

// ending is the signal that has ended the recording and asks for the end of all, as
// all do but Ctrl-C.
func (f *recordFlags) ending() (unix.Signal, bool) {
	if f.sym.signals == nil {
		return 0, false
	}
	s, ok := f.sym.signals.asked().(unix.Signal)
	return s, ok && s != unix.SIGINT
}

// thenShow shows pages of what has been recorded, if there is something, until a
// signal. The exit code is the recorded command's all the same.
func (f *recordFlags) thenShow(recorded error, shown *shownPages, server *viewServer) error {
	if shown.empty() {
		return recorded
	}
	if recorded != nil && !errors.As(recorded, new(exitError)) {
		messagef("%v", recorded) // and yet some is kept
		recorded = exitError{exitFailed}
	}
	if f.ended != 0 && f.sym.signals.asked() == nil && !voice.quiet {
		messagef("%s ended with exit code %d", f.command[0], f.ended)
	}
	f.sym.signals.rearm()
	if err := shown.finish(); err != nil {
		return err
	}
	server.signals = f.sym.signals
	if len(f.command) > 0 {
		server.out = os.Stderr // standard output is the command's
	}
	if !voice.quiet && isTerminal(os.Stderr) {
		messagef("the page is there until Ctrl-C")
	}
	if err := server.serve(shown); err != nil {
		return err
	}
	return recorded
}

// ofRecording completes a shared flag as kprof record does where there is no input.
func ofRecording(name string, ofInput completion) completion {
	live := lists(completeEvents)
	if name != "event" {
		live = lists(completePIDs)
	}
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		records := false
		c.Flags().Visit(func(f *pflag.Flag) { records = records || f.Name == "all-cpus" || sharedFlags[f.Name].target })
		if _, err := os.Stat(defaultInput); len(args) == 0 && (records || sharedFlags[name].target || err != nil) {
			return live(c, args, word)
		}
		return ofInput(c, args, word)
	}
}
