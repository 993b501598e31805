package record

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/memtest"
)

// record makes a record with a body of 8-byte words.
func record(typ abi.RecordType, words ...uint64) []byte {
	const o = abi.LittleEndian
	b := abi.Header{Type: typ, Size: uint16(abi.HeaderSize + 8*len(words))}.AppendTo(nil, o)
	for _, w := range words {
		b = o.AppendUint64(b, w)
	}
	return b
}

// TestTally cuts a stream in two at every place where a ring may wrap.
func TestTally(t *testing.T) {
	var stream []byte
	for _, rec := range [][]byte{
		record(abi.RecordSample, 101, 0xffff, 0, 0, 0, 0),
		record(abi.RecordFork),
		record(abi.RecordLost, 101, 7, 0, 0),
		record(abi.RecordSample, 103),
		record(abi.RecordThrottle, 0, 102, 102),
		record(abi.RecordSample, 102, 1, 2, 3),
		record(abi.RecordSample, 999, 1, 2, 3), // nobody's
		record(abi.RecordLostSamples, 3, 0, 0),
		record(abi.RecordSample, 101),
	} {
		stream = append(stream, rec...)
	}
	for cut := 0; cut <= len(stream); cut += 8 {
		n := newTally(newIDTable([][]uint64{{101, 103}, {102}}), 2, nil)
		n.add(stream[:cut], stream[cut:])
		if n.broken || n.records != 9 || n.bytes != uint64(len(stream)) || n.lost != 10 ||
			n.samples[0] != 3 || n.samples[1] != 1 || n.unknown != 1 || n.throttl[1] != 1 || n.allSamples() != 5 {
			t.Errorf("cut at %d: %+v", cut, n)
		}
	}
}

// TestTallySideband cuts a stream in two at every place: what is no sample is
// passed on whole.
func TestTallySideband(t *testing.T) {
	want := [][]byte{
		record(abi.RecordMmap2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
		record(abi.RecordComm, 11),
		record(abi.RecordExit, 12, 13, 14, 15),
	}
	sample := record(abi.RecordSample, 101, 2, 3, 4, 5, 6)
	stream := bytes.Join([][]byte{sample, want[0], sample, want[1], want[2], sample}, nil)
	for cut := 0; cut <= len(stream); cut += 8 {
		var got [][]byte
		n := newTally(newIDTable([][]uint64{{101}}), 1, func(rec []byte) { got = append(got, bytes.Clone(rec)) })
		n.add(stream[:cut], stream[cut:])
		if d := cmp.Diff(want, got); d != "" || n.broken {
			t.Errorf("cut at %d: broken %v, -want +got\n%s", cut, n.broken, d)
		}
	}
}

// TestTallyUnmarks cuts a stream with marked maps in two at every place: the
// copy has no marks, the ring is not touched.
func TestTallyUnmarks(t *testing.T) {
	sample := record(abi.RecordSample, 101, 2, 3, 4, 5, 6)
	plain := record(abi.RecordMmap2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	plain[4] = byte(abi.MiscUser)
	marked := bytes.Clone(plain)
	marked[5] = byte(abi.MiscMmapBuildID >> 8)
	ring := bytes.Join([][]byte{sample, marked, sample, plain, marked}, nil)
	want := bytes.Join([][]byte{sample, plain, sample, plain, plain}, nil)
	n := newTally(newIDTable([][]uint64{{101}}), 1, nil)
	for cut := 0; cut <= len(ring); cut += 8 {
		a, b := bytes.Clone(ring[:cut]), bytes.Clone(ring[cut:])
		n.add(a, b)
		if len(n.marked) != 2 {
			t.Fatalf("cut at %d: %d marks, want 2", cut, len(n.marked))
		}
		if got := n.repair(nil, a, b); !bytes.Equal(got, want) {
			t.Errorf("cut at %d: % x, want % x", cut, got, want)
		}
		if !bytes.Equal(append(a, b...), ring) {
			t.Errorf("cut at %d: the ring has been written to", cut)
		}
	}
	if n.add(plain, nil); len(n.marked) != 0 {
		t.Error("marks of before are kept")
	}
}

// TestTallyOutside: what is told of tasks outside our pid namespace, which have pid 0 in it, is
// left out, wherever the ring may wrap.
func TestTallyOutside(t *testing.T) {
	sample := record(abi.RecordSample, 101, 0xffff, 0, 4, 5)
	kernel := record(abi.RecordMmap, 1<<32-1, 2, 3, 4, 5)
	entered := record(abi.RecordFork, 7, 7, 1) // into the namespace
	want := [][]byte{kernel, entered, record(abi.RecordComm, 8<<32|8, 0x746573)}
	ring := bytes.Join([][]byte{
		record(abi.RecordComm, 0, 0x746573), kernel, record(abi.RecordMmap, 0, 2, 3, 4, 5), sample, record(abi.RecordFork, 7<<32, 7<<32, 1), entered,
		record(abi.RecordMmap2, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10), sample, want[2], record(abi.RecordExit, 0, 0, 1),
	}, nil)
	for cut := 0; cut <= len(ring); cut += 8 {
		var told [][]byte
		n := newTally(newIDTable([][]uint64{{101}}), 1, func(rec []byte) { told = append(told, bytes.Clone(rec)) })
		n.add(ring[:cut], ring[cut:])
		if d := cmp.Diff(want, told); d != "" {
			t.Errorf("cut at %d: -want +told\n%s", cut, d)
		}
		if got := n.repair(nil, ring[:cut], ring[cut:]); !n.needsRepair() || !bytes.Equal(got, bytes.Join([][]byte{kernel, sample, entered, sample, want[2]}, nil)) || n.samples[0] != 2 {
			t.Errorf("cut at %d: % x", cut, got)
		} else if n.records != 5 || n.bytes != uint64(len(got)) {
			t.Errorf("cut at %d: %d records and %d bytes of 5 and %d", cut, n.records, n.bytes, len(got))
		}
	}
}

// TestTallyLeavesOut: samples of ours are left out, of the event that asks for it, and
// records that are too long are made shorter beside them.
func TestTallyLeavesOut(t *testing.T) {
	a := abi.Attr{SampleType: abi.SampleTID | abi.SampleTime | abi.SampleIdentifier, Flags: abi.FlagSampleIDAll}
	n := newTally(newIDTable([][]uint64{{101}, {102}}), 2, nil)
	n.layout, n.self, n.leaveOut[0] = abi.NewLayout(&a, abi.LittleEndian), 7, true
	const name = 0x746573 // "set", and zeros
	sample := func(id, pid uint64) []byte { return record(abi.RecordSample, id, 0xffff, 9<<32|pid, 4, 5) }
	good := record(abi.RecordKsymbol, 1, 2, name, 7, 8, 101)
	long := record(abi.RecordKsymbol, 1, 2, name, 7, 8, 101, 0xbad, 0xbad, 0xbad)
	ring := bytes.Join([][]byte{sample(101, 7), long, sample(101, 8), sample(101, 7), sample(102, 7), long, sample(101, 7)}, nil)
	want := bytes.Join([][]byte{good, sample(101, 8), sample(102, 7), good}, nil)
	for cut := 0; cut <= len(ring); cut += 8 {
		n.samples, n.ours, n.records, n.bytes = make([]uint64, 2), make([]uint64, 2), 0, 0
		n.add(ring[:cut], ring[cut:])
		if got := n.repair(nil, ring[:cut], ring[cut:]); !n.needsRepair() || !bytes.Equal(got, want) {
			t.Fatalf("cut at %d: % x, want % x", cut, got, want)
		}
		if n.samples[0] != 1 || n.samples[1] != 1 || n.ours[0] != 3 || n.ours[1] != 0 {
			t.Errorf("cut at %d: samples %v, ours %v", cut, n.samples, n.ours)
		}
		if n.records != 4 || n.bytes != uint64(len(want)) {
			t.Errorf("cut at %d: %d records and %d bytes of 4 and %d", cut, n.records, n.bytes, len(want))
		}
	}
}

// TestTallyRepairsLong: a KSYMBOL with room for another recorder's sample id loses
// that.
func TestTallyRepairsLong(t *testing.T) {
	a := abi.Attr{SampleType: abi.SampleTID | abi.SampleTime | abi.SampleIdentifier, Flags: abi.FlagSampleIDAll}
	n := newTally(newIDTable([][]uint64{{101}}), 1, nil)
	n.layout = abi.NewLayout(&a, abi.LittleEndian)
	const name = 0x746573 // "set", and zeros
	good := record(abi.RecordKsymbol, 1, 2, name, 7, 8, 101)
	long := record(abi.RecordKsymbol, 1, 2, name, 7, 8, 101, 0xbad, 0xbad, 0xbad)
	ring := bytes.Join([][]byte{good, long, good, long}, nil)
	want := bytes.Join([][]byte{good, good, good, good}, nil)
	for cut := 0; cut <= len(ring); cut += 8 {
		n.add(ring[:cut], ring[cut:])
		if !n.needsRepair() {
			t.Fatalf("cut at %d: nothing to repair", cut)
		}
		if !bytes.Equal(n.repair(nil, ring[:cut], ring[cut:]), want) {
			t.Errorf("cut at %d: % x, want % x", cut, n.repair(nil, ring[:cut], ring[cut:]), want)
		}
	}
	if n.add(good, nil); n.needsRepair() {
		t.Error("a good record is to be mended")
	}
}

func TestTallyBroken(t *testing.T) {
	whole := record(abi.RecordSample, 1, 2, 3)
	for name, b := range map[string][]byte{
		"cut":             whole[:24],
		"cut in a header": whole[:4],
		"size 0":          record(abi.RecordSample)[:6:6],
		"size 4":          {9, 0, 0, 0, 0, 0, 4, 0},
		"no id":           record(abi.RecordSample),
	} {
		b = append(b, make([]byte, 8-len(b)%8)[:(8-len(b)%8)%8]...)
		for cut := 0; cut <= len(b); cut += 8 {
			n := newTally(idTable{}, 0, nil)
			n.add(b[:cut], b[cut:])
			if !n.broken {
				t.Errorf("%s, cut at %d: not noticed", name, cut)
			}
		}
	}
}

func TestIDTable(t *testing.T) {
	ids := newIDTable([][]uint64{{5, 9}, {}, {7}})
	for id, want := range map[uint64]int32{0: -1, 4: -1, 5: 0, 6: -1, 7: 2, 9: 0, 10: -1, 1<<64 - 1: -1} {
		if got := ids.lookup(id); got != want {
			t.Errorf("%d: %d, want %d", id, got, want)
		}
	}
	none := newIDTable(nil)
	if none.lookup(0) != -1 {
		t.Error("an empty table knows 0")
	}
}

func FuzzTally(f *testing.F) {
	f.Add(record(abi.RecordSample, 1, 2, 3), record(abi.RecordLost, 1, 2))
	f.Add([]byte{}, []byte{9, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		defer memtest.Within(t, 1<<20+500*(len(a)+len(b)))()
		n := newTally(newIDTable([][]uint64{{1}}), 1, nil)
		n.add(a, b)
		if n.records > uint64(len(a)+len(b))/abi.HeaderSize {
			t.Errorf("%d records in %d bytes", n.records, len(a)+len(b))
		}
	})
}

func BenchmarkTally(b *testing.B) {
	var stream []byte
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		stream = append(stream, record(abi.RecordSample, 101+rng.Uint64N(3), 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)...)
	}
	n := newTally(newIDTable([][]uint64{{101, 103}, {102}}), 2, nil)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		n.add(stream, nil)
	}
}

// TestLostSideband: what is lost and no sample is of the side-band.
func TestLostSideband(t *testing.T) {
	event := func(lost uint64, known bool) EventStats {
		return EventStats{Lost: lost, LostKnown: known}
	}
	for _, tt := range []struct {
		stats Stats
		want  uint64
	}{
		{Stats{}, 0},
		{Stats{Lost: 10, Events: []EventStats{event(7, true), event(3, true)}}, 3},
		{Stats{Lost: 10, Events: []EventStats{event(7, true), event(1, true), event(0, true)}}, 2},
		{Stats{Lost: 10, Events: []EventStats{event(10, true), event(0, true)}}, 0},
		{Stats{Lost: 10, Events: []EventStats{event(0, false), event(0, false)}}, 0},
		{Stats{Lost: 10, Events: []EventStats{event(12, true), event(0, true)}}, 0}, // told of before the end
	} {
		if got := tt.stats.LostSideband(); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.stats, got, tt.want)
		}
	}
}
