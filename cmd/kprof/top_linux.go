//go:build !portable

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/browse"
	"kprof/convert/export"
	"kprof/convert/live"
	"kprof/record"
	"kprof/record/capture"
)

// topFlags are the flags of kprof top.
type topFlags struct {
	recordFlags
	table topOptions
	every time.Duration
	stdio bool
}

func newTop() *cobra.Command {
	f := &topFlags{every: time.Second}
	f.top = f
	c := &cobra.Command{
		Use:   "top [flags] [[--] COMMAND [ARGS…]]",
		Short: "Show the functions that cost most, while they run",
		Long: `Top shows the functions with the samples of the last second, of the whole machine, of
processes (-p), threads (-t), cgroups or a COMMAND, until q, Ctrl-C or the end of the
time (-d). On a terminal it is a table to look around in, as kprof report is: ? tells the keys.
In a pipe, or with --stdio, it prints a table for each second.`,
		Example: `  kprof top -d 1s --by comm
  kprof top -d 1s --stdio -n 5
  kprof top -e page-faults -c 1 --by comm -d 1s | head`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given(cmd, args)
			return f.run(cmd.Context())
		},
	}
	c.Flags().SetInterspersed(false) // what follows the command's name is the command's
	f.captureFlags(c)
	f.sel.shape.flags(c)
	fl := c.Flags()
	fl.VarP((*duration)(&f.every), "every", "", "show the samples of so much `time`")
	fl.BoolVar(&f.stdio, "stdio", false, "print tables, though there is a terminal")
	fl.VarP(rowsOf(&f.table.limit, 20), "limit", "n", "print `N` rows, 0 for all")
	fl.StringVar(&f.table.sort, "sort", "self", "sort by self or cum")
	fl.StringVar(&f.table.by, "by", "", "group by `what` instead of by function: comm, pid, tid, cpu, mapping, event, a field of the event; several with commas")
	return c
}

func (f *topFlags) run(ctx context.Context) error {
	if f.every < 100*time.Millisecond {
		return usagef("--every %v: wants at least 100ms", f.every)
	}
	if err := f.table.check(new(convert.Options)); err != nil {
		return err
	}
	for key := range strings.SplitSeq(f.table.by, ",") {
		if key != "" && !slices.Contains([]string{"mapping", "event", "comm", "pid"}, key) {
			f.sel.shape.labels = append(f.sel.shape.labels, key)
		}
	}
	return f.record(ctx, output{name: "-", format: export.Text})
}

// topSink shows the profile of each period.
type topSink struct {
	*live.Periods
	f    *topFlags
	stop func()

	screen  tcell.Screen // nil where tables are printed
	end     func()
	updates chan browse.Update
	left    chan struct{} // closed when the reader has enough
	shown   bool
}

func (f *topFlags) newSink(ctx context.Context, c *capture.Capture, stop func()) (*topSink, error) {
	s := &topSink{f: f, stop: stop, updates: make(chan browse.Update), left: make(chan struct{})}
	var err error
	s.Periods, err = f.newPeriods(context.WithoutCancel(ctx), output{name: "kprof top", format: export.Text}, c, f.every, false, s.take)
	if err != nil {
		return nil, err
	}
	if !f.stdio && onScreen() {
		if screen, end, err := openScreen(); err == nil {
			s.screen, s.end = screen, end
		}
	}
	return s, nil
}

// take shows the profile of a period.
func (s *topSink) take(c *convert.Profile) error {
	p := &profile{c}
	if s.screen == nil {
		return s.print(p)
	}
	if !s.shown {
		b, err := browse.New(p.Set, s.f.table.browse(p))
		if err != nil {
			return err
		}
		s.shown = true
		go func() {
			defer close(s.left)
			b.Run(s.screen, s.updates)
			s.end() // though the last period is still to be named
			s.stop()
		}()
		return nil
	}
	select {
	case s.updates <- browse.Update{Set: p.Set, Notes: p.losses()}:
	case <-s.left:
	}
	return nil
}

func (s *topSink) print(p *profile) error {
	if s.shown {
		fmt.Println()
	}
	s.shown = true
	if p.Set.NumSamples() == 0 {
		fmt.Println("No samples.")
		return nil
	}
	if err := renderTop(textOutput(os.Stdout), p, s.f.table); err != nil {
		return s.f.table.groupError(err)
	}
	return nil
}

// finish gives the terminal back: what is said then can be read.
func (s *topSink) finish(_ context.Context, stats *record.Stats) error {
	err := s.Close()
	if s.screen != nil {
		if s.shown {
			_ = s.screen.PostEvent(tcell.NewEventInterrupt(nil))
			<-s.left
		} else {
			s.end()
		}
	}
	if reportLosses(stats); errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

func (s *topSink) String() string { return "kprof top" }
