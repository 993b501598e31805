package abi_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kprof/perfevent/abi"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
)

// everything is an attribute whose samples have every field.
func everything() abi.Attr {
	return abi.Attr{
		SampleType:       1<<25 - 1&^abi.SampleWeight,
		ReadFormat:       abi.ReadGroup | abi.ReadID | abi.ReadLost | abi.ReadTotalTimeEnabled | abi.ReadTotalTimeRunning,
		BranchSampleType: abi.BranchHWIndex | abi.BranchCounters,
		SampleRegsUser:   1<<3 | 1<<60, SampleRegsIntr: 1,
		Flags: abi.FlagSampleIDAll,
	}
}

// appender appends numbers to b, each by one.
func appender[N any](b *[]byte, one func([]byte, N) []byte) func(...N) {
	return func(all ...N) {
		for _, n := range all {
			*b = one(*b, n)
		}
	}
}

// everySample is the payload of a sample of everything, written field by field
// in the order of the comment above PERF_RECORD_SAMPLE in perf_event.h, and
// what it says.
func everySample(o abi.Order) ([]byte, abi.Sample) {
	var b []byte
	u64, u32 := appender(&b, o.AppendUint64), appender(&b, o.AppendUint32)
	u64(0x1d)               // identifier
	u64(0xffffffff81000010) // ip
	u32(100, 101)           // pid, tid
	u64(5000000)            // time
	u64(0xaddd)             // addr
	u64(0x1d)               // id
	u64(0x57)               // stream id
	u32(3, 0)               // cpu, res
	u64(250000)             // period
	u64(2, 11, 12)          // group of 2, enabled, running
	u64(7, 1, 0, 8, 2, 9)   // value, id, lost of each
	u64(3, abi.ContextKernel, 0xffffffff81000010, 0xffffffff81000020)
	u32(12)
	b = append(b, "raw data....\x00\x00\x00\x00"[:12]...) // 4+12 is a multiple of 8
	u64(1, 9, 0xf0, 0x70, 2, 0xc0)                        // nr, hw_idx, from, to, flags, counters
	u64(2, 0x31, 0x32)                                    // abi, regs
	u64(8)
	b = append(b, "stack..."...)
	u64(5)              // dyn_size
	u64(77, 78, 79)     // weight, data_src, transaction
	u64(1, 0x99)        // intr regs
	u64(80, 81, 82, 83) // phys_addr, cgroup, data page, code page
	u64(4)              // aux
	b = append(b, "aux!"...)
	return b, abi.Sample{
		SampleIDFields: abi.SampleIDFields{PID: 100, TID: 101, Time: 5000000, ID: 0x1d, StreamID: 0x57, CPU: 3},
		Misc:           abi.MiscKernel, IP: 0xffffffff81000010, Addr: 0xaddd, Period: 250000,
		Callchain: []uint64{abi.ContextKernel, 0xffffffff81000010, 0xffffffff81000020}, HasChain: true,
		Raw:      []byte("raw data...."),
		Branches: []abi.Branch{{From: 0xf0, To: 0x70, Flags: 2}},
		UserABI:  2, UserRegs: []uint64{0x31, 0x32}, UserStack: []byte("stack"),
		IntrABI: 1, IntrRegs: []uint64{0x99}, Aux: []byte("aux!"),
		Reads:       []abi.ReadValue{{Value: 7, ID: 1}, {Value: 8, ID: 2, Lost: 9}},
		TimeEnabled: 11, TimeRunning: 12,
		Weight: 77, DataSrc: 78, Transaction: 79, PhysAddr: 80, Cgroup: 81, DataPageSize: 82, CodePageSize: 83,
	}
}

func TestDecodeSampleEveryField(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		a := everything()
		l := abi.NewLayout(&a, o)
		b, want := everySample(o)
		var got abi.Sample
		for range 2 { // the second time into a sample that is full
			if err := l.DecodeSample(&got, abi.MiscKernel, b); err != nil {
				t.Fatalf("%v: %v", o, err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%v: -want +got\n%s", o, d)
			}
		}
	}
}

// TestDecodeSampleOfAnother: a sample of an event that has few fields keeps nothing of that of
// another event before it, in the same Sample.
func TestDecodeSampleOfAnother(t *testing.T) {
	all := everything()
	full := abi.NewLayout(&all, abi.LittleEndian)
	b, _ := everySample(abi.LittleEndian)
	for _, st := range []abi.SampleType{0, abi.SampleIP, abi.SampleRead, abi.SampleCallchain, abi.SampleRaw} {
		l := abi.NewLayout(&abi.Attr{SampleType: st}, abi.LittleEndian)
		var got, want abi.Sample
		if err := full.DecodeSample(&got, abi.MiscKernel, b); err != nil {
			t.Fatal(err)
		}
		payload := make([]byte, 8) // one counter of 0, no calls, or no bytes
		if err := errors.Join(l.DecodeSample(&got, 0, payload), l.DecodeSample(&want, 0, payload)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("fields %#x: -want +got\n%s", uint64(st), d)
		}
	}
}

// TestDecodeSampleCut cuts a sample everywhere: never a panic, always ErrShort.
func TestDecodeSampleCut(t *testing.T) {
	a := everything()
	l := abi.NewLayout(&a, abi.LittleEndian)
	b, _ := everySample(abi.LittleEndian)
	var s abi.Sample
	for n := range len(b) {
		if err := l.DecodeSample(&s, 0, b[:n:n]); !errors.Is(err, abi.ErrShort) {
			t.Fatalf("%d of %d bytes: %v, want ErrShort", n, len(b), err)
		}
	}
}

// TestIDOffsets checks where ids lie in samples and in other records against the
// rules of perf_event_open(2).
func TestIDOffsets(t *testing.T) {
	for _, tt := range []struct {
		st             abi.SampleType
		all            bool
		sample, trails int
	}{
		{abi.SampleIP | abi.SampleTID, true, -1, -1},
		{abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleID, true, 24, 8},
		{abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleAddr | abi.SampleID | abi.SampleStreamID | abi.SampleCPU, true, 32, 24},
		{abi.SampleIP | abi.SampleID | abi.SampleIdentifier, true, 0, 8},
		{abi.SampleID, false, 0, -1},
	} {
		a := abi.Attr{SampleType: tt.st}
		if tt.all {
			a.Flags |= abi.FlagSampleIDAll
		}
		l := abi.NewLayout(&a, abi.LittleEndian)
		if l.IDOffset() != tt.sample || l.IDTrailerOffset() != tt.trails {
			t.Errorf("%#x: ids at %d and %d before the end, want %d and %d", uint64(tt.st), l.IDOffset(), l.IDTrailerOffset(), tt.sample, tt.trails)
		}
	}
}

func TestTrailerRoundTrip(t *testing.T) {
	for st := abi.SampleType(0); st < 1<<17; st++ {
		const fields = abi.SampleTID | abi.SampleTime | abi.SampleID | abi.SampleStreamID | abi.SampleCPU | abi.SampleIdentifier
		if st&^fields != 0 {
			continue
		}
		a := abi.Attr{SampleType: st, Flags: abi.FlagSampleIDAll}
		l := abi.NewLayout(&a, abi.BigEndian)
		want := abi.SampleIDFields{PID: -1, TID: -1, CPU: -1}
		if st&abi.SampleTID != 0 {
			want.PID, want.TID = 4, 5
		}
		if st&abi.SampleTime != 0 {
			want.Time = 6
		}
		if st&(abi.SampleID|abi.SampleIdentifier) != 0 {
			want.ID = 7
		}
		if st&abi.SampleStreamID != 0 {
			want.StreamID = 8
		}
		if st&abi.SampleCPU != 0 {
			want.CPU = 9
		}
		b := l.AppendTrailer([]byte("body"), want)
		if len(b) != 4+l.TrailerSize() {
			t.Fatalf("%#x: trailer of %d bytes, want %d", uint64(st), len(b)-4, l.TrailerSize())
		}
		got, ok := l.DecodeTrailer(b)
		if d := cmp.Diff(want, got); d != "" || ok != (l.TrailerSize() > 0) {
			t.Errorf("%#x: %v -want +got\n%s", uint64(st), ok, d)
		}
	}
}

func TestDecodeSampleDoesNotAllocate(t *testing.T) {
	a := everything()
	l := abi.NewLayout(&a, abi.LittleEndian)
	b, _ := everySample(abi.LittleEndian)
	var s abi.Sample
	if n := testing.AllocsPerRun(100, func() {
		if err := l.DecodeSample(&s, 0, b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a sample, want none", n)
	}
}

func FuzzDecodeSample(f *testing.F) {
	fuzztest.Add(f)
	a := everything()
	b, _ := everySample(abi.LittleEndian)
	f.Add(b, uint64(a.SampleType), uint64(a.ReadFormat), uint64(a.BranchSampleType), a.SampleRegsUser, false)
	b, _ = everySample(abi.BigEndian)
	f.Add(b, uint64(a.SampleType), uint64(0), uint64(0), uint64(0), true)
	f.Fuzz(func(t *testing.T, b []byte, st, rf, br, regs uint64, big bool) {
		defer memtest.Within(t, 1<<20+500*len(b))()
		a := abi.Attr{
			SampleType: abi.SampleType(st), ReadFormat: abi.ReadFormat(rf),
			BranchSampleType: abi.BranchSampleType(br), SampleRegsUser: regs, Flags: abi.FlagSampleIDAll,
		}
		o := abi.LittleEndian
		if big {
			o = abi.BigEndian
		}
		l := abi.NewLayout(&a, o)
		var s abi.Sample
		if err := l.DecodeSample(&s, 0, b); err == nil {
			// What was decoded was there.
			if n := 8*len(s.Callchain) + len(s.Raw) + len(s.UserStack) + 24*len(s.Branches) + 8*len(s.Reads); n > len(b) {
				t.Errorf("%d bytes decoded out of %d", n, len(b))
			}
			var without abi.Sample
			if err := l.DecodeSample(&without, 0, l.DropUserStack(slices.Clone(b))); err != nil || len(without.UserStack) > 0 {
				t.Errorf("without the copy of its stack: %d bytes of it, %v", len(without.UserStack), err)
			} else if s.UserStack, without.UserStack = nil, nil; !reflect.DeepEqual(s, without) {
				t.Errorf("without the copy of its stack: %+v, was %+v", without, s)
			}
		}
		for _, typ := range []abi.RecordType{abi.RecordMmap, abi.RecordMmap2, abi.RecordComm, abi.RecordLost, abi.RecordLostSamples} {
			h := abi.Header{Type: typ, Misc: abi.MiscMmapBuildID}
			_, _ = l.DecodeMmap(h, b)
			_, _ = l.DecodeComm(h, b)
			_, _ = l.DecodeLost(h, b)
		}
		_, _ = l.DecodeTask(b)
		_, _ = l.DecodeKsymbol(b)
		_, _ = l.DecodeCgroup(b)
		_, _ = l.DecodeTrailer(b)
	})
}

func BenchmarkDecodeSample(b *testing.B) {
	a := abi.Attr{SampleType: abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCPU | abi.SamplePeriod | abi.SampleIdentifier | abi.SampleCallchain}
	l := abi.NewLayout(&a, abi.LittleEndian)
	payload := make([]byte, 48)
	payload = abi.LittleEndian.AppendUint64(payload, 30)
	payload = append(payload, make([]byte, 30*8)...)
	var s abi.Sample
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if err := l.DecodeSample(&s, 0, payload); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLeakedBuildIDMark decodes MMAP2 records that are marked as carrying a build
// id: of a recording that asked for them, of one that did not and has inodes, and
// of one into which they were put later.
func TestLeakedBuildIDMark(t *testing.T) {
	inode := []byte{0xfe, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0}
	sda := append([]byte{8}, inode[1:]...)
	id := append([]byte{20, 0, 0, 0}, "abcdefghijklmnopqrst"...)
	short := append([]byte{8, 0, 0, 0}, "abcdefgh\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for _, tt := range []struct {
		asked bool
		field []byte
		build string
		maj   uint32
	}{
		{true, id, "6162636465666768696a6b6c6d6e6f7071727374", 0},
		{true, short, "6162636465666768", 0},
		{false, id, "6162636465666768696a6b6c6d6e6f7071727374", 0},
		{false, inode, "", 0xfe},
		{false, sda, "", 8},
		{true, inode, "", 0xfe}, // no length of a build id
	} {
		var a abi.Attr
		if tt.asked {
			a.Flags = abi.FlagBuildID
		}
		l := abi.NewLayout(&a, abi.LittleEndian)
		b := append(make([]byte, 32), tt.field...)
		b = append(b, "\x05\x00\x00\x00\x02\x00\x00\x00/bin/x\x00\x00"...)
		m, err := l.DecodeMmap(abi.Header{Type: abi.RecordMmap2, Misc: abi.MiscUser | abi.MiscMmapBuildID}, b)
		if err != nil || m.BuildID != tt.build || m.Maj != tt.maj || m.File != "/bin/x" || m.Prot != 5 {
			t.Errorf("asked %v, %x: build id %q, device %d, file %q, prot %d, %v", tt.asked, tt.field, m.BuildID, m.Maj, m.File, m.Prot, err)
		}
	}
}

// TestDecodeSampleVectors: behind a dump of registers may lie vectors and predicates,
// which nobody asks for; what follows is found.
func TestDecodeSampleVectors(t *testing.T) {
	a := abi.Attr{SampleType: abi.SampleIP | abi.SampleRegsUser | abi.SampleWeight | abi.SampleRegsIntr | abi.SampleCgroup, SampleRegsUser: 3, SampleRegsIntr: 1}
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		var b []byte
		words, halves := appender(&b, o.AppendUint64), appender(&b, o.AppendUint16)
		words(0x1000, 4|2, 0x31, 0x32)
		halves(2, 4, 1, 1) // two vectors of 256 bits and a predicate
		words(1, 2, 3, 4, 5, 6, 7, 8, 9)
		words(77, 4|2, 0x99)
		halves(0, 8, 0, 0)
		words(88)
		var s abi.Sample
		l := abi.NewLayout(&a, o)
		if err := l.DecodeSample(&s, 0, b); err != nil {
			t.Fatal(err)
		}
		if s.Weight != 77 || s.Cgroup != 88 || len(s.UserRegs) != 2 || s.UserRegs[1] != 0x32 || len(s.IntrRegs) != 1 || s.IntrRegs[0] != 0x99 {
			t.Errorf("%v: %+v", o, s)
		}
		if err := l.DecodeSample(&s, 0, b[:100]); err == nil {
			t.Errorf("%v: a cut vector is no error", o)
		}
	}
}
