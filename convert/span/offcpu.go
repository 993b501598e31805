package span

// State is why a task leaves its CPU.
type State uint8

const (
	Preempted       State = iota // it wants to run
	Interruptible                // it sleeps
	Uninterruptible              // it sleeps, and no signal wakes it
	Stopped                      // by a signal, or traced
	Parked                       // a thread of the kernel that waits to be used again
	Idle                         // it sleeps uninterruptibly, and does not count as load
	Dead                         // it does not come back
	Other                        // a state that has no name here
	numStates
)

var stateNames = [numStates]string{"preempted", "interruptible", "uninterruptible", "stopped", "parked", "idle", "dead", "other"}

func (s State) String() string { return stateNames[s] }

// StateOf reads the field prev_state of sched:sched_switch: a mask, in which 0 is
// runnable. The bits are the same since Linux 4.14 (include/linux/sched.h, TASK_* and
// TASK_REPORT; TASK_REPORT_MAX stands for preempted, whatever the other bits say).
func StateOf(prev uint64) State {
	const (
		interruptible, uninterruptible = 0x01, 0x02
		stopped, traced                = 0x04, 0x08
		dead, zombie                   = 0x10, 0x20
		parked, idle                   = 0x40, 0x80
		reportMax                      = 0x100
	)
	switch {
	case prev&reportMax != 0 || prev == 0:
		return Preempted
	case prev&(dead|zombie) != 0:
		return Dead
	case prev&interruptible != 0:
		return Interruptible
	case prev&idle != 0:
		return Idle
	case prev&uninterruptible != 0:
		return Uninterruptible
	case prev&(stopped|traced) != 0:
		return Stopped
	case prev&parked != 0:
		return Parked
	}
	return Other
}

// OffSpan is a time that a task was off the CPU.
type OffSpan struct {
	Task       int32
	State      State
	Row, Owner uint32 // of the Point that began it
	Start      uint64 // ns
	// Blocked and Runnable add up to the time off the CPU, ns: until it was woken, and
	// from then on until it ran. Of a task that was preempted all is Runnable.
	Blocked, Runnable uint64
	// Open says that it had not come back by the end: both are what passed until then.
	Open bool
}

// OffStats counts what could not be paired.
type OffStats struct {
	Spans   uint64 // emitted
	Open    uint64 // of these, those still off the CPU at the end
	Woken   uint64 // of these, those of a task whose wake-up was recorded
	Unwoken uint64 // of these, those of a task that slept and ran without a wake-up that was recorded: all is Blocked
	Dead    uint64 // tasks that left to end
	First   uint64 // tasks seen coming that were not seen leaving, before which nothing was lost
	Lost    uint64 // begun, but an event that ended them may be lost
}

// OffCPU follows tasks from their switch off the CPU to their return. Points come in the
// order of time. Memory is that of the tasks off the CPU.
type OffCPU struct {
	Stats OffStats

	emit  func(*OffSpan)
	off   map[int32]away
	epoch uint32 // counts ends of gaps
	gaps  int    // that are open
	last  uint64
	lost  bool
	span  OffSpan
}

// away is a task off the CPU.
type away struct {
	since, woken uint64 // woken is 0 until it is
	row, owner   uint32
	epoch        uint32
	state        State
}

// NewOffCPU returns an OffCPU that calls emit with each span, valid until it returns.
func NewOffCPU(emit func(*OffSpan)) *OffCPU {
	return &OffCPU{emit: emit, off: map[int32]away{}}
}

// Take takes the next point.
func (x *OffCPU) Take(p *Point) {
	x.last = max(x.last, p.Time)
	switch p.Kind {
	case LostFrom, LostTo:
		x.lose(p.Kind == LostFrom)
	case Wake:
		if a, ok := x.off[p.Task]; ok && a.state != Preempted && p.Time >= a.since {
			// One from before it left is an ordinary race; of several the last counts.
			a.woken = p.Time
			x.off[p.Task] = a
		}
	case Come:
		if _, ok := x.off[p.Task]; ok { // else its Switch has told
			x.come(p.Task, p.Time)
		}
	case Switch:
		x.swap(p)
	}
}

// lose is called where the gap begins or ends in which records are missing. Meanwhile
// any task may have come back, and left again.
func (x *OffCPU) lose(begins bool) {
	x.lost = true
	x.epoch++
	if begins {
		x.gaps++
	} else {
		x.gaps = max(x.gaps-1, 0)
	}
}

// sure reports whether a time off the CPU is certain to end now, if it does: no gap was
// open since it began.
func (x *OffCPU) sure(a *away) bool { return x.gaps == 0 && a.epoch == x.epoch }

// swap takes a switch: one task leaves, the other comes.
func (x *OffCPU) swap(p *Point) {
	if p.Next != 0 {
		x.come(p.Next, p.Time)
	}
	if p.Task == 0 {
		return
	}
	// It is known to be away, so that its return was not seen: kernels leave out a switch
	// now and then without a word (6.18: one of some hundreds under load).
	if _, ok := x.off[p.Task]; ok {
		delete(x.off, p.Task)
		x.Stats.Lost++
	}
	if p.State == Dead {
		x.Stats.Dead++
		return
	}
	x.off[p.Task] = away{since: p.Time, row: p.Row, owner: p.Owner, epoch: x.epoch, state: p.State}
}

// come ends the time off the CPU of the task that comes.
func (x *OffCPU) come(task int32, now uint64) {
	a, ok := x.off[task]
	if !ok {
		if !x.lost {
			x.Stats.First++
		}
		return
	}
	delete(x.off, task)
	// Points that come too late to be in order may say that it was back before it left.
	if !x.sure(&a) || now < max(a.since, a.woken) {
		x.Stats.Lost++
		return
	}
	x.end(task, a, now, false)
}

func (x *OffCPU) end(task int32, a away, now uint64, open bool) {
	x.span = OffSpan{Task: task, State: a.state, Row: a.row, Owner: a.owner, Start: a.since, Open: open}
	switch {
	case a.state == Preempted:
		x.span.Runnable = now - a.since
	case a.woken != 0:
		x.span.Blocked, x.span.Runnable = a.woken-a.since, now-a.woken
		x.Stats.Woken++
	default:
		x.span.Blocked = now - a.since
		if !open {
			x.Stats.Unwoken++
		}
	}
	x.Stats.Spans++
	if open {
		x.Stats.Open++
	}
	x.emit(&x.span)
}

// Finish emits the tasks that are still off the CPU, in no order, as of the last point.
func (x *OffCPU) Finish() {
	for task, a := range x.off {
		if !x.sure(&a) {
			x.Stats.Lost++
			continue
		}
		x.end(task, a, x.last, true)
	}
	clear(x.off)
}
