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
	"sync"
	"time"

	"kprof/perfevent"
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
	var ending sync.WaitGroup
	ending.Go(func() {
		select {
		case <-signals.first:
			stop()
		case <-ctx.Done():
		}
	})
	err := p.session(ctx, opts, func() error {
		if f.duration > 0 {
			time.AfterFunc(f.duration, stop)
		}
		return nil
	}, nil)
	stop()
	ending.Wait()
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
		return cmd.start()
	}, cmd)
	if failed == nil && cmd.outlasts() {
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
	if len(p.flags.command) == 0 && !slices.ContainsFunc(p.events, func(e count.Event) bool { return e.Refused == nil }) {
		rep := report.Report{Rows: p.rows(nil, nil)}
		return errors.Join(p.write(&rep), errors.New("none of the events can be counted here"))
	}
	tasks := taskNames(p.flags.perTask, s)
	if err := s.Enable(); err != nil {
		return err
	}
	begun := time.Now()
	if err := start(); err != nil {
		return err
	}
	var ticks <-chan time.Time
	if p.flags.interval > 0 {
		t := time.NewTicker(p.flags.interval)
		defer t.Stop()
		ticks = t.C
	}
	var before []count.Reading
	var last time.Duration
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-s.Exited():
			over = true
		case <-ticks:
		}
		elapsed := time.Since(begun)
		if over {
			if err := p.end(s); err != nil {
				return err
			}
		}
		readings, err := s.Read()
		if err != nil {
			return err
		}
		rep := report.Report{Elapsed: elapsed - last}
		if p.flags.interval > 0 {
			rep.At = elapsed
		}
		rep.Rows = p.rows(count.Since(readings, before), tasks)
		before, last = readings, elapsed
		if p.flags.interval == 0 {
			if p.flags.ownCommand() && !cmd.outlasts() {
				rep.User, rep.System = cmd.Times()
			}
			p.runs = append(p.runs, rep)
			continue
		}
		rep.Derive()
		if err := p.write(&rep); err != nil {
			return err
		}
	}
	return nil
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

// end stops the counters, and tells of CPUs that came or went.
func (p *statPrinter) end(s *count.Session) error {
	went, came, err := s.Hotplug()
	if err != nil {
		return err
	}
	for _, cpu := range went {
		messagef("cpu %d went offline: it is counted up to there", cpu)
	}
	for _, cpu := range came {
		messagef("cpu %d came online while counting: it is not counted", cpu)
	}
	return s.Disable()
}

// taskNames are the names of the threads that are counted, by their ids; nil when they
// are not told apart.
func taskNames(wanted bool, s *count.Session) map[int]string {
	if !wanted {
		return nil
	}
	comms := map[int]string{}
	for _, tid := range s.Tasks() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", tid))
		if err != nil {
			b = []byte("?") // it has exited
		}
		comms[tid] = strings.TrimSpace(string(b))
	}
	return comms
}

// statKey is what the counts of a row have in common.
type statKey struct {
	event int
	count.Place
}

// rows adds the readings up as the flags want it: a row for each event, CPU, task or
// cgroup; by cgroup, then by event.
func (p *statPrinter) rows(readings []count.Reading, comms map[int]string) []report.Row {
	f := p.flags
	place := func(r count.Reading) count.Place {
		at := count.Place{CPU: perfevent.AnyCPU, Task: perfevent.AllTasks, Cgroup: -1}
		if f.perCPU {
			at.CPU = r.CPU
		}
		if f.perTask {
			at.Task = r.Task
		}
		if f.perCgroup {
			at.Cgroup = r.Cgroup
		}
		return at
	}
	sums := count.Sum(readings, func(r count.Reading) statKey { return statKey{r.Event, place(r)} })
	var places []count.Place
	seen := map[count.Place]bool{}
	for _, r := range readings {
		if at := place(r); !seen[at] {
			seen[at] = true
			places = append(places, at)
		}
	}
	if len(places) == 0 {
		places = []count.Place{place(count.Reading{Place: count.Place{CPU: perfevent.AnyCPU, Task: perfevent.AllTasks, Cgroup: -1}})}
	}
	var rows []report.Row
	cgroups := 1
	if f.perCgroup {
		cgroups = len(f.names)
	}
	for cgroup := range cgroups {
		for event := range p.events {
			for _, at := range places {
				if f.perCgroup && at.Cgroup != cgroup {
					continue
				}
				total, counted := sums[statKey{event, at}]
				if !counted && p.events[event].Refused == nil && len(sums) > 0 {
					continue // its PMU is not on that CPU
				}
				rows = append(rows, p.row(event, at, total, comms))
			}
		}
	}
	return rows
}

// row is one line of the report.
func (p *statPrinter) row(event int, at count.Place, total count.Total, comms map[int]string) report.Row {
	e := &p.events[event]
	r := report.Row{
		Event: e.Name, Attr: e.Attr, Unit: e.Unit, Value: float64(total.Value) * e.Scale, Whole: e.Scale == 1,
		Enabled: total.Enabled, Running: total.Running,
	}
	switch {
	case e.Refused != nil:
		r.Status = report.NotSupported
	case !total.Counted():
		r.Status = report.NotCounted
	}
	if at.CPU != perfevent.AnyCPU {
		r.Place = fmt.Sprintf("CPU%d", at.CPU)
	}
	if at.Task != perfevent.AllTasks {
		r.Place = fmt.Sprintf("%s-%d", comms[at.Task], at.Task)
	}
	if at.Cgroup >= 0 {
		r.Cgroup = p.flags.names[at.Cgroup]
	}
	return r
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

// addCosts finds out what recording the events would cost, once for each event.
func (p *statPrinter) addCosts(rep *report.Report) {
	costs := map[string]time.Duration{}
	for i := range p.events {
		if _, known := costs[p.events[i].Name]; !known {
			costs[p.events[i].Name] = recordCost(&p.events[i])
		}
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
