//go:build !portable

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"kprof/record"
	"kprof/record/doctor"
)

func newDoctor() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this kernel and this user may record",
		Long: `Doctor tries what a recording may need and says for each whether it is there
(OK) or not (no), and how to get it. With record and its flags behind it, it says
whether just that can be recorded.`,
		Example: `  kprof doctor
  kprof doctor | grep ' no ' || true    # only what is missing
  kprof doctor record -a`,
		Args: maxArgs(0),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return writeJSON(os.Stdout, doctor.Examine())
			}
			return writeFindings(textOutput(os.Stdout), doctor.Examine())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON: a list of group, what, ok, detail and remedy")
	c.AddCommand(newDoctorRecord())
	return c
}

func writeFindings(w io.Writer, findings []doctor.Finding) error {
	bw := bufio.NewWriter(w)
	group := ""
	for _, f := range findings {
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(bw, "%s\n", group)
		}
		mark := "OK"
		if !f.OK {
			mark = "no"
		}
		fmt.Fprintf(bw, "  %s  %-26s  %s", mark, f.What, f.Detail)
		if f.Remedy != "" {
			fmt.Fprintf(bw, "; %s", f.Remedy)
		}
		fmt.Fprintln(bw)
	}
	return bw.Flush()
}

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
	for _, group := range opts.Target.Cgroups {
		defer group.Close()
	}
	if f.ownCommand() {
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
