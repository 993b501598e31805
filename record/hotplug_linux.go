package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
	"kprof/perfevent/procfs"
)

// hotplug watches CPUs come and go while a session runs. Counters of a CPU that
// went stay dead when it is back (kernel/events/core.c,
// perf_event_exit_cpu_context), and a CPU that comes has none: there they are
// opened again. Counters of tasks follow their task to another CPU and back.
type hotplug struct {
	f      *os.File
	last   string // of the list, as it was read last
	buf    []byte
	live   []int // CPUs that were online at the last look
	cpus   []int // recorded
	wanted []int // of Target
	tasks  bool
	again  bool // of tasks, with events on CPUs: these are opened again where a CPU is back
	came   bool // a CPU has come, recorded or not
	notes  []string
	more   int // notes beyond maxHotplugNotes

	tries map[int]int // how often it was tried in vain to open counters on CPUs that came

	// For how long a counter of each CPU had been enabled when that was asked last, and when.
	enabled map[int]time.Duration
	checked time.Time
}

// hotplugInterval is how often the list of CPUs is read.
const hotplugInterval = 50 * time.Millisecond

// stoppedInterval is how often it is asked whether counters go on. That they do not is known when they
// have not between two times.
const stoppedInterval = 2 * time.Second

// maxTries is how often it is tried to open counters on a CPU that came, once in each
// hotplugInterval.
const maxTries = 40

// maxHotplugNotes bounds what is reported of CPUs that come and go all the time.
const maxHotplugNotes = 20

// watchCPUs watches from the time on at which the CPUs recorded were online.
func watchCPUs(recorded []int, t *Target) (*hotplug, error) {
	f, err := os.Open("/sys/" + procfs.CPUsOnline)
	if err != nil {
		return nil, fmt.Errorf("watch CPUs: %w", err)
	}
	h := &hotplug{
		f: f, live: recorded, cpus: slices.Clone(recorded), wanted: t.CPUs, tasks: t.OfTasks(),
		buf:     make([]byte, os.Getpagesize()), // the most that a file of sysfs gives
		enabled: map[int]time.Duration{},
		tries:   map[int]int{},
	}
	if h.tasks { // its CPUs need not be online
		if h.live, err = procfs.ReadCPUs(sysfs, procfs.CPUsOnline); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return h, nil
}

// look reads the list again, and notes who went. It returns the CPUs that came
// and want counters. It allocates only when there is a change.
func (h *hotplug) look() (came []int, err error) {
	n, err := h.f.ReadAt(h.buf, 0)
	if n == 0 {
		return nil, fmt.Errorf("watch CPUs: %w", err)
	}
	now := h.buf[:n]
	if string(now) == h.last {
		return nil, nil
	}
	h.last = string(now)
	online, err := procfs.ParseCPUs(strings.TrimSpace(h.last))
	if err != nil {
		return nil, fmt.Errorf("watch CPUs: %w", err)
	}
	was := h.live
	h.live = online
	h.came = h.came || slices.ContainsFunc(online, func(cpu int) bool { return !slices.Contains(was, cpu) })
	for _, cpu := range h.cpus {
		if !h.tasks && slices.Contains(was, cpu) && !slices.Contains(online, cpu) {
			h.note("cpu %d went offline: it is recorded up to there", cpu)
		}
	}
	maps.DeleteFunc(h.tries, func(cpu, _ int) bool { return !slices.Contains(online, cpu) })
	for _, cpu := range online {
		if slices.Contains(was, cpu) || len(h.wanted) > 0 && !slices.Contains(h.wanted, cpu) {
			continue
		}
		switch {
		case !h.tasks, h.again && slices.Contains(h.cpus, cpu):
			came = append(came, cpu)
		case !slices.Contains(h.cpus, cpu):
			h.note("cpu %d came online while recording: it is not recorded", cpu)
		}
	}
	return came, nil
}

// failed is told that counters could not be opened on a CPU that came. The list has one a moment
// before the kernel opens any there (of cpuhp_hp_states, CPUHP_AP_PERF_ONLINE is after
// set_cpu_online): then it is as if the CPU came at the next look. If that does not help, it is noted.
func (h *hotplug) failed(cpu int, err error) {
	is := func(c int) bool { return c == cpu }
	if errors.Is(err, unix.ENODEV) && h.tries[cpu] < maxTries {
		h.tries[cpu]++
		h.live = slices.DeleteFunc(slices.Clone(h.live), is)
		h.last = ""
		return
	}
	h.note("cpu %d came online while recording: it is not recorded: %v", cpu, err)
	if !h.tasks {
		h.cpus = slices.DeleteFunc(h.cpus, is) // until it comes again
	}
}

func (h *hotplug) note(format string, args ...any) {
	if len(h.notes) == maxHotplugNotes {
		h.more++
		return
	}
	h.notes = append(h.notes, fmt.Sprintf(format, args...))
}

// reports are the notes, and how many there are beside them.
func (h *hotplug) reports() []string {
	if h.more == 0 {
		return h.notes
	}
	return append(slices.Clone(h.notes), fmt.Sprintf("CPUs came and went %d times more", h.more))
}

func (h *hotplug) close() error { return h.f.Close() }

// hotplug looks which CPUs came, and records them from here on. That it cannot be
// done is reported and ends nothing: the CPU may be gone again.
func (r *run) hotplug(w *waiter) error {
	came, err := r.cpus.look()
	if err != nil {
		return err
	}
	var stopped []int
	if now := time.Now(); (!r.cpus.tasks || r.cpus.again) && now.Sub(r.cpus.checked) >= stoppedInterval {
		r.cpus.checked = now
		stopped = slices.DeleteFunc(r.stopped(), func(cpu int) bool { return slices.Contains(came, cpu) })
		for _, cpu := range stopped {
			what := ""
			if r.cpus.tasks {
				what = " of wake-ups there"
			}
			r.cpus.note("cpu %d went offline and came back meanwhile, as where a machine sleeps: up to %v%s are not recorded", cpu, 2*stoppedInterval, what)
		}
		came = append(came, stopped...)
		r.cpus.came = r.cpus.came || len(stopped) > 0
	}
	if r.cpus.came {
		r.s.follows.Store(false) // what was loaded there before its counters were opened nobody knows
	}
	opened := false
	for _, cpu := range came {
		var ring *cpuRing
		err := r.s.owners.run(func() (err error) { // which may open events when nobody else may
			ring, err = r.s.openCPU(cpu)
			return err
		})
		if ring != nil && !slices.Contains(r.s.rings, ring) {
			r.s.rings = append(r.s.rings, ring)
			err = errors.Join(err, w.add(ring.owner.FD(), tagRing))
		}
		if err != nil {
			r.cpus.failed(cpu, err)
			continue
		}
		opened = true
		delete(r.cpus.tries, cpu)
		if !slices.Contains(r.cpus.cpus, cpu) {
			r.cpus.cpus = append(r.cpus.cpus, cpu)
		}
		if !r.cpus.tasks && !slices.Contains(stopped, cpu) {
			r.cpus.note("cpu %d came online while recording: it is recorded from there on", cpu)
		}
	}
	if !opened || r.cpus.tasks {
		return nil
	}
	return r.synthesize(r.s.opts.SynthesizeAgain)
}

// stopped returns the CPUs that are online, and whose counters do not go on: they were gone between
// two looks. While a machine is suspended, all but the first CPU are, and no task runs that could
// see it (kernel/cpu.c, freeze_secondary_cpus).
func (r *run) stopped() (cpus []int) {
	h := r.cpus
	e := r.s.sideband
	if h.tasks {
		e = r.s.onCPUs()[0]
	}
	if e.disabled {
		clear(h.enabled)
		return nil
	}
	// The first of each CPU: others may have been opened since, when it was back (watchNumbers).
	first := map[int]*perfevent.Counter{}
	for _, c := range e.counters {
		if cpu := c.Where().CPU; first[cpu] == nil {
			first[cpu] = c
		}
	}
	for _, cpu := range h.live {
		c := first[cpu]
		if c == nil {
			continue
		}
		n, err := c.Read()
		if err != nil {
			continue // as long as it cannot be read nobody knows
		}
		if was, ok := h.enabled[cpu]; ok && was == n.Enabled {
			cpus = append(cpus, cpu)
		}
		h.enabled[cpu] = n.Enabled
	}
	return cpus
}

// openCPU opens and enables the counters of a CPU that came: all but those of tasks. It runs
// on the thread of the rings' owners. A CPU that has been there before still has its ring, whose
// owner is a counter of that thread.
func (s *Session) openCPU(cpu int) (*cpuRing, error) {
	var ring *cpuRing
	if i := slices.IndexFunc(s.rings, func(r *cpuRing) bool { return r.cpu == cpu }); i >= 0 {
		ring = s.rings[i]
	} else {
		ringOwner := event.Event{Event: perfevent.RingOwner(s.features, uint32(s.RingSize()/4))}
		owner, err := s.openOne(&ringOwner, perfevent.Where{CPU: cpu})
		if err != nil {
			return nil, err
		}
		ring = &cpuRing{cpu: cpu, owner: owner, size: s.RingSize()}
		if ring.ring, err = perfevent.MapRing(owner, s.RingSize()); err != nil {
			return nil, errors.Join(err, owner.Close())
		}
		ring.rename(owner.ID(), s.rings[0].owner.ID())
	}
	events := append([]*recordedEvent{s.sideband}, s.events...)
	if s.opts.Target.OfTasks() {
		events = s.onCPUs()
	}
	for _, e := range events {
		if err := e.bury(cpu, ring); err != nil {
			return ring, err
		}
		known := e.knownID()
		for _, where := range s.places(e, cpu) {
			c, err := s.open(e, where, ring)
			if err != nil {
				return ring, err
			}
			ring.rename(c.ID(), known)
			if e.disabled {
				continue
			}
			if err := c.Enable(); err != nil {
				return ring, err
			}
		}
	}
	return ring, nil
}

// bury closes the counters of a CPU that was gone, which count no more; what they have counted
// stays in past. Of others (watchNumbers) records may still be in the ring: ids go on being renamed.
func (e *recordedEvent) bury(cpu int, ring *cpuRing) error {
	var errs []error
	e.counters = slices.DeleteFunc(e.counters, func(c *perfevent.Counter) bool {
		if c.Where().CPU != cpu {
			return false
		}
		n, err := c.Read()
		if err == nil {
			e.past.Add(n)
		}
		if _, renamed := ring.renamed[c.ID()]; !renamed {
			e.pastIDs = append(e.pastIDs, c.ID())
		}
		errs = append(errs, err, c.Close())
		return true
	})
	return errors.Join(errs...)
}

// knownID is an id that whoever takes the records knows of the event.
func (e *recordedEvent) knownID() uint64 {
	if len(e.pastIDs) > 0 {
		return e.pastIDs[0]
	}
	return e.counters[0].ID()
}

// rename has the records of counter id pass for those of another one of the same
// event, which whoever takes the records knows: a perf.data names all ids in its
// head. Which CPU a sample is of, it says itself.
func (r *cpuRing) rename(id, known uint64) {
	if r.renamed == nil {
		r.renamed = map[uint64]uint64{}
	}
	r.renamed[id] = known
}

// rename copies the records in a and, continued, in b to dst, with the ids that
// whoever takes them knows. It ends at a record of impossible size.
func rename(dst, a, b []byte, ids map[uint64]uint64, layout *abi.Layout) []byte {
	o := binary.LittleEndian
	dst = append(append(dst[:0], a...), b...)
	for rest := dst; len(rest) >= abi.HeaderSize; {
		size := int(o.Uint16(rest[6:]))
		if size < abi.HeaderSize || size > len(rest) {
			break
		}
		rec := rest[:size]
		rest = rest[size:]
		at := func(off int) {
			if off >= abi.HeaderSize && off+8 <= len(rec) {
				if known, ok := ids[o.Uint64(rec[off:])]; ok {
					o.PutUint64(rec[off:], known)
				}
			}
		}
		switch typ := abi.RecordType(o.Uint32(rec)); typ {
		case abi.RecordSample: // IDENTIFIER comes first
			at(8)
		case abi.RecordLost: // id, lost
			at(8)
			at(size - 8)
		case abi.RecordThrottle, abi.RecordUnthrottle: // time, id, stream_id
			at(16)
			at(24)
			at(size - 8)
		default: // IDENTIFIER comes last
			at(size - 8 - layout.Excess(typ, rec[abi.HeaderSize:]))
		}
	}
	return dst
}

// isOnline reports whether a CPU is online.
func isOnline(cpu int) bool {
	online, err := procfs.ReadCPUs(sysfs, procfs.CPUsOnline)
	return err != nil || slices.Contains(online, cpu)
}

// wentOffline reports whether err is of opening a counter on a CPU that has gone.
func wentOffline(err error, cpu int) bool {
	return (errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO)) && !isOnline(cpu)
}
