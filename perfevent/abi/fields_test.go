package abi_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
)

// TestOneField: each field of fixed size is found where it is the only one, and so at the start
// of the sample; of SWITCH records a sample id is all there is.
func TestOneField(t *testing.T) {
	none := abi.SampleIDFields{PID: -1, TID: -1, CPU: -1}
	for st, want := range map[abi.SampleType]func(*abi.Sample){
		abi.SampleIdentifier: func(s *abi.Sample) { s.ID = 0x200000001 },
		abi.SampleIP:         func(s *abi.Sample) { s.IP = 0x200000001 },
		abi.SampleTID:        func(s *abi.Sample) { s.PID, s.TID = 1, 2 },
		abi.SampleTime:       func(s *abi.Sample) { s.Time = 0x200000001 },
		abi.SampleAddr:       func(s *abi.Sample) { s.Addr = 0x200000001 },
		abi.SampleID:         func(s *abi.Sample) { s.ID = 0x200000001 },
		abi.SampleStreamID:   func(s *abi.Sample) { s.StreamID = 0x200000001 },
		abi.SampleCPU:        func(s *abi.Sample) { s.CPU = 1 },
		abi.SamplePeriod:     func(s *abi.Sample) { s.Period = 0x200000001 },
	} {
		l := abi.NewLayout(&abi.Attr{SampleType: st, Flags: abi.FlagSampleIDAll}, abi.LittleEndian)
		payload := []byte{1, 0, 0, 0, 2, 0, 0, 0}
		wanted := abi.Sample{SampleIDFields: none}
		want(&wanted)
		var got abi.Sample
		if err := l.DecodeSample(&got, 0, payload); err != nil {
			t.Errorf("%#x: %v", uint64(st), err)
		}
		if d := cmp.Diff(wanted, got); d != "" {
			t.Errorf("%#x: -want +got\n%s", uint64(st), d)
		}
		inID := st&(abi.SampleIP|abi.SampleAddr|abi.SamplePeriod) == 0
		if !inID {
			wanted.SampleIDFields = none
		}
		if id, ok := l.DecodeTrailer(payload); ok != inID || id != wanted.SampleIDFields {
			t.Errorf("%#x: sample id %+v %v, want %+v", uint64(st), id, ok, wanted.SampleIDFields)
		}
		trails, isID := -1, st&(abi.SampleIdentifier|abi.SampleID) != 0
		if isID {
			trails = 8
		}
		if got := l.IDTrailerOffset(); got != trails || (l.IDOffset() == 0) != isID {
			t.Errorf("%#x: id %d bytes before the end, want %d; at %d", uint64(st), got, trails, l.IDOffset())
		}
	}
}

// TestLastField: fields of variable size may be the last of a sample, and may be empty.
func TestLastField(t *testing.T) {
	const o = abi.LittleEndian
	for _, c := range []struct {
		what  string
		attr  abi.Attr
		words []uint64 // behind the instruction pointer
		want  func(*abi.Sample)
	}{
		{"callchain", abi.Attr{SampleType: abi.SampleCallchain}, []uint64{2, abi.ContextUser, 7},
			func(s *abi.Sample) { s.HasChain, s.Callchain = true, []uint64{abi.ContextUser, 7} }},
		{"no callchain, then weight", abi.Attr{SampleType: abi.SampleCallchain | abi.SampleWeight}, []uint64{0, 7},
			func(s *abi.Sample) { s.HasChain, s.Weight = true, 7 }},
		{"no branches", abi.Attr{SampleType: abi.SampleBranchStack}, []uint64{0}, func(*abi.Sample) {}},
		{"branch", abi.Attr{SampleType: abi.SampleBranchStack}, []uint64{1, 5, 6, 7},
			func(s *abi.Sample) { s.Branches = []abi.Branch{{From: 5, To: 6, Flags: 7}} }},
		{"group of none", abi.Attr{SampleType: abi.SampleRead, ReadFormat: abi.ReadGroup}, []uint64{0}, func(*abi.Sample) {}},
		{"count, and its times", abi.Attr{SampleType: abi.SampleRead, ReadFormat: abi.ReadTotalTimeEnabled | abi.ReadTotalTimeRunning | abi.ReadID}, []uint64{5, 6, 7, 8},
			func(s *abi.Sample) {
				s.Reads, s.TimeEnabled, s.TimeRunning = []abi.ReadValue{{Value: 5, ID: 8}}, 6, 7
			}},
		{"registers", abi.Attr{SampleType: abi.SampleRegsUser, SampleRegsUser: 3}, []uint64{2, 5, 6},
			func(s *abi.Sample) { s.UserABI, s.UserRegs = 2, []uint64{5, 6} }},
		{"copy of a stack", abi.Attr{SampleType: abi.SampleStackUser}, []uint64{8, 0x6363636363636363, 3},
			func(s *abi.Sample) { s.UserStack = []byte("ccc") }},
	} {
		c.attr.SampleType |= abi.SampleIP
		var payload []byte
		for _, w := range append([]uint64{0x1000}, c.words...) {
			payload = o.AppendUint64(payload, w)
		}
		want := abi.Sample{SampleIDFields: abi.SampleIDFields{PID: -1, TID: -1, CPU: -1}, IP: 0x1000}
		c.want(&want)
		l := abi.NewLayout(&c.attr, o)
		var got abi.Sample
		if err := l.DecodeSample(&got, 0, payload); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", c.what, d)
		}
		if !l.Ends(payload) {
			t.Errorf("%s: does not end where it does", c.what)
		}
		if want.UserStack != nil {
			less := l.DropUserStack(payload)
			if !slices.Equal(less, payload[:16]) || l.DecodeSample(&got, 0, less) != nil || got.UserStack != nil {
				t.Errorf("%s: dropped, %x is left", c.what, less)
			}
		}
	}
	// One word of a callchain, and that one no context, is another field.
	l := abi.NewLayout(&abi.Attr{SampleType: abi.SampleIP | abi.SampleCallchain}, o)
	if payload := o.AppendUint64(o.AppendUint64(make([]byte, 8), 1), 0x1000); l.Ends(payload) {
		t.Error("a callchain begins with an address")
	}
}

// TestOrder: as encoding/binary reads and writes.
func TestOrder(t *testing.T) {
	for o, judge := range map[abi.Order]binary.ByteOrder{abi.LittleEndian: binary.LittleEndian, abi.BigEndian: binary.BigEndian} {
		var b [8]byte
		if o.PutUint32(b[:], 0x01020304); judge.Uint32(b[:]) != 0x01020304 || o.Uint32(b[:]) != 0x01020304 {
			t.Errorf("%v: uint32 as %x", o, b)
		}
		if o.PutUint64(b[:], 0x0102030405060708); judge.Uint64(b[:]) != 0x0102030405060708 || o.Uint64(b[:]) != 0x0102030405060708 {
			t.Errorf("%v: uint64 as %x", o, b)
		}
	}
	if abi.LittleEndian.String() != "little-endian" || abi.BigEndian.String() != "big-endian" {
		t.Error("called", abi.LittleEndian, abi.BigEndian)
	}
}
