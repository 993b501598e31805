package main

import (
	"errors"
	"fmt"

	"kprof/convert/diff"
	"kprof/convert/page"
)

// What outputs say of the command's flags.
const (
	timesHint = "take a part of the recording with --time"
	namesHint = "--explain-names lists them"
)

// selectFlags is the command that a page of an input offers for what it selects.
func selectFlags(input string) page.Select {
	if input == "" || input == "-" {
		return page.Select{}
	}
	return page.Select{
		Command: []string{"kprof", "report", input},
		Flags:   map[string]string{"comm": "--comm", "pid": "--pid", "tid": "--tid", "cpu": "--cpu", "time": "--time"},
	}
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
		return fmt.Errorf("%w: --base-ops N --new-ops M", err)
	case diff.NoNames:
		return fmt.Errorf("%w: give its symbols (--%s-vmlinux, --%[2]s-kallsyms, --%[2]s-symfs), or --force", err, sideNames[run.Side])
	}
	return err
}
