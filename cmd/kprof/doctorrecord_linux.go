//go:build !portable

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kprof/record"
)

// newDoctorRecord is kprof doctor record: whether what kprof record is given can be
// recorded, found out by opening it.
func newDoctorRecord() *cobra.Command {
	c := newRecord()
	c.Use = "record [flags of kprof record] [[--] COMMAND]"
	c.Short = "Tell whether a recording can be made"
	c.Long = `Record opens what kprof record with the same flags would, and closes it again:
nothing is recorded, no command runs, no file is written. Exit code 1 where it cannot work.`
	c.Example = `  kprof doctor record -a
  kprof doctor record -e sched:sched_switch -- ls`
	return c
}

// try opens a recording and closes it.
func (f *recordFlags) try(ctx context.Context) (err error) {
	if _, err := chooseOutput(f.output, f.format); err != nil {
		return err
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	if opts.Target.Cgroup != nil {
		defer opts.Target.Cgroup.Close()
	}
	if len(f.command) > 0 && !opts.Target.AllCPUs {
		// What it could record of a command it could record of itself.
		opts.Target.PIDs = []int{os.Getpid()}
	}
	s, err := record.Open(ctx, opts)
	if err != nil {
		return err
	}
	for _, n := range s.Notes() {
		messagef("%s", n)
	}
	if err := s.Close(); err != nil {
		return err
	}
	fmt.Println("OK  this can be recorded")
	return nil
}
