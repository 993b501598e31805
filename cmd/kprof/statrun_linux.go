//go:build !portable

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"kprof/perfevent/count"
	"kprof/perfevent/count/report"
)

// run counts, and prints.
func (f *statFlags) run(ctx context.Context) (err error) {
	opts, err := f.options()
	defer func() {
		for _, dir := range opts.Target.Cgroups {
			dir.Close()
		}
	}()
	if err != nil {
		return err
	}
	out, err := f.open()
	if err != nil {
		return err
	}
	if out != os.Stdout && out != os.Stderr {
		defer func() { err = errors.Join(err, out.Close()) }()
	}
	p := &statPrinter{flags: f, w: textOutput(out)}
	signals := watchSignals()
	if len(f.command) == 0 {
		return f.runTarget(ctx, opts, signals, p)
	}
	for range f.runs {
		counted := len(p.runs)
		failed := f.runCommand(ctx, opts, signals, p)
		if p.failed == nil {
			p.failed = failed
		}
		if len(p.runs) == counted || signals.asked() != nil {
			break
		}
	}
	if len(p.runs) == 0 {
		return p.failed
	}
	if n := len(p.runs); n < f.runs {
		messagef("%d of %d runs were counted", n, f.runs)
	}
	return errors.Join(p.print(), p.failed)
}

// open is where the counts go.
func (f *statFlags) open() (*os.File, error) {
	switch {
	case f.output == "-", f.output == "" && len(f.command) == 0:
		return os.Stdout, nil
	case f.output == "":
		return os.Stderr, nil
	}
	return os.OpenFile(f.output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
}

// runTarget counts what runs already, until a signal or the end of the time.
func (f *statFlags) runTarget(ctx context.Context, opts count.Options, signals *signals, p *statPrinter) error {
	ctx, stop := context.WithCancel(ctx)
	wait := signals.stopping(ctx, stop)
	err := p.session(ctx, opts, func() error {
		if f.duration > 0 {
			time.AfterFunc(f.duration, stop)
		}
		return nil
	}, nil)
	stop()
	wait()
	if err != nil {
		return err
	}
	return p.print()
}

// runCommand counts a command, or something else while a command runs, once.
func (f *statFlags) runCommand(ctx context.Context, opts count.Options, signals *signals, p *statPrinter) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd, err := launch(f.command, signals, stop)
	if err != nil {
		return err
	}
	if f.ownCommand() {
		opts.Target.PIDs, opts.Target.EnableOnExec = []int{cmd.PID()}, true
	}
	failed := p.session(ctx, opts, func() error {
		if f.duration > 0 {
			time.AfterFunc(f.duration, func() {
				_ = cmd.Signal(os.Interrupt)
				stop()
			})
		}
		return cmd.Start()
	}, cmd)
	if failed == nil && cmd.Outlasts() {
		messagef("the counting has ended, while %s goes on", f.command[0])
	}
	return cmd.result(failed)
}

// statPrinter makes reports of sessions and prints them.
type statPrinter struct {
	flags  *statFlags
	w      io.Writer
	runs   []report.Report
	events []count.Event
	noted  bool
	wrote  bool
	failed error // of the first run that did
}

// session counts once, from start to the end of ctx or of the targets.
func (p *statPrinter) session(ctx context.Context, opts count.Options, start func() error, cmd *supervised) (err error) {
	s, err := count.Open(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p.note(s)
	f := p.flags
	by := count.Grouping{CPU: f.perCPU, Task: f.perTask, Cgroup: f.perCgroup}
	names := count.Names{Cgroups: f.names}
	if len(f.command) == 0 && !slices.ContainsFunc(p.events, func(e count.Event) bool { return e.Refused == nil }) {
		rep := report.Report{Rows: count.Rows(p.events, nil, by, names)}
		return errors.Join(p.write(&rep), errors.New("none of the events can be counted here"))
	}
	if f.perTask {
		names.Tasks = s.TaskNames()
	}
	return s.Watch(ctx, f.interval, start, func(now count.Interval) error {
		for _, cpu := range now.Went {
			messagef("cpu %d went offline: it is counted up to there", cpu)
		}
		for _, cpu := range now.Came {
			messagef("cpu %d came online while counting: it is not counted", cpu)
		}
		rep := report.Report{Elapsed: now.Elapsed, Rows: count.Rows(p.events, now.Readings, by, names)}
		if f.interval > 0 {
			rep.At = now.At
			rep.Derive()
			return p.write(&rep)
		}
		if f.ownCommand() && !cmd.Outlasts() {
			rep.User, rep.System = cmd.Times()
		}
		p.runs = append(p.runs, rep)
		return nil
	})
}

// note says what the user should know before the counting begins, once.
func (p *statPrinter) note(s *count.Session) {
	p.events = s.Events()
	if p.noted {
		return
	}
	p.noted = true
	for _, n := range s.Notes() {
		messagef("%s", n)
	}
	var reasons []string
	refused := map[string][]string{}
	for i := range p.events {
		if e := &p.events[i]; e.Refused != nil {
			why := e.Refused.Error()
			if refused[why] == nil {
				reasons = append(reasons, why)
			}
			refused[why] = append(refused[why], e.Name)
		}
	}
	for _, why := range reasons {
		notef("not supported: %s: %s", strings.Join(refused[why], ", "), why)
	}
}

// print prints the report of all runs.
func (p *statPrinter) print() error {
	if len(p.runs) == 0 {
		return nil // the intervals have been printed
	}
	rep := report.Merge(p.runs)
	rep.Derive()
	if p.flags.separator == "" && !voice.quiet {
		p.addCosts(&rep)
	}
	return p.write(&rep)
}

// addCosts finds out what recording the events would cost.
func (p *statPrinter) addCosts(rep *report.Report) {
	each, err := count.RecordCosts(p.events)
	if err != nil && voice.verbose {
		notef("%v", err)
	}
	costs := map[string]time.Duration{}
	for i := range p.events {
		costs[p.events[i].Name] = each[i]
	}
	for i := range rep.Rows {
		rep.Rows[i].RecordCost = costs[rep.Rows[i].Event]
	}
}

// write writes a report in the format that the flags ask for.
func (p *statPrinter) write(rep *report.Report) error {
	first := !p.wrote
	p.wrote = true
	switch {
	case p.flags.json:
		return rep.WriteJSON(p.w)
	case p.flags.separator != "":
		return rep.WriteFields(p.w, p.flags.separator)
	case p.flags.interval > 0:
		return rep.WriteIntervalText(p.w, first)
	}
	return rep.WriteText(p.w, report.TextOptions{Title: p.flags.title()})
}
