package record

import (
	"cmp"
	"math"
	"slices"

	"kprof/perfevent/abi"
)

// lives says at which times numbers were those of threads that are recorded, by the side-band of
// these: a FORK record tells of a thread that its parent's counters went on to, an EXIT record of
// its end, and a COMM record of one that calls exec, which takes the number of its process with it.
// A number that is used again, by whatever task, is another thread.
//
// Records may be taken again, and in any order within what has been taken since turn.
type lives struct {
	of    map[uint32]*life // by thread: the latest
	many  map[uint32]bool  // processes with several threads
	since uint64           // what was before is not recorded: until the exec that a target waits for
	taken []change
	ended [2][]uint32 // threads that ended since the last turn, and since the one before
}

// life is one thread's: from its FORK record to its EXIT record, both included.
type life struct {
	process  uint32
	from, to uint64
	earlier  *life // of the same number
}

// change is what a record says of a thread.
type change struct {
	time         uint64
	tid, process uint32
	kind         changeKind
}

type changeKind uint8

const (
	hasThread  changeKind = iota // FORK of a thread of a process that is there
	hasProcess                   // FORK of another process
	execs
	exits
)

// newLives knows that threads are recorded from the start, by the number of the process of each,
// or with awaitExec that targets are from their exec on.
func newLives(processes map[int]int, awaitExec bool) *lives {
	l := &lives{of: map[uint32]*life{}, many: map[uint32]bool{}}
	if awaitExec {
		l.since = math.MaxUint64
		return l
	}
	for tid, pid := range processes {
		l.of[uint32(tid)] = &life{process: uint32(pid), to: math.MaxUint64}
		if tid != pid {
			l.many[uint32(pid)] = true
		}
	}
	return l
}

// take takes a record, whole but for samples; settle makes use of it.
func (l *lives) take(rec []byte, layout *abi.Layout) {
	const o = abi.LittleEndian
	if len(rec) < 24 {
		return
	}
	c := change{process: o.Uint32(rec[8:])}
	switch abi.RecordType(o.Uint32(rec)) {
	case abi.RecordFork, abi.RecordExit: // pid, ppid, tid, ptid, time
		if len(rec) < 32 {
			return
		}
		c.tid, c.time = o.Uint32(rec[16:]), o.Uint64(rec[24:])
		switch {
		case abi.RecordType(o.Uint32(rec)) == abi.RecordExit:
			c.kind = exits
		case o.Uint32(rec[12:]) != c.process:
			c.kind = hasProcess
		}
	case abi.RecordComm: // pid, tid
		f, ok := layout.DecodeTrailer(rec[abi.HeaderSize:])
		if !ok || abi.Misc(o.Uint16(rec[4:]))&abi.MiscCommExec == 0 {
			return
		}
		c.tid, c.time, c.kind = o.Uint32(rec[12:]), f.Time, execs
	default:
		return
	}
	l.taken = append(l.taken, c)
}

// settle makes use of all that was taken since it was called last.
func (l *lives) settle() {
	slices.SortStableFunc(l.taken, func(a, b change) int { return cmp.Compare(a.time, b.time) })
	for _, c := range l.taken {
		if c.kind == execs {
			l.since = min(l.since, c.time)
		}
		if c.time < l.since {
			continue
		}
		switch c.kind {
		case hasThread:
			l.many[c.process] = true
			l.begin(&c)
		case hasProcess:
			l.begin(&c)
		case execs:
			if l.at(c.tid, c.time) == nil {
				l.begin(&c)
			}
			if l.many[c.process] {
				l.alone(&c)
			}
		case exits:
			if x := l.before(c.tid, c.time); x != nil && x.to == math.MaxUint64 {
				l.end(c.tid, x, c.time)
			}
		}
	}
	l.taken = l.taken[:0]
}

// before is the latest life of a number that had begun at a time, nil if there is none.
func (l *lives) before(tid uint32, t uint64) *life {
	x := l.of[tid]
	for x != nil && x.from > t {
		x = x.earlier
	}
	return x
}

// at is the life that a number had at a time, nil if it was not that of a thread recorded.
func (l *lives) at(tid uint32, t uint64) *life {
	if x := l.before(tid, t); x != nil && t <= x.to {
		return x
	}
	return nil
}

func (l *lives) begin(c *change) {
	later := (*life)(nil)
	x := l.of[c.tid]
	for ; x != nil && x.from > c.time; x = x.earlier {
		later = x
	}
	if x != nil && x.from == c.time && x.from > 0 {
		return // it was taken before
	}
	x = &life{process: c.process, from: c.time, to: math.MaxUint64, earlier: x}
	if later == nil {
		l.of[c.tid] = x
	} else {
		later.earlier = x
	}
}

func (l *lives) end(tid uint32, x *life, t uint64) {
	x.to = t
	l.ended[0] = append(l.ended[0], tid)
}

// alone ends the threads of a process but for the one that has called exec, which has the
// process's number from then on: the number that it had before has no EXIT record.
func (l *lives) alone(c *change) {
	delete(l.many, c.process)
	for tid, x := range l.of {
		if x.process == c.process && tid != c.process && x.from < c.time && x.to == math.MaxUint64 {
			l.end(tid, x, c.time)
		}
	}
}

// turn forgets those that had ended when it was called last but one.
func (l *lives) turn() {
	for _, tid := range l.ended[1] {
		if x := l.of[tid]; x != nil && x.to != math.MaxUint64 {
			delete(l.of, tid)
			delete(l.many, tid)
		}
	}
	l.ended[0], l.ended[1] = l.ended[1][:0], l.ended[0]
}
