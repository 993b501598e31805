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
	known := map[hitKind]time.Duration{{}: 0}
	costs := make([]time.Duration, len(events))
	var errs []error
	for i := range events {
		k := events[i].hitKind()
		if _, measured := known[k]; !measured {
			cost, err := k.recordCost()
			if err != nil {
				errs = append(errs, fmt.Errorf("what recording %s would cost is not known: %w", events[i].Name, err))
			}
			known[k] = cost
		}
		costs[i] = known[k]
	}
	return costs, errors.Join(errs...)
}

// hitKind is what a hit costs alike: that of a tracepoint, or of a probe that is made in
// one way. It is zero for what is not hit one by one.
type hitKind struct {
	tracepoint, probe bool
	user              bool
	via               event.ProbeVia
}

func (e *Event) hitKind() hitKind {
	switch {
	case e.Refused != nil:
	case e.Source.Kind == event.KindTracepoint:
		return hitKind{tracepoint: true}
	case e.Source.Kind == event.KindProbe && e.Attr.Type == abi.TypeTracepoint:
		return hitKind{probe: true, user: e.Source.Probe.User, via: event.ProbeTracefs}
	case e.Source.Kind == event.KindProbe:
		return hitKind{probe: true, user: e.Source.Probe.User, via: event.ProbePMU}
	}
	return hitKind{}
}

func (k hitKind) recordCost() (time.Duration, error) {
	if k.tracepoint {
		return event.TracepointOverhead()
	}
	return event.ProbeOverhead(k.user, k.via, 0)
}
