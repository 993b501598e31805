package abi_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"kprof/perfevent/abi"
)

// TestEnds: a sample ends where its layout says, and not where that of less or more fields
// does, whichever field that is.
func TestEnds(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		a := everything()
		payload, _ := everySample(o)
		l := abi.NewLayout(&a, o)
		if !l.Ends(payload) {
			t.Error("a sample of all fields does not end where it does")
		}
		for n := range payload {
			if l.Ends(payload[:n]) {
				t.Errorf("it ends after %d bytes of %d", n, len(payload))
			}
		}
		if l.Ends(append(slices.Clone(payload), make([]byte, 8)...)) {
			t.Error("it ends before eight bytes more")
		}
		for behind := range 20 {
			if n, ok := l.Behind(append(slices.Clone(payload), make([]byte, behind)...)); n != behind || !ok {
				t.Errorf("%d bytes behind its end, %v, want %d", n, ok, behind)
			}
		}
		for bit := abi.SampleType(1); bit < 1<<25; bit <<= 1 {
			less := a
			// Both weights are one word. What stands before a dump of one register that is 0 can
			// be taken for it.
			if less.SampleType &^= bit; bit&(abi.SampleWeight|abi.SampleWeightStruct|abi.SampleDataSrc|abi.SampleTransaction) != 0 {
				continue
			}
			if l := abi.NewLayout(&less, o); l.Ends(payload) {
				t.Errorf("it ends without field %#x too", bit)
			}
		}
		dropped := l.DropUserStack(slices.Clone(payload))
		if !l.Ends(dropped) {
			t.Error("without a copy of the stack it does not end where it does")
		}
		if n := testing.AllocsPerRun(100, func() { l.Ends(payload) }); n != 0 {
			t.Errorf("%v allocations a sample", n)
		}
	}
	withCPU := abi.NewLayout(&abi.Attr{SampleType: abi.SampleIP | abi.SampleCPU}, abi.LittleEndian)
	for payload, want := range map[[4]uint32]bool{{1, 0, 7, 0}: true, {1, 0, 0, 1}: false, {0, 1, 7, 0}: true} { // ip, CPU, reserved
		var b []byte
		for _, n := range payload {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
		if got := withCPU.Ends(b); got != want {
			t.Errorf("%d may be such a sample: %v", payload, got)
		}
	}
	plain := abi.SampleIdentifier | abi.SampleIP
	for _, tt := range []struct {
		t    abi.SampleType
		size int
	}{
		{plain, 16}, {plain | abi.SampleWeight, 24}, {plain | abi.SampleWeightStruct, 24}, {plain | abi.SampleDataSrc, 24},
		{plain | abi.SampleTransaction, 24}, {plain | abi.SampleDataSrc | abi.SampleTransaction | abi.SampleWeight, 40},
	} {
		l := abi.NewLayout(&abi.Attr{SampleType: tt.t}, abi.LittleEndian)
		for n := range 64 {
			if got := l.Ends(make([]byte, n)); got != (n == tt.size) {
				t.Errorf("%d bytes of fields %#x: %v", n, tt.t, got)
			}
		}
	}
}

// TestEndsAtContexts: a sample of a field more, whose period says how many words follow, is not
// taken for one of a field less.
func TestEndsAtContexts(t *testing.T) {
	o := abi.LittleEndian
	faults := abi.Attr{SampleType: abi.SampleIdentifier | abi.SampleAddr | abi.SamplePeriod | abi.SampleCallchain}
	switches := abi.Attr{SampleType: abi.SampleIdentifier | abi.SamplePeriod | abi.SampleCallchain}
	var b []byte
	for _, w := range []uint64{1, 0xadd, 4, 3, abi.ContextUser, 0x1000, 0x2000} { // id, addr, period, 3 of a chain
		b = o.AppendUint64(b, w)
	}
	l, less := abi.NewLayout(&faults, o), abi.NewLayout(&switches, o)
	if !l.Ends(b) || less.Ends(b) {
		t.Errorf("as what it is %v, as what it is not %v", l.Ends(b), less.Ends(b))
	}
	empty := b[:32:32]
	o.PutUint64(empty[24:], 0)
	if !l.Ends(empty) {
		t.Error("an empty chain ends the sample")
	}
}

// TestSharesSamples: of the kernel's own events only those that happen, not clocks, and no
// tracepoints.
func TestSharesSamples(t *testing.T) {
	for config := range abi.SWCgroupSwitches + 2 {
		a := abi.Attr{Type: abi.TypeSoftware, Config: config}
		want := config != abi.SWCPUClock && config != abi.SWTaskClock && config != abi.SWDummy && config != abi.SWBPFOutput && config <= abi.SWCgroupSwitches
		if got := a.SharesSamples(); got != want {
			t.Errorf("software event %d: %v", config, got)
		}
		a.Type = abi.TypeTracepoint
		if a.SharesSamples() {
			t.Errorf("tracepoint %d shares samples", config)
		}
	}
}
