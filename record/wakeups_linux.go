package record

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/format"
	"kprof/perfevent/procfs"
	"kprof/perfevent/tracefs"
)

// wakeups is how wake-ups are recorded where tasks are, and the kernel counts those by others and
// samples none (see deliversWakeups): events such as sched:sched_wakeup (tracefs.Event.AboutOthers) are opened on
// CPUs in the place of tasks, and what is of other tasks is left out as it is read (woken). A hit is
// one sample, where kernels that do sample it for the task that is woken have two if the one that
// wakes is recorded as well.
//
// On a busy machine nearly all are of others, and with its stack each costs more than a microsecond.
// So the kernel leaves out those of threads that it had numbered before anything was opened, but for
// the targets': those that begin later have higher numbers, until it begins anew with low ones.
// Before that it is told to record what it has left out too.
type wakeups struct {
	last    int         // number of a thread that began before all that are not in threads, 0 if not known
	most    int         // numbers end below it; 0 if not known
	threads map[int]int // that are recorded from the start: their processes
	rest    string      // filter of what the kernel leaves out; "" for nothing
}

// planWakeups has wake-ups recorded on CPUs where that is needed, and may be.
func (s *Session) planWakeups() {
	if !s.opts.Target.OfTasks() {
		return
	}
	var planned []*recordedEvent
	var changed []event.Event
	var some []string
	for _, e := range s.events {
		switch {
		case !e.Tracepoint.AboutOthers():
		case samplesEach(&e.Attr):
			on := e.Event
			on.Attr.Flags &^= abi.FlagInherit | abi.FlagEnableOnExec
			on.Attr.SampleType |= abi.SampleRaw
			planned, changed = append(planned, e), append(changed, on)
		default:
			some = append(some, e.Name)
		}
	}
	if len(planned)+len(some) == 0 || s.deliversWakeups() {
		return
	}
	if len(some) > 0 {
		s.note("%s: of tasks and not of each hit, this kernel samples what they do themselves, such as waking others, and nothing that is done to them; a recording of each hit, or of all CPUs, has both", strings.Join(some, ", "))
	}
	// Fields have the numbers of the first pid namespace, and records those of ours.
	if ns, err := tracefs.PIDNamespace(); len(planned) == 0 || err != nil || ns != 0 {
		return
	}
	for i := range changed {
		if _, ok := s.pidPlace(&changed[i]); !ok || !s.mayOpenOnCPUs(&changed[i]) {
			return // see unsampled
		}
	}
	for i, e := range planned {
		e.Event, e.onCPUs = changed[i], true
	}
	s.wakeups = &wakeups{last: lastNumber(), most: mostNumbers(), threads: map[int]int{}}
	s.note("wake-ups are recorded on all CPUs, and those of other tasks left out: this kernel samples none for the task that is woken")
}

// pidPlace finds the thread that a hit of an event is about in its samples.
func (s *Session) pidPlace(e *event.Event) (pidPlace, bool) {
	fs, err := s.resolver.Tracefs()
	if err != nil {
		return pidPlace{}, false
	}
	text, err := fs.Format(e.Tracepoint)
	if err != nil {
		return pidPlace{}, false
	}
	f, err := format.Parse(string(text), format.Machine{LongSize: strconv.IntSize / 8})
	if err != nil {
		return pidPlace{}, false
	}
	pid := f.Field("pid")
	if pid == nil || pid.Size != 4 || !pid.Scalar() {
		return pidPlace{}, false
	}
	return placeOfPID(&e.Attr, pid.Offset)
}

// mayOpenOnCPUs reports whether an event may be opened for all tasks.
func (s *Session) mayOpenOnCPUs(e *event.Event) bool {
	for _, cpu := range s.cpus {
		if c, err := s.openOne(e, perfevent.Where{PID: perfevent.AllTasks, CPU: cpu}); err == nil {
			s.closeLater(c)
			return true
		} else if !wentOffline(err, cpu) {
			return false
		}
	}
	return false
}

// openWakeups opens what planWakeups has planned. All that is recorded from the start is open by now.
func (s *Session) openWakeups(o *taskOpener) error {
	w := s.wakeups
	if w == nil {
		return nil
	}
	for _, pid := range s.opts.Target.PIDs {
		tids, err := procfs.ThreadsOf(os.DirFS("/proc"), pid)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
		for _, tid := range tids {
			w.threads[tid] = pid
		}
	}
	for tid, t := range o.tasks {
		switch pid, err := procfs.ProcessOf(os.DirFS("/proc"), tid); {
		case t.gone || errors.Is(err, unix.ESRCH):
			delete(w.threads, tid)
		case err != nil:
			return err
		case !t.opened.IsZero():
			w.threads[tid] = pid
		}
	}
	filter := ""
	filter, w.rest = w.filters()
	for _, e := range s.onCPUs() {
		e.filter = joinFilters(e.asked, filter)
		for _, r := range s.rings {
			if err := s.openOnCPU(e, r); err != nil {
				return err
			}
		}
		if len(e.counters) == 0 {
			return fmt.Errorf("no cpu is online any more that could be recorded: %w", unix.ENODEV)
		}
	}
	return nil
}

// onCPUs are the events that are recorded on CPUs where others are of tasks.
func (s *Session) onCPUs() (events []*recordedEvent) {
	for _, e := range s.events {
		if e.onCPUs {
			events = append(events, e)
		}
	}
	return events
}

// openOnCPU opens an event on the CPU of a ring, unless that is offline: Run opens it when it comes.
func (s *Session) openOnCPU(e *recordedEvent, r *cpuRing) error {
	_, err := s.open(e, perfevent.Where{PID: perfevent.AllTasks, CPU: r.cpu}, r)
	if wentOffline(err, r.cpu) {
		return nil
	}
	return err
}

// enableOnCPUs enables these events.
func (s *Session) enableOnCPUs() error {
	for _, e := range s.onCPUs() {
		if err := enable(e.counters); err != nil {
			return err
		}
	}
	return nil
}

// keepWoken returns what leaves out hits of others, nil where none are recorded.
func (s *Session) keepWoken(ids idTable, events int) *woken {
	if s.wakeups == nil {
		return nil
	}
	w := newWoken(ids, events, newLives(s.wakeups.threads, s.opts.Target.EnableOnExec), abi.NewLayout(&s.sideband.Attr, abi.LittleEndian))
	for i, e := range s.events {
		if e.onCPUs {
			w.places[i], _ = s.pidPlace(&e.Event)
		}
	}
	return w
}

// watchNumbers has what the kernel leaves out recorded too, once numbers of threads begin anew.
func (r *run) watchNumbers() error {
	s := r.s
	w := s.wakeups
	if w == nil || w.rest == "" {
		return nil
	}
	if n := lastNumber(); n >= w.last && !w.nearEnd(n) {
		return nil
	}
	return s.owners.run(func() error { // which may open events when nobody else may
		for _, e := range s.onCPUs() {
			known := e.knownID()
			e.filter = joinFilters(e.asked, w.rest)
			for _, ring := range s.rings {
				had := len(e.counters)
				if err := s.openOnCPU(e, ring); err != nil {
					return err
				}
				for _, c := range e.counters[had:] {
					ring.rename(c.ID(), known)
					if e.disabled {
						continue
					}
					if err := c.Enable(); err != nil {
						return err
					}
				}
			}
			e.filter = e.asked // of CPUs that come
		}
		w.rest = ""
		return nil
	})
}
