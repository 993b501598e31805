package record

import (
	"bytes"
	"testing"

	"kprof/perfevent/abi"
)

// wakeup is a sample: identifier, ip, pid and tid, time, cpu, period, a callchain, and fields of which
// the number of the woken thread is at 8.
func wakeup(id, t uint64, current, woken uint32, chain ...uint64) []byte {
	words := []uint64{id, 0xffff, uint64(current) | uint64(current)<<32, t, 0, 1, uint64(len(chain))}
	words = append(words, chain...)
	// size of the fields, 20, then 8 bytes of others and the number
	words = append(words, 20, uint64(woken)<<32, 0)
	return record(abi.RecordSample, words...)
}

// TestWoken leaves out hits of others, cut in two at every place where a ring may wrap: what is left
// is what it was, and the ring is not touched.
func TestWoken(t *testing.T) {
	attr := abi.Attr{SampleType: abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCPU |
		abi.SamplePeriod | abi.SampleCallchain | abi.SampleRaw}
	place, ok := placeOfPID(&attr, 8)
	if !ok {
		t.Fatal("no place")
	}
	layout := abi.NewLayout(&sidebandAttr, abi.LittleEndian)
	l := newLives(map[int]int{10: 10}, false)
	for _, rec := range [][]byte{forked(20, 30, 30, 10, 10), exited(40, 30, 30)} {
		l.take(rec, &layout)
	}
	l.settle()
	short := wakeup(101, 25, 5, 6)
	short = short[:len(short)-16]
	abi.Header{Type: abi.RecordSample, Size: uint16(len(short))}.AppendTo(short[:0], abi.LittleEndian)
	broken := wakeup(101, 25, 5, 6)
	broken[abi.HeaderSize+6*8] = 0xff // frames
	var stream, want []byte
	weighs := wakeup(101, 25, 5, 6)
	weighs[abi.HeaderSize+5*8] = 30 // as the ns of sched_stat_sleep
	const left = 6 + 30
	for _, one := range []struct {
		rec  []byte
		kept bool
	}{
		{wakeup(101, 25, 5, 6, 1, 2, 3), false},
		{wakeup(101, 25, 5, 10, 1, 2, 3), true},  // woken
		{wakeup(101, 25, 10, 6, 1), true},        // wakes
		{wakeup(102, 25, 5, 6, 1), true},         // of another event
		{wakeup(101, 25, 0, 30), true},           // by an interrupt of the idle task
		{wakeup(101, 19, 5, 30), false},          // before it began
		{wakeup(101, 41, 5, 30), false},          // when its number is another's
		{record(abi.RecordFork, 1, 2, 3), true},  // no sample
		{wakeup(101, 25, 5, 6), false},           // without callers
		{weighs, false},                          // again
		{wakeup(999, 25, 5, 6), true},            // nobody's
		{record(abi.RecordSample, 101, 1), true}, // too short to tell
		{broken, true},                           // likewise
		{short, true},                            // the field is beyond the end
		{wakeup(101, 25, 5, 6), false},
		{wakeup(101, 30, 30, 5, 1, 2), true},
		{wakeup(101, 25, 0xffffffff, 6), false},
	} {
		stream = append(stream, one.rec...)
		if one.kept {
			want = append(want, one.rec...)
		}
	}
	w := newWoken(newIDTable([][]uint64{{101}, {102}}), 2, l, layout)
	w.places[0] = place
	for cut := 0; cut <= len(stream); cut += 8 {
		a, b := bytes.Clone(stream[:cut]), bytes.Clone(stream[cut:])
		w.others[0] = 0
		ka, kb := w.keep(a, b)
		if got := append(bytes.Clone(ka), kb...); !bytes.Equal(got, want) || w.others[0] != left {
			t.Errorf("cut at %d: left out %d, got %d bytes of %d", cut, w.others[0], len(got), len(want))
		}
		if !bytes.Equal(append(bytes.Clone(a), b...), stream) {
			t.Errorf("cut at %d: the ring is another", cut)
		}
	}
	// The threads 5, which woke 10, and none of 0 and -1.
	if len(w.strangers) != 1 || w.strangers[0] != (stranger{5, 5, 25}) {
		t.Errorf("met %v", w.strangers)
	}
	if a, b := w.keep(want, nil); &a[0] != &want[0] || len(a) != len(want) || b != nil {
		t.Error("where nothing is left out there is a copy")
	}
	if n := testing.AllocsPerRun(100, func() { w.keep(stream[:40], stream[40:]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPlaceOfPID: without fields, or with counters in front of them, there is no place.
func TestPlaceOfPID(t *testing.T) {
	const base = abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime
	for typ, want := range map[abi.SampleType]bool{
		base: false, base | abi.SampleRaw: true, base | abi.SampleRaw | abi.SampleRead: false, abi.SampleIP | abi.SampleRaw: false,
	} {
		if _, ok := placeOfPID(&abi.Attr{SampleType: typ}, 8); ok != want {
			t.Errorf("%x: %v", typ, ok)
		}
	}
	p, _ := placeOfPID(&abi.Attr{SampleType: base | abi.SampleRaw}, 8)
	rec := record(abi.RecordSample, 1, 2, 3, 4, 20, 77<<32, 0)
	if pid, ok := p.find(rec); pid != 77 || !ok {
		t.Errorf("without a callchain: %d", pid)
	}
}

// TestAppendComm: what the decoder of such records finds.
func TestAppendComm(t *testing.T) {
	layout := abi.NewLayout(&sidebandAttr, abi.LittleEndian)
	for _, name := range []string{"a", "seven77", "eight888", "fifteen fifteen"} {
		rec := appendComm([]byte("before"), stranger{10, 11, 12}, name, 13, &layout)[len("before"):]
		h := abi.DecodeHeader(rec, abi.LittleEndian)
		c, err := layout.DecodeComm(h, rec[abi.HeaderSize:])
		f, ok := layout.DecodeTrailer(rec[abi.HeaderSize:])
		if err != nil || !ok || h.Type != abi.RecordComm || int(h.Size) != len(rec) || len(rec)%8 != 0 ||
			c != (abi.Comm{PID: 10, TID: 11, Comm: name}) || f.Time != 12 || f.ID != 13 {
			t.Errorf("%q: %+v %+v %+v %v", name, h, c, f, err)
		}
	}
}
