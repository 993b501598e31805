//go:build !portable

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"kprof/convert/outfile"
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
	defer func() { err = errors.Join(err, out.close()) }()
	p := &statPrinter{flags: f, out: out, w: textOutput(out.file)}
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

// statOutput is where the counts go. A file has its name once the first ones are written, and
// with -I goes on being written then.
type statOutput struct {
	file    *os.File
	place   *outfile.Place // nil of standard output and standard error
	publish func() error   // gives the file its name; nil when it has one
}

// open is to be followed by close.
func (f *statFlags) open() (out *statOutput, err error) {
	switch {
	case f.output == "-", f.output == "" && len(f.command) == 0:
		return &statOutput{file: os.Stdout}, nil
	case f.output == "":
		return &statOutput{file: os.Stderr}, nil
	}
	o := output{name: f.output}
	if err := o.prepare(); err != nil {
		return nil, err
	}
	out = &statOutput{place: o.place}
	if out.file, err = o.place.Stream(); err == nil && out.file == nil {
		out.file, out.publish, err = o.place.Replace()
	}
	if err != nil {
		o.place.Close()
		return nil, err
	}
	return out, nil
}

// written is called when there are counts in the output.
func (o *statOutput) written() error {
	publish := o.publish
	if publish == nil {
		return nil
	}
	o.publish = nil
	return publish()
}

func (o *statOutput) close() error {
	if o.place == nil {
		return nil
	}
	defer o.place.Close()
	return o.file.Close()
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
	out    *statOutput
	w      io.Writer // to out
	runs   []report.Report
	events []count.Event
	noted  bool
	partly bool // said that a command was not counted to its end
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
			// Rows are sums of all the command's tasks on all CPUs.
			whole := f.cpus == "" && !f.perCPU && !f.perTask
			if text := uncovered(&rep); whole && text != "" && !p.partly {
				p.partly = true
				messagef("%s", text)
			}
		}
		p.runs = append(p.runs, rep)
		return nil
	})
}

// uncovered says that a command took more time of the CPU than it was counted for, beyond what
// the two clocks differ by: the kernel takes the counters away from a process that executes what
// it may not look into (fs/exec.c, begin_new_exec). It is empty where all was counted.
func uncovered(rep *report.Report) string {
	took, counted := rep.User+rep.System, time.Duration(0)
	for _, row := range rep.Rows {
		counted = max(counted, row.Enabled)
	}
	if missing := took - counted; counted == 0 || missing < 10*time.Millisecond || missing < took/10 {
		return ""
	}
	return fmt.Sprintf("counted for %.2f s of the %.2f s of CPU that the command took: the kernel stops counting a process that executes a setuid program, or one that the user may not read; root counts these too", counted.Seconds(), took.Seconds())
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

// fieldSeparator is what -x says; \t is a tab, as for perf (cmd_stat in
// tools/perf/builtin-stat.c).
func fieldSeparator(s string) string {
	if s == `\t` {
		return "\t"
	}
	return s
}

// write writes a report in the format that the flags ask for.
func (p *statPrinter) write(rep *report.Report) (err error) {
	first := !p.wrote
	p.wrote = true
	switch {
	case p.flags.json:
		err = rep.WriteJSON(p.w)
	case p.flags.separator != "":
		err = rep.WriteFields(p.w, fieldSeparator(p.flags.separator))
	case p.flags.interval > 0:
		err = rep.WriteIntervalText(p.w, first)
	default:
		err = rep.WriteText(p.w, report.TextOptions{Title: p.flags.title()})
	}
	if err != nil {
		return err
	}
	return p.out.written()
}
