package span

import "strings"

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
	Blocked                      // it sleeps, and nothing tells how
	numStates
)

var stateNames = [numStates]string{"preempted", "interruptible", "uninterruptible", "stopped", "parked", "idle", "dead", "other", "blocked"}

func (s State) String() string { return stateNames[s] }

// The bits of prev_state since Linux 4.14 (include/linux/sched.h, TASK_* and TASK_REPORT).
const (
	interruptible, uninterruptible = 0x01, 0x02
	stopped, traced                = 0x04, 0x08
	dead, zombie                   = 0x10, 0x20
	parked, idle                   = 0x40, 0x80
	reportMax                      = 0x100 // TASK_REPORT_MAX: preempted, whatever the other bits say
	noLoad                         = 0x400 // TASK_NOLOAD, beside uninterruptible, before; idle was then TASK_WAKEKILL
)

// isStateMax reports whether a prev_state is what Linux 3.9 to 4.13 had for tasks that were preempted, and
// nothing else: TASK_STATE_MAX by itself, 0x400 up to 4.1, 0x800 up to 4.7, then 0x1000
// (__trace_sched_switch_state). That of 3.8, 0x200, is TASK_PARKED in those.
func isStateMax(prev uint64) bool { return prev == 0x400 || prev == 0x800 || prev == 0x1000 }

// StateMask is the field prev_state of sched:sched_switch that the kernel, or trace-cmd, prints as
// these letters: "S", "D|K", "R+". It is as StateOf takes it, whichever kernel prints it
// (include/trace/events/sched.h). It is not ok where one is no such letter.
func StateMask(letters string) (prev uint64, ok bool) {
	for i := range len(letters) {
		switch c := letters[i]; c {
		case '|', 'R', 'K': // TASK_WAKEKILL is never alone
		case '+':
			prev |= reportMax
		case 'N': // TASK_NOLOAD of idle before Linux 4.14
			prev |= idle
		case 'W': // trace-cmd's plugin up to 3.1 has it for 0x80: idle, and before Linux 4.14 TASK_WAKEKILL of D|K
			if len(letters) == 1 {
				prev |= idle
			}
		case 'x':
			prev |= dead
		default:
			j := strings.IndexByte("SDTtXZPI", c)
			if j < 0 {
				return 0, false
			}
			prev |= 1 << j
		}
	}
	if prev&idle != 0 {
		prev &^= uninterruptible
	}
	return prev, letters != ""
}

// StateOf reads the field prev_state of sched:sched_switch: a mask, in which 0 is
// runnable, and whose bits are those since Linux 4.14. Kernels before have others, which
// print the same letters (StateMask); of theirs only what none has since then is known.
func StateOf(prev uint64) State {
	switch {
	case prev&reportMax != 0 || prev == 0 || isStateMax(prev):
		return Preempted
	case prev&(dead|zombie) != 0:
		return Dead
	case prev&interruptible != 0:
		return Interruptible
	case prev&uninterruptible != 0:
		if prev&noLoad != 0 {
			return Idle
		}
		return Uninterruptible
	case prev&idle != 0:
		return Idle
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
	Waker      uint32 // Row of the Wake that has one, NoRow for none
	WakerOwner uint32 // its Owner
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
	Early   uint64 // begun before all rings had, see Late
}

// OffCPU follows tasks from their switch off the CPU to their return. Points come in the
// order of time. Memory is that of the tasks off the CPU.
type OffCPU struct {
	Stats OffStats

	emit func(*OffSpan)
	late Late
	off  open[int32, away]
	last uint64
	span OffSpan
}

// away is a task off the CPU.
type away struct {
	woken      uint64 // 0 until it is
	row, owner uint32
	waker, by  uint32 // Row and Owner of the Wake
	cpu        int32
	state      State
}

// NewOffCPU returns an OffCPU that calls emit with each span, valid until it returns.
func NewOffCPU(emit func(*OffSpan)) *OffCPU {
	return &OffCPU{emit: emit, off: newOpen[int32, away]()}
}

// Begin says that rings begin late. To be called before the first Take.
func (x *OffCPU) Begin(l Late) { x.late, x.off.late = l, true }

// Take takes the next point.
func (x *OffCPU) Take(p *Point) {
	x.last = max(x.last, p.Time)
	switch p.Kind {
	case LostFrom, LostTo:
		x.off.lose(-1, p.Kind == LostFrom) // meanwhile any task may have come back, and left again
	case Wake:
		if a := x.off.top(p.Task); a != nil && a.value.state != Preempted && p.Time >= a.since {
			// One from before it left is an ordinary race; of several the last counts.
			a.value.woken = p.Time
			if p.Row != NoRow {
				a.value.waker, a.value.by = p.Row, p.Owner
			}
		}
	case Come:
		if x.off.top(p.Task) != nil { // else its Switch has told
			x.come(p.Task, p.CPU, p.Time)
		}
	case Switch, Away:
		x.swap(p)
	}
}

// swap takes a switch: one task leaves, the other comes.
func (x *OffCPU) swap(p *Point) {
	if p.Next != 0 {
		x.come(p.Next, p.CPU, p.Time)
	}
	if p.Task == 0 {
		return
	}
	// It is known to be away, so that its return was not seen: kernels leave out a switch
	// now and then without a word (6.18: one of some hundreds under load).
	if x.off.top(p.Task) != nil {
		a := x.off.pop(p.Task)
		x.giveUp(&a)
	}
	if p.State == Dead {
		x.Stats.Dead++
		return
	}
	x.off.push(p.Task, p.Time, -1, away{row: p.Row, owner: p.Owner, waker: NoRow, cpu: p.CPU, state: p.State})
}

// giveUp counts a time off the CPU whose end was not seen, or may not be its own.
func (x *OffCPU) giveUp(a *item[int32, away]) {
	if a.since < x.late.All {
		x.Stats.Early++
	} else {
		x.Stats.Lost++
	}
}

// come ends the time off the CPU of the task that comes to a CPU.
func (x *OffCPU) come(task, cpu int32, now uint64) {
	if x.off.top(task) == nil {
		if !x.off.lost(-1) {
			x.Stats.First++
		}
		return
	}
	a := x.off.pop(task)
	// Points that come too late to be in order may say that it was back before it left.
	if !x.off.sure(&a) || now < max(a.since, a.value.woken) || x.late.hides(task, a.since, a.value.cpu, cpu) {
		x.giveUp(&a)
		return
	}
	x.end(&a, now, false)
}

func (x *OffCPU) end(a *item[int32, away], now uint64, open bool) {
	v := &a.value
	x.span = OffSpan{Task: a.key, State: v.state, Row: v.row, Owner: v.owner, Waker: v.waker, WakerOwner: v.by, Start: a.since, Open: open}
	switch {
	case v.state == Preempted:
		x.span.Runnable = now - a.since
	case v.woken != 0:
		x.span.Blocked, x.span.Runnable = v.woken-a.since, now-v.woken
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
	x.off.all(func(a *item[int32, away]) {
		if !x.off.sure(a) || x.late.hides(a.key, a.since, a.value.cpu, unended) {
			x.giveUp(a)
			return
		}
		x.end(a, x.last, true)
	})
}
