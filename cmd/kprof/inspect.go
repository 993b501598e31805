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
	"kprof/convert/replay"
	"kprof/perfevent/perfdata"
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

// run writes what was asked for.
func (i *inspection) run(ctx context.Context, w io.Writer, name string) error {
	f, err := openInput(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := i.write(ctx, w, f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (i *inspection) write(ctx context.Context, w io.Writer, f *os.File) (err error) {
	r, err := convert.OpenRecording(f)
	if err != nil {
		return worded(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var trace replay.HardwareTrace
	if r.PipeMode() || len(r.Features.Auxtrace) > 0 { // in pipe mode the header comes with the records
		for rec, err := range r.Records() {
			var truncated *perfdata.TruncatedError
			if err != nil && !errors.As(err, &truncated) {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil {
				trace.Take(rec.Type, rec.Payload, r.Order())
			}
		}
	}
	for _, w := range convert.Losses(&replay.Stats{Trace: trace}) {
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
