package perfdata

import (
	"kprof/perfevent/abi"
)

// roundLog keeps where the latest rounds start.
type roundLog []int64

// maxRounds bounds a roundLog to half a megabyte.
const maxRounds = 1 << 16

func (l *roundLog) add(off int64) {
	if len(*l) == maxRounds {
		*l = (*l)[:copy(*l, (*l)[maxRounds/2:])]
	}
	*l = append(*l, off)
}

// sampleTime finds the times of the first and last sample without having looked
// at records while they were written: what is old lies in the first rounds, what
// is young in the last ones. Records of one round may be older than those of the
// round before it, but not than those of two rounds before; so two rounds that
// have samples suffice on either side.
func (w *Writer) sampleTime() (t SampleTime) {
	find := newTimeFinder(w.events)
	if find == nil {
		return t
	}
	walk := func(from int64) (lo, hi uint64, rounds int) { return w.walkTimes(find, from, w.off, 0) }
	lo, _, _ := w.walkTimes(find, w.dataOff, w.off, 2)
	t.First = lo
	for n := 2; ; n *= 2 {
		if n >= len(w.rounds) {
			break
		}
		if _, hi, rounds := walk(w.rounds[len(w.rounds)-n]); rounds >= 2 {
			t.Last = hi
			return t
		}
	}
	_, t.Last, _ = walk(w.dataOff)
	return t
}

// walkTimes hops over the records of [from, to) of the file and returns the
// least and greatest sample time, and how many rounds had samples. It stops when
// that number reaches limit, if that is not 0.
func (w *Writer) walkTimes(find *timeFinder, from, to int64, limit int) (lo, hi uint64, rounds int) {
	buf := w.buf[:cap(w.buf)]
	var window []byte // bytes of the file from `from` on
	seen := false     // a sample in this round
	for from+abi.HeaderSize <= to {
		if len(window) < abi.HeaderSize || len(window) < int(abi.DecodeHeader(window, w.opts.Order).Size) {
			n, _ := w.f.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
			if window = buf[:n]; n < abi.HeaderSize {
				break
			}
		}
		h := abi.DecodeHeader(window, w.opts.Order)
		size := int(h.Size)
		if size < abi.HeaderSize || size > len(window) {
			break
		}
		switch h.Type {
		case abi.RecordFinishedRound:
			if seen {
				seen = false
				if rounds++; rounds == limit {
					return lo, hi, rounds
				}
			}
		case abi.RecordSample:
			if at, ok := find.time(window[:size], w.opts.Order); ok {
				if lo == 0 || at < lo {
					lo = at
				}
				hi = max(hi, at)
				seen = true
			}
		}
		window = window[size:]
		from += int64(size)
	}
	if seen {
		rounds++
	}
	return lo, hi, rounds
}

// timeFinder knows where the time is in a sample.
type timeFinder struct {
	off  int            // in every sample; -1 where events differ
	byID map[uint64]int // then by the identifier that comes first
}

// newTimeFinder is nil when no sample has a time, or when events differ and
// their samples do not begin with the identifier.
func newTimeFinder(events []abi.Event) *timeFinder {
	f := &timeFinder{off: -1, byID: map[uint64]int{}}
	offs := map[int]bool{}
	identified := true
	for i := range events {
		a := &events[i].Attr
		if a.Type == abi.TypeSoftware && a.Config == abi.SWDummy {
			continue // has no samples
		}
		f.off = sampleTimeOff(a.SampleType)
		offs[f.off] = true
		identified = identified && a.SampleType&abi.SampleIdentifier != 0
		for _, id := range events[i].IDs {
			f.byID[id] = f.off
		}
	}
	if len(offs) > 1 {
		f.off = -1
	}
	if f.off < 0 && (len(offs) < 2 || !identified) {
		return nil
	}
	return f
}

// sampleTimeOff is the offset of the time in a sample record, -1 if it has none.
func sampleTimeOff(t abi.SampleType) int {
	if t&abi.SampleTime == 0 {
		return -1
	}
	off := abi.HeaderSize
	for _, bit := range []abi.SampleType{abi.SampleIdentifier, abi.SampleIP, abi.SampleTID} {
		if t&bit != 0 {
			off += 8
		}
	}
	return off
}

func (f *timeFinder) time(rec []byte, o abi.Order) (uint64, bool) {
	off := f.off
	if off < 0 {
		if len(rec) < abi.HeaderSize+8 {
			return 0, false
		}
		var ok bool
		if off, ok = f.byID[o.Uint64(rec[abi.HeaderSize:])]; !ok {
			return 0, false
		}
	}
	if off < 0 || off+8 > len(rec) {
		return 0, false
	}
	return o.Uint64(rec[off:]), true
}
