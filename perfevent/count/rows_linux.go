package count

import (
	"errors"
	"fmt"
	"os"
	"time"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/count/report"
	"kprof/perfevent/event"
	"kprof/perfevent/procfs"
)

// Grouping says what readings are told apart by, besides their event.
type Grouping struct {
	CPU, Task, Cgroup bool
}

// Names are what places are called.
type Names struct {
	Tasks   map[int]string // by thread id
	Cgroups []string       // by index in Target.Cgroups
}

// TaskNames are the names of the threads that are counted, by their ids: "?" of one
// that has exited. It is to be called before they run on, since they may exit.
func (s *Session) TaskNames() map[int]string {
	comms := map[int]string{}
	for _, tid := range s.Tasks() {
		comm, err := procfs.Comm(os.DirFS("/proc"), tid)
		if err != nil {
			comm = "?"
		}
		comms[tid] = comm
	}
	return comms
}

// of is the part of a place that is told apart.
func (g Grouping) of(p Place) Place {
	at := Place{CPU: perfevent.AnyCPU, Task: perfevent.AllTasks, Cgroup: -1}
	if g.CPU {
		at.CPU = p.CPU
	}
	if g.Task {
		at.Task = p.Task
	}
	if g.Cgroup {
		at.Cgroup = p.Cgroup
	}
	return at
}

// Rows adds readings up to the rows of a report: one for each event in each place that
// by tells apart; by cgroup, then by event. Events that were not read at all, such as
// those that this machine cannot count, have a row that says so.
func Rows(events []Event, readings []Reading, by Grouping, names Names) []report.Row {
	type key struct {
		event int
		Place
	}
	sums := Sum(readings, func(r Reading) key { return key{r.Event, by.of(r.Place)} })
	var places []Place
	seen := map[Place]bool{}
	for _, r := range readings {
		if at := by.of(r.Place); !seen[at] {
			seen[at] = true
			places = append(places, at)
		}
	}
	if len(places) == 0 {
		places = []Place{Grouping{}.of(Place{})}
	}
	var rows []report.Row
	cgroups := 1
	if by.Cgroup {
		cgroups = len(names.Cgroups)
	}
	for cgroup := range cgroups {
		for event := range events {
			for _, at := range places {
				if by.Cgroup && at.Cgroup != cgroup {
					continue
				}
				total, counted := sums[key{event, at}]
				if !counted && events[event].Refused == nil && len(sums) > 0 {
					continue // its PMU is not on that CPU
				}
				rows = append(rows, events[event].row(at, total, names))
			}
		}
	}
	return rows
}

// row is one line of a report.
func (e *Event) row(at Place, total Total, names Names) report.Row {
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
		r.Place = fmt.Sprintf("%s-%d", names.Tasks[at.Task], at.Task)
	}
	if at.Cgroup >= 0 {
		r.Cgroup = names.Cgroups[at.Cgroup]
	}
	return r
}

// RecordCosts measures for each of events by how much a hit would be slower, were the event
// recorded with its callchain; 0 for what is not hit one by one, or cannot be measured, of
// which the error says why. What is measured takes milliseconds, and reads the functions of
// the kernel: it is once for all events of a kind.
func RecordCosts(events []Event) ([]time.Duration, error) {
	type kind struct {
		kind event.Kind
		user bool
		via  event.ProbeVia
	}
	type result struct {
		cost time.Duration
		err  error
	}
	known := map[kind]result{}
	costs := make([]time.Duration, len(events))
	var errs []error
	for i := range events {
		e := &events[i]
		k := kind{kind: e.Source.Kind}
		var measure func() (time.Duration, error)
		switch {
		case e.Refused != nil:
			continue
		case k.kind == event.KindTracepoint:
			measure = event.TracepointOverhead
		case k.kind == event.KindProbe:
			k.user, k.via = e.Source.Probe.User, event.ProbePMU
			if e.Attr.Type == abi.TypeTracepoint {
				k.via = event.ProbeTracefs
			}
			measure = func() (time.Duration, error) { return event.ProbeOverhead(k.user, k.via, 0) }
		default:
			continue
		}
		r, measured := known[k]
		if !measured {
			r.cost, r.err = measure()
			if r.err != nil {
				errs = append(errs, fmt.Errorf("what recording %s would cost is not known: %w", e.Name, r.err))
			}
			known[k] = r
		}
		costs[i] = r.cost
	}
	return costs, errors.Join(errs...)
}
