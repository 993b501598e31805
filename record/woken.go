package record

import (
	"math/bits"

	"kprof/perfevent/abi"
)

// woken leaves out, of events that are recorded on all CPUs where tasks are to be, what is not of
// these: a hit of sched:sched_wakeup and its like (see tracefs.Event.AboutOthers) is theirs where a thread that is
// recorded is the one that runs, or the one that the field pid names.
//
// A round of the rings knows all threads that are in it: whatever is read was written after the
// FORK record of its thread, on whichever CPU. So
//
//  1. note how much is in each ring;
//  2. look for FORK, EXIT and COMM records in all that is in the rings by now;
//  3. read as much as was noted.
//
// What is behind that is looked at again in the next round.
type woken struct {
	ids    idTable
	places []pidPlace // by event
	lives  *lives
	layout abi.Layout // of the side-band

	others []uint64 // by event: hits left out, by their weight as the kernel counts them

	strangers []stranger      // who has woken threads that are recorded, in what keep was given
	named     map[uint32]bool // those that were there already

	a, b   []byte // what keep was given
	at     int    // of the next record in it
	from   int    // of what is to be kept next
	kept   []byte
	sample []byte // that lay in both, put together
	whole  []byte

	look, sort func([]byte, int) // made once
}

func newWoken(ids idTable, events int, l *lives, sideband abi.Layout) *woken {
	w := &woken{ids: ids, places: make([]pidPlace, events), others: make([]uint64, events), named: map[uint32]bool{}, lives: l, layout: sideband}
	w.look = func(rec []byte, _ int) { w.lives.take(rec, &w.layout) }
	w.sort = w.one
	return w
}

// lookAhead takes steps 1 and 2.
func (w *woken) lookAhead(rings []*cpuRing) {
	w.lives.turn()
	for _, r := range rings {
		r.limit, r.oldLimit = size(r.ring.Peek()), 0
		if r.old != nil {
			r.oldLimit = size(r.old.Peek())
		}
	}
	for _, r := range rings {
		if r.old != nil {
			a, b := r.old.Peek()
			eachRecord(a, b, &w.whole, w.look)
		}
		a, b := r.ring.Peek()
		eachRecord(a, b, &w.whole, w.look)
	}
	w.lives.settle()
}

func size(a, b []byte) int { return len(a) + len(b) }

// cut returns the first n bytes of a and b.
func cut(a, b []byte, n int) (_, _ []byte) {
	if n <= len(a) {
		return a[:n], nil
	}
	return a, b[:min(len(b), n-len(a))]
}

// keep returns what of a and, continued, b is not left out: both themselves, or a copy that is
// valid until the next call.
func (w *woken) keep(a, b []byte) (_, _ []byte) {
	w.a, w.b, w.at, w.from, w.kept = a, b, 0, 0, w.kept[:0]
	eachRecord(a, b, &w.whole, w.sort)
	if w.from == 0 {
		return a, b
	}
	w.copyUpTo(len(a) + len(b))
	return w.kept, nil
}

// copyUpTo keeps what is in front of a place and was not copied yet.
func (w *woken) copyUpTo(at int) {
	n := len(w.a)
	if w.from < n {
		w.kept = append(w.kept, w.a[w.from:min(at, n)]...)
	}
	if at > n {
		w.kept = append(w.kept, w.b[max(w.from-n, 0):at-n]...)
	}
}

func (w *woken) one(rec []byte, size int) {
	const o = abi.LittleEndian
	at := w.at
	w.at += size
	if abi.RecordType(o.Uint32(rec)) != abi.RecordSample || size < head {
		return
	}
	e := w.ids.lookup(o.Uint64(rec[8:]))
	if e < 0 || w.places[e].at == 0 {
		return
	}
	if len(rec) < size {
		a, b := w.a[min(at, len(w.a)):], w.b[max(at-len(w.a), 0):]
		a, b = cut(a, b, size)
		w.sample = append(append(w.sample[:0], a...), b...)
		rec = w.sample
	}
	// IDENTIFIER, IP, pid and tid, TIME
	tid, time := o.Uint32(rec[28:]), o.Uint64(rec[32:])
	if w.lives.at(tid, time) != nil {
		return
	}
	pid, ok := w.places[e].find(rec)
	if !ok {
		return
	}
	if w.lives.at(pid, time) != nil {
		w.meet(stranger{o.Uint32(rec[24:]), tid, time})
		return
	}
	if p := w.places[e]; p.weight > 0 {
		w.others[e] += o.Uint64(rec[p.weight:])
	} else {
		w.others[e]++
	}
	w.copyUpTo(at)
	w.from = at + size
}

// pidPlace is where samples of an event have the number of the thread that it is about. It is zero
// for events that are not looked at.
type pidPlace struct {
	at    int  // of the callchain, or without one of the fields, from the record's header on
	chain bool // there is one
	field int  // of pid in the fields

	weight int // of what the hit weighs, from the record's header on; 0 where that is 1
}

// placeOfPID returns the place in samples with these attributes, of a field at an offset.
func placeOfPID(a *abi.Attr, field int) (pidPlace, bool) {
	const before = abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleAddr |
		abi.SampleID | abi.SampleStreamID | abi.SampleCPU | abi.SamplePeriod
	const first = abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime
	if a.SampleType&first != first || a.SampleType&abi.SampleRaw == 0 || a.SampleType&abi.SampleRead != 0 {
		return pidPlace{}, false
	}
	p := pidPlace{at: abi.HeaderSize + 8*bits.OnesCount64(uint64(a.SampleType&before)), chain: a.SampleType&abi.SampleCallchain != 0, field: field}
	if a.SampleType&abi.SamplePeriod != 0 {
		p.weight = p.at - 8
	}
	return p, true
}

// find returns the number in a sample.
func (p pidPlace) find(rec []byte) (pid uint32, ok bool) {
	const o = abi.LittleEndian
	at := p.at
	if p.chain {
		if len(rec) < at+8 {
			return 0, false
		}
		n := o.Uint64(rec[at:])
		if n > uint64(len(rec)-at-8)/8 {
			return 0, false
		}
		at += 8 + 8*int(n)
	}
	if len(rec) < at+4 {
		return 0, false
	}
	fields := rec[at+4:]
	fields = fields[:min(uint64(len(fields)), uint64(o.Uint32(rec[at:])))]
	if len(fields) < p.field+4 {
		return 0, false
	}
	return o.Uint32(fields[p.field:]), true
}
