package record

import (
	"encoding/binary"

	"kprof/perfevent/abi"
)

// tally counts records by type and samples by event, as they are when repaired, and passes on
// the side-band.
// It reads 40 bytes of a sample at most.
type tally struct {
	ids      idTable
	samples  []uint64 // by event
	throttl  []uint64 // by event
	lost     uint64
	records  uint64
	switches uint64 // SWITCH records
	bytes    uint64
	unknown  uint64 // samples whose id is none of ours
	broken   bool   // a record with an impossible size was met

	// marked are the places, in what add was last given, of maps that say
	// they carry a build id. None of ours does; the kernel leaves the mark when
	// it has written the map for somebody else who asked for build ids (see the
	// side-band in perfevent), and perf aborts when it takes an inode for one.
	marked []int
	at     int // of the next record, likewise

	// long are the places, likewise, of records that the kernel made longer for
	// somebody else who gets records of BPF programs too: see abi.Layout.Excess.
	long   []int
	layout abi.Layout // of the side-band

	// entries are the places, likewise, of samples whose callchain lacks a caller.
	entries     []int
	chains      []chainPlace // by event
	trampolines []uint64     // what is no caller

	// left are the places, likewise, of what is left out: samples of ours, of events that no
	// filter keeps them out of, and what is told of tasks outside our pid namespace.
	left     []int
	leaveOut []bool   // by event: whether ours are to be left out
	ours     []uint64 // by event: those that were
	self     uint32   // our pid

	// latest is when each event was sampled last, of those that are timed.
	latest []uint64
	timed  []bool // by event

	// further is whether processes were started by others than those of roots, which are nil
	// where that is not asked for.
	roots   map[uint32]bool
	further bool

	short shortStacks

	dropped *dropped // nil where that is not asked for

	sideband func(rec []byte)  // of Options, or nil
	whole    []byte            // a side-band record put together
	count    func([]byte, int) // the method one, made once
}

func newTally(ids idTable, events int, sideband func(rec []byte)) *tally {
	t := &tally{ids: ids, samples: make([]uint64, events), throttl: make([]uint64, events), chains: make([]chainPlace, events), sideband: sideband}
	t.short.at = make([]int, events)
	t.leaveOut, t.ours = make([]bool, events), make([]uint64, events)
	t.timed, t.latest = make([]bool, events), make([]uint64, events)
	t.count = t.one
	return t
}

// tee passes a side-band record on.
func (t *tally) tee(rec []byte) {
	if t.sideband != nil {
		t.sideband(rec)
	}
}

// add counts the records in a and, continued, in b.
func (t *tally) add(a, b []byte) {
	t.bytes += uint64(len(a) + len(b))
	t.marked, t.long, t.entries, t.left, t.at = t.marked[:0], t.long[:0], t.entries[:0], t.left[:0], 0
	if !eachRecord(a, b, &t.whole, t.count) {
		t.broken = true
	}
}

// one counts a record, of which b holds the beginning.
func (t *tally) one(b []byte, size int) {
	const o = abi.LittleEndian
	t.records++
	at := t.at
	t.at += size
	typ := abi.RecordType(o.Uint32(b))
	if typ == abi.RecordSample {
		// IDENTIFIER comes first in a sample.
		if size < 16 {
			t.broken = true
			return
		}
		if e := t.ids.lookup(o.Uint64(b[8:])); e >= 0 {
			// IDENTIFIER, IP, then pid and tid.
			if t.leaveOut[e] && size >= 32 && o.Uint32(b[24:]) == t.self {
				t.ours[e]++
				t.leave(at, size)
				return
			}
			t.samples[e]++
			if t.timed[e] && size >= 40 { // behind the pid and tid
				t.latest[e] = max(t.latest[e], o.Uint64(b[32:]))
			}
			t.short.look(e, b)
			if t.chains[e].at != 0 {
				t.entries = append(t.entries, at)
			}
		} else {
			t.unknown++
		}
		return
	}
	if isOutside(typ, b) {
		t.leave(at, size)
		return
	}
	if typ == abi.RecordMmap2 && abi.Misc(o.Uint16(b[4:]))&abi.MiscMmapBuildID != 0 {
		t.marked = append(t.marked, at)
	}
	if excess := t.layout.Excess(typ, b[abi.HeaderSize:]); excess > 0 {
		t.long = append(t.long, at)
		t.bytes -= uint64(excess)
	}
	if typ == abi.RecordSwitch || typ == abi.RecordSwitchCPUWide {
		t.switches++
	}
	t.tee(b)
	if t.dropped != nil {
		t.dropped.take(b)
	}
	if size < 24 {
		return
	}
	switch typ {
	case abi.RecordLost: // id, lost
		t.lost += o.Uint64(b[16:])
	case abi.RecordLostSamples: // lost
		t.lost += o.Uint64(b[8:])
	case abi.RecordFork: // pid, ppid
		if pid, parent := o.Uint32(b[8:]), o.Uint32(b[12:]); pid != parent && t.roots != nil && !t.roots[parent] {
			t.further = true
		}
	case abi.RecordThrottle: // time, id
		if e := t.ids.lookup(o.Uint64(b[16:])); e >= 0 {
			t.throttl[e]++
		}
	}
}

// leave notes that the record of that size at a place is left out.
func (t *tally) leave(at, size int) {
	t.left = append(t.left, at)
	t.records--
	t.bytes -= uint64(size)
}

// isOutside reports whether a record, of which b holds the beginning, tells of a task outside
// our pid namespace. The kernel has no number for it there and writes 0 (kernel/events/core.c,
// perf_event_pid), that of the idle tasks, which have one name and map nothing.
func isOutside(typ abi.RecordType, b []byte) bool {
	switch typ {
	case abi.RecordComm, abi.RecordMmap, abi.RecordMmap2, abi.RecordFork, abi.RecordExit: // their pid comes first
		return len(b) >= 12 && binary.LittleEndian.Uint32(b[8:]) == 0
	}
	return false
}

// needsRepair reports whether what add was last given is not to be passed on as it is.
func (t *tally) needsRepair() bool { return len(t.marked)+len(t.long)+len(t.entries)+len(t.left) > 0 }

// repair returns a copy of a and b in dst, which add was last given, without the
// marks that it found, without what is too much or left out, and with the callers that were
// missing.
func (t *tally) repair(dst, a, b []byte) []byte {
	dst = append(append(dst[:0], a...), b...)
	for _, at := range t.marked {
		dst[at+5] &^= byte(abi.MiscMmapBuildID >> 8)
	}
	o := binary.LittleEndian
	for _, at := range t.entries {
		rec := dst[at:]
		rec = rec[:o.Uint16(rec[6:])]
		addCaller(rec, t.chains[t.ids.lookup(o.Uint64(rec[8:]))], t.trampolines)
	}
	// What lies behind moves: so from the end, and of the two the later one.
	for long, left := t.long, t.left; len(long)+len(left) > 0; {
		if len(long) == 0 || len(left) > 0 && left[len(left)-1] > long[len(long)-1] {
			at := left[len(left)-1]
			left = left[:len(left)-1]
			size := int(o.Uint16(dst[at+6:]))
			dst = append(dst[:at], dst[at+size:]...)
			continue
		}
		rec := dst[long[len(long)-1]:]
		long = long[:len(long)-1]
		size := int(o.Uint16(rec[6:]))
		less := t.layout.Excess(abi.RecordType(o.Uint32(rec)), rec[abi.HeaderSize:size])
		copy(rec[size-less:], rec[size:])
		o.PutUint16(rec[6:], uint16(size-less))
		dst = dst[:len(dst)-less]
	}
	return dst
}

func (t *tally) allSamples() (n uint64) {
	for _, s := range t.samples {
		n += s
	}
	return n + t.unknown
}

// idTable finds the event of an id. The kernel numbers counters one by one, so
// that those of a session lie close together.
type idTable struct {
	first uint64
	event []int32 // by id - first; -1: not ours
}

// newIDTable takes the ids of each event.
func newIDTable(ids [][]uint64) idTable {
	var t idTable
	lo, hi := ^uint64(0), uint64(0)
	for _, list := range ids {
		for _, id := range list {
			lo, hi = min(lo, id), max(hi, id)
		}
	}
	if lo > hi {
		return t
	}
	t.first = lo
	t.event = make([]int32, hi-lo+1)
	for i := range t.event {
		t.event[i] = -1
	}
	for e, list := range ids {
		for _, id := range list {
			t.event[id-lo] = int32(e)
		}
	}
	return t
}

func (t *idTable) lookup(id uint64) int32 {
	if i := id - t.first; i < uint64(len(t.event)) {
		return t.event[i]
	}
	return -1
}
