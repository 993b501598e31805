package record

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
)

// TestAddCaller decodes a sample before and after.
func TestAddCaller(t *testing.T) {
	const (
		o      = abi.LittleEndian
		lr     = 0xffff800008123450
		pc     = 0xffff800008555550
		up     = 0xffff800008777770
		user   = 0xaaaa00001234
		tramp  = 0xffff800008000400
		kernel = abi.ContextKernel
		toUser = abi.ContextUser
	)
	attr := abi.Attr{
		Type: abi.TypeTracepoint, SampleRegsIntr: 1 << 30,
		SampleType: abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCPU |
			abi.SamplePeriod | abi.SampleCallchain | abi.SampleRegsIntr,
	}
	for _, tt := range []struct {
		name       string
		chain      []uint64
		caller     uint64 // 0: no registers
		want       []uint64
		wantNoRegs bool
		raw        []byte
		typ        abi.SampleType
	}{
		{name: "kernel", chain: []uint64{kernel, pc, up, toUser, user}, caller: lr, want: []uint64{kernel, pc, lr, up, toUser, user}, wantNoRegs: true},
		{name: "with fields", chain: []uint64{kernel, pc, up}, caller: lr, want: []uint64{kernel, pc, lr, up}, wantNoRegs: true, raw: []byte("12345678abcd"), typ: abi.SampleRaw},
		{name: "fields that look like registers", chain: []uint64{kernel, pc}, caller: 0, want: []uint64{kernel, pc}, wantNoRegs: true, raw: []byte("1234567\x00abcdefghijkl"), typ: abi.SampleRaw},
		{name: "program", chain: []uint64{toUser, user}, caller: 0xaaaa00005678, want: []uint64{toUser, user, 0xaaaa00005678}, wantNoRegs: true},
		{name: "the kernel knew it", chain: []uint64{kernel, pc, lr, up}, caller: lr, want: []uint64{kernel, pc, lr, up}},
		{name: "trampoline", chain: []uint64{kernel, pc, up}, caller: tramp, want: []uint64{kernel, pc, up}},
		{name: "user registers", chain: []uint64{kernel, pc, up}, caller: lr, want: []uint64{kernel, pc, lr, up}, wantNoRegs: true, typ: abi.SampleRegsUser},
		{name: "more behind", chain: []uint64{kernel, pc, up}, caller: lr, want: []uint64{kernel, pc, lr, up}, wantNoRegs: true, typ: abi.SampleWeight | abi.SamplePhysAddr | abi.SampleCgroup},
		{name: "no registers", chain: []uint64{kernel, pc, up}, want: []uint64{kernel, pc, up}, wantNoRegs: true},
		{name: "empty", chain: nil, caller: lr, want: nil},
		{name: "only a marker", chain: []uint64{kernel}, caller: lr, want: []uint64{kernel}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := attr
			a.SampleType |= tt.typ
			a.SampleRegsUser = 1<<3 | 1<<5
			rec := o.AppendUint32(nil, uint32(abi.RecordSample))
			rec = o.AppendUint16(o.AppendUint16(rec, 1), 0)
			for _, v := range []uint64{7, pc, 42<<32 | 42, 1000, 1, 1} {
				rec = o.AppendUint64(rec, v)
			}
			rec = o.AppendUint64(rec, uint64(len(tt.chain)))
			for _, addr := range tt.chain {
				rec = o.AppendUint64(rec, addr)
			}
			if tt.raw != nil {
				rec = append(o.AppendUint32(rec, uint32(len(tt.raw))), tt.raw...)
			}
			if tt.typ&abi.SampleRegsUser != 0 {
				for _, v := range []uint64{2, 1003, 1005} {
					rec = o.AppendUint64(rec, v)
				}
			}
			if tt.typ&abi.SampleWeight != 0 {
				rec = o.AppendUint64(rec, 77)
			}
			if tt.caller == 0 {
				rec = o.AppendUint64(rec, 0)
			} else {
				rec = o.AppendUint64(o.AppendUint64(rec, 2), tt.caller)
			}
			for _, t := range []abi.SampleType{abi.SamplePhysAddr, abi.SampleCgroup} {
				if tt.typ&t != 0 {
					rec = o.AppendUint64(rec, uint64(t))
				}
			}
			size := len(rec)
			copy(rec[6:], o.AppendUint16(nil, uint16(size)))
			if size%8 != 0 {
				t.Fatalf("%d bytes", size)
			}
			for cut := range rec { // no record is too short
				addCaller(bytes.Clone(rec[:cut]), placeOfChain(&a), nil)
			}
			addCaller(rec, placeOfChain(&a), []uint64{tramp})
			var s abi.Sample
			layout := abi.NewLayout(&a, o)
			if err := layout.DecodeSample(&s, 0, rec[abi.HeaderSize:]); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, append([]uint64(nil), s.Callchain...)); diff != "" {
				t.Error(diff)
			}
			if (s.IntrABI == 0) != tt.wantNoRegs || !bytes.Equal(s.Raw, tt.raw) || s.Period != 1 || s.IP != pc || len(rec) != size {
				t.Errorf("%+v", s)
			}
			if tt.typ&abi.SampleRegsUser != 0 && (len(s.UserRegs) != 2 || s.UserRegs[1] != 1005) || tt.typ&abi.SampleWeight != 0 && s.Weight != 77 ||
				s.PhysAddr != uint64(tt.typ&abi.SamplePhysAddr) || s.Cgroup != uint64(tt.typ&abi.SampleCgroup) {
				t.Errorf("%+v", s)
			}
		})
	}
	if n := testing.AllocsPerRun(10, func() { addCaller(nil, placeOfChain(&attr), nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for _, other := range []abi.SampleType{attr.SampleType &^ abi.SampleRegsIntr, attr.SampleType &^ abi.SampleCallchain, attr.SampleType | abi.SampleStackUser} {
		a := attr
		a.SampleType = other
		if p := placeOfChain(&a); p.at != 0 {
			t.Errorf("%#x: %+v", other, p)
		}
	}
}
