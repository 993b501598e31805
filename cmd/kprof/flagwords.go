package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kprof/convert/diff"
	"kprof/convert/page"
	"kprof/convert/transform"
)

// What outputs say of the command's flags.
const (
	timesHint = "take a part of the recording with --time"
	namesHint = "--explain-names lists them"
)

// selectFlags is the command that a page offers for what it selects of inputs, which were
// read with some flags; none of what cannot be read again.
func selectFlags(inputs []string, given [][2]string) page.Select {
	if len(inputs) == 0 || slices.Contains(inputs, "-") || slices.Contains(inputs, "") {
		return page.Select{}
	}
	s := page.Select{Command: []string{"kprof", "report"}, Given: given, Inputs: inputs, Flags: map[string]string{}, Labels: map[string]string{}}
	for _, label := range []string{"comm", "pid", "tid", "cpu"} {
		s.Labels[label] = "--" + label
	}
	for _, flag := range []string{"time", "event", "tagroot"} {
		s.Flags[flag] = "--" + flag
	}
	for _, t := range transformUsages {
		s.Flags[t.op.String()] = "--" + t.op.String()
	}
	return s
}

// readingFlags are the flags that say what a profile is made of, as they were given, with
// their values: "" of those that have none.
func readingFlags(c *cobra.Command, made []transform.Transform) (given [][2]string) {
	var sel selection
	var sym symbolOptions
	var same cobra.Command
	sel.flags(&same)
	sym.flags(&same)
	c.Flags().Visit(func(f *pflag.Flag) {
		_, order := f.Value.(*transformFlag)
		list, several := f.Value.(pflag.SliceValue)
		switch {
		case order || same.Flags().Lookup(f.Name) == nil:
		case several:
			for _, v := range list.GetSlice() {
				given = append(given, [2]string{"--" + f.Name, v})
			}
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			given = append(given, [2]string{"--" + f.Name})
		case f.Value.Type() != "bool":
			given = append(given, [2]string{"--" + f.Name, f.Value.String()})
		}
	})
	for _, t := range made {
		given = append(given, [2]string{"--" + t.Op.String(), t.Text})
	}
	return given
}

// withFlags adds to what a library refuses which flags help.
func withFlags(err error) error {
	if _, ok := errors.AsType[*diff.IncomparableError](err); ok {
		return fmt.Errorf("%w (--force compares all the same)", err)
	}
	run, ok := errors.AsType[*diff.RunError](err)
	if !ok {
		return err
	}
	switch run.Reason {
	case diff.OnlyIdle:
		return fmt.Errorf("%w: compare these too with --with-idle", err)
	case diff.NoDuration:
		return fmt.Errorf("%w: compare shares, or use --per=ops", err)
	case diff.NoOperations:
		return fmt.Errorf("%w: --base-ops N --new-ops M, or runs of kprof bench --ops-from", err)
	case diff.NoNames:
		return fmt.Errorf("%w: give its symbols (--%s-vmlinux, --%[2]s-kallsyms, --%[2]s-symfs), or --force", err, sideNames[run.Side])
	}
	return err
}
