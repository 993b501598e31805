package record

import (
	"bytes"
	"encoding/binary"
	"testing"

	"kprof/perfevent/abi"
)

// TestSharedSamples: samples with an id of nobody's, or of another event that samples the same,
// get that of the event whose samples are as long; what two of them could be stays as it is.
func TestSharedSamples(t *testing.T) {
	const plain = abi.SampleIdentifier | abi.SampleIP | abi.SampleCallchain
	shared := func(name string, config uint64, id uint64, t abi.SampleType) abi.Event {
		return abi.Event{Name: name, IDs: []uint64{id, id + 1}, Attr: abi.Attr{Type: abi.TypeSoftware, Config: config, SampleType: t}}
	}
	events := []abi.Event{
		shared("page-faults", abi.SWPageFaults, 101, plain|abi.SampleAddr),
		shared("page-faults:u", abi.SWPageFaults, 103, plain|abi.SampleAddr|abi.SampleTransaction),
		{Name: "sched:sched_switch", IDs: []uint64{105}, Attr: abi.Attr{Type: abi.TypeTracepoint, SampleType: plain}},
		shared("cs", abi.SWContextSwitches, 106, plain),
	}
	var ids [][]uint64
	for _, e := range events {
		ids = append(ids, e.IDs)
	}
	const ip = 0x1000
	faults := func(id uint64) []byte { return record(abi.RecordSample, id, ip, 0xadd, 2, abi.ContextUser, 8) }
	user := func(id uint64) []byte { return record(abi.RecordSample, id, ip, 0xadd, 2, abi.ContextUser, 8, 0) }
	cs := func(id uint64) []byte { return record(abi.RecordSample, id, ip, 3, abi.ContextUser, 8, 9) }
	odd := func(id uint64) []byte { return record(abi.RecordSample, id, ip, 3, abi.ContextUser, 8) }
	comm := record(abi.RecordComm, 999, 1, 2)
	ring := bytes.Join([][]byte{faults(101), user(101), faults(103), comm, user(999), cs(999), odd(999), cs(105), cs(106), odd(104), faults(102)}, nil)
	want := bytes.Join([][]byte{faults(101), user(103), faults(101), comm, user(103), cs(106), odd(999), cs(105), cs(106), odd(104), faults(102)}, nil)
	s := newSharedSamples(newIDTable(ids), events)
	for cut := 0; cut <= len(ring); cut += 8 {
		a, b := bytes.Clone(ring[:cut]), bytes.Clone(ring[cut:])
		if !s.find(a, b) {
			t.Fatalf("cut at %d: nothing is found", cut)
		}
		if got := s.restore(nil, a, b); !bytes.Equal(got, want) {
			t.Errorf("cut at %d:\n% x, want\n% x", cut, got, want)
		}
		if !bytes.Equal(append(a, b...), ring) {
			t.Errorf("cut at %d: the ring has been written to", cut)
		}
	}
	if right := bytes.Join([][]byte{cs(105), cs(106), comm}, nil); s.find(right, nil) {
		t.Error("what has its own id is taken for another's")
	}
	if s.find(record(abi.RecordSample), nil) {
		t.Error("a sample of no id is taken for another's")
	}

	// Two that may be of the same size: nobody knows whose it is.
	events[1].Attr.SampleType = events[0].Attr.SampleType
	s = newSharedSamples(newIDTable(ids), events)
	if ring := faults(999); !s.find(ring, nil) || !bytes.Equal(s.restore(nil, ring, nil), ring) {
		t.Error("one of two is chosen")
	}
	if newSharedSamples(newIDTable(ids[2:3]), events[2:3]) != nil {
		t.Error("a tracepoint shares samples")
	}

	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		s.find(ring, nil)
		s.restore(buf, ring, nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestLongerSamples: what another recorder's event has in fields of variable size makes the session's
// samples of the same moment longer. They get their ids by what is as much too long, and by who is to
// sample there, and end where they should.
func TestLongerSamples(t *testing.T) {
	const plain = abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCPU | abi.SampleCallchain
	shared := func(config uint64, id uint64, t abi.SampleType, flags abi.Flags) abi.Event {
		return abi.Event{IDs: []uint64{id}, Attr: abi.Attr{Type: abi.TypeSoftware, Config: config, SampleType: t, Flags: flags}}
	}
	const faults, user, kernel, cs, minor = 101, 102, 103, 104, 105
	events := []abi.Event{
		shared(abi.SWPageFaults, faults, plain|abi.SampleAddr, 0),
		shared(abi.SWContextSwitches, cs, plain, 0),
		shared(abi.SWPageFaults, user, plain|abi.SampleAddr|abi.SampleTransaction, abi.FlagExcludeKernel),
		shared(abi.SWPageFaults, kernel, plain|abi.SampleAddr|abi.SampleTransaction|abi.SampleDataSrc, abi.FlagExcludeUser),
	}
	ids := [][]uint64{{faults}, {cs}, {user}, {kernel}}
	const ip, addr, chain, none = 0x1000, 7 << 40, abi.ContextUser, 999
	of := func(misc abi.Misc, time uint64, words ...uint64) []byte {
		rec := record(abi.RecordSample, append([]uint64{none, ip, 1<<32 | 1, time}, words...)...)
		rec[4] = byte(misc)
		return rec
	}
	with := func(id byte, rec []byte) []byte { // has that id, and ends where it should
		rec = bytes.Clone(rec)
		binary.LittleEndian.PutUint64(rec[8:], uint64(id))
		return rec
	}
	inUser := func(time uint64, words ...uint64) []byte { return of(abi.MiscUser, time, words...) }
	inKernel := func(time uint64, words ...uint64) []byte { return of(abi.MiscKernel, time, words...) }
	const cpu = 1
	for _, tt := range []struct {
		what       string
		ring, want [][]byte
	}{
		{"a fault of user code, and its two events, the longer one first",
			[][]byte{inUser(5, addr, cpu, 2, chain, 8, 0, 77, 78), inUser(5, addr, cpu, 2, chain, 8, 77, 78)},
			[][]byte{with(user, inUser(5, addr, cpu, 2, chain, 8, 0)), with(faults, inUser(5, addr, cpu, 2, chain, 8))}},
		{"one of the kernel, and then a switch",
			[][]byte{inKernel(5, addr, cpu, 1, chain, 77, 78), inKernel(5, addr, cpu, 1, chain, 0, 0, 77, 78), inKernel(6, cpu, 2, chain, 8, 77)},
			[][]byte{with(faults, inKernel(5, addr, cpu, 1, chain)), with(kernel, inKernel(5, addr, cpu, 1, chain, 0, 0)), with(cs, inKernel(6, cpu, 2, chain, 8))}},
		{"two faults, one after the other",
			[][]byte{inUser(5, addr, cpu, 1, chain, 1, 2, 3), inUser(5, addr, cpu, 1, chain, 0, 1, 2, 3), inUser(6, addr, cpu, 1, chain, 1), inUser(6, addr, cpu, 1, chain, 0, 1)},
			[][]byte{with(faults, inUser(5, addr, cpu, 1, chain)), with(user, inUser(5, addr, cpu, 1, chain, 0)), with(faults, inUser(6, addr, cpu, 1, chain)), with(user, inUser(6, addr, cpu, 1, chain, 0))}},
		{"one of two is lost", [][]byte{inUser(5, addr, cpu, 2, chain, 8, 0, 77, 78)}, nil},
		{"one too many", [][]byte{inUser(5, addr, cpu, 2, chain, 8, 0, 77, 78), inUser(5, addr, cpu, 2, chain, 8, 0, 77, 78), inUser(5, addr, cpu, 2, chain, 8, 77, 78)}, nil},
		{"not as much too long", [][]byte{inUser(5, addr, cpu, 2, chain, 8, 0, 77, 78), inUser(5, addr, cpu, 2, chain, 8, 77, 78, 79)}, nil},
		{"shorter than any", [][]byte{inUser(5)}, nil},
	} {
		s := newSharedSamples(newIDTable(ids), events)
		comm := record(abi.RecordComm, 1, 2)
		ring := bytes.Join(append(tt.ring, comm), nil)
		want := ring
		if tt.want != nil {
			want = bytes.Join(append(tt.want, comm), nil)
		}
		if !s.find(ring, nil) {
			t.Fatalf("%s: nothing is found", tt.what)
		}
		if got := s.restore(nil, ring, nil); !bytes.Equal(got, want) {
			t.Errorf("%s:\n% x, want\n% x", tt.what, got, want)
		}
		buf := make([]byte, 0, 4096)
		if n := testing.AllocsPerRun(100, func() {
			s.find(ring, nil)
			s.restore(buf, ring, nil)
		}); n != 0 {
			t.Errorf("%s: %v allocations", tt.what, n)
		}
	}

	// Minor faults are counted beside all: where no field tells, they could be either's.
	events = append(events, shared(abi.SWPageFaultsMin, minor, plain|abi.SampleAddr, abi.FlagExcludeUser))
	s := newSharedSamples(newIDTable(append(ids, []uint64{minor})), append(events[:0:0], events[3], events[4]))
	if ring := inKernel(5, addr, cpu, 1, chain, 0, 0, 1); !s.find(ring, nil) || !bytes.Equal(s.restore(nil, ring, nil), ring) {
		t.Error("one of two kinds is chosen")
	}
}

// TestTellApart: of events that share samples each has its own number of fields.
func TestTellApart(t *testing.T) {
	e := func(typ abi.Type, config uint64, fields abi.SampleType) *recordedEvent {
		var e recordedEvent
		e.Attr = abi.Attr{Type: typ, Config: config, SampleType: fields}
		return &e
	}
	const a, b = abi.SampleIP | abi.SampleAddr, abi.SampleIP
	events := []*recordedEvent{
		e(abi.TypeSoftware, abi.SWPageFaults, a), e(abi.TypeSoftware, abi.SWPageFaults, a), e(abi.TypeTracepoint, 7, a),
		e(abi.TypeSoftware, abi.SWContextSwitches, b), e(abi.TypeSoftware, abi.SWCPUClock, b), e(abi.TypeSoftware, abi.SWPageFaultsMin, a),
		e(abi.TypeSoftware, abi.SWPageFaultsMaj, a|abi.SampleDataSrc),
	}
	tellApart(events)
	for i, want := range []abi.SampleType{a, a | abi.SampleTransaction, a, b, b, a | abi.SampleTransaction | abi.SampleDataSrc, a | abi.SampleDataSrc | abi.SampleTransaction} {
		if got := events[i].Attr.SampleType; got != want {
			t.Errorf("event %d has fields %#x, want %#x", i, got, want)
		}
	}
}
