package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/printable"
)

// inspection is the flags that ask what a recording says of itself.
type inspection struct {
	header, full, events bool
}

func (i *inspection) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&i.header, "header", false, "show the header of the recording: machine, command, events")
	f.BoolVarP(&i.full, "show-info", "I", false, "show the header with the topologies of the machine")
	f.BoolVar(&i.events, "list-events", false, "list the events of the recording")
}

func (i *inspection) asked() bool { return i.header || i.full || i.events }

// flag is what asks.
func (i *inspection) flag() string {
	switch {
	case i.header:
		return "--header"
	case i.full:
		return "-I"
	}
	return "--list-events"
}

// tableOnly are those of a report which what --stats and an inspection show has nothing of.
var tableOnly = []string{"stats", "json", "tree", "by", "histogram", "delays", "reverse", "min", "limit", "sort", "lines", "regions", "last"}

// ownText refuses what would change nothing of what a flag of a report asks for, by what given
// says of the command line.
func ownText(flag string, given func(flag string) bool) error {
	for _, other := range tableOnly {
		if "--"+other != flag && given(other) {
			return usagef("%s is text of its own, without --%s", flag, other)
		}
	}
	return nil
}

// run writes what was asked for.
func (i *inspection) run(ctx context.Context, w io.Writer, inputs []string) error {
	return eachHeaded(w, inputs, func(name string) error {
		f, name, err := openInput(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := i.write(ctx, w, f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

func (i *inspection) write(ctx context.Context, w io.Writer, f *os.File) (err error) {
	r, err := convert.OpenRecording(f)
	if err != nil {
		return worded(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	losses, err := r.ReadHeader(ctx)
	if err != nil {
		return err
	}
	for _, w := range losses {
		messagef("%s", wording(&w))
	}
	if i.header || i.full {
		if err := r.WriteHeader(printable.NewWriter(w), r.Written, i.full); err != nil {
			return err
		}
	}
	if !i.events {
		return nil
	}
	b := bufio.NewWriter(w)
	for _, e := range r.Events.Events {
		fmt.Fprintln(b, printable.Text(e.Name))
	}
	return b.Flush()
}
