package record

import (
	"bytes"
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
