package count

import (
	"fmt"
	"os"
	"time"

	"kprof/perfevent"
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

// RecordCost measures by how much each hit would be slower, were the event recorded
// with its callchain; 0 for events that are not hit one by one.
func (e *Event) RecordCost() (time.Duration, error) {
	switch {
	case e.Refused != nil:
	case e.Source.Kind == event.KindTracepoint:
		return event.TracepointOverhead()
	case e.Source.Kind == event.KindProbe:
		via := event.ProbeTracefs
		if e.Target != "" {
			via = event.ProbePMU
		}
		return event.ProbeOverhead(e.Source.Probe.User, via, 0)
	}
	return 0, nil
}
