package abi_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
)

// TestSideband: records as perf_event.h lays them out, with a sample id behind them and without,
// as old kernels and perf itself write them, say the same; what their misc has means what it does
// for their type alone.
func TestSideband(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		a := abi.Attr{
			SampleType: abi.SampleTID | abi.SampleTime | abi.SampleStreamID | abi.SampleCPU | abi.SampleIdentifier,
			Flags:      abi.FlagSampleIDAll,
		}
		l := abi.NewLayout(&a, o)
		id := abi.SampleIDFields{PID: 7, TID: 8, Time: 9, ID: 10, StreamID: 11, CPU: 12}
		var b []byte
		u64, u32, u16 := appender(&b, o.AppendUint64), appender(&b, o.AppendUint32), appender(&b, o.AppendUint16)
		mmap := abi.Mmap{PID: 1, TID: 2, Addr: 0x1000, Len: 0x2000, Off: 0x3000, File: "/bin/a"}
		mmap2 := mmap
		mmap2.V2, mmap2.Maj, mmap2.Min, mmap2.Ino, mmap2.InoGen, mmap2.Prot, mmap2.Flags = true, 8, 1, 4711, 5, 5, 2
		comm := abi.Comm{PID: 1, TID: 2, Comm: "sh"}
		exec := comm
		exec.Exec = true
		added := abi.Ksymbol{Addr: 0xffffffffc0001000, Len: 0x40, Type: abi.KsymbolBPF, Name: "bpf_a"}
		removed := added
		removed.Unregister = true
		lost := abi.Lost{ID: 3, Count: 4}
		atLeast := lost
		atLeast.AtLeast = true
		start := func(w ...uint32) { b = nil; u32(w...) }
		names := func(s string) { b = append(b, s...) }
		for _, c := range []struct {
			what   string
			head   abi.Header
			write  func()
			decode func(abi.Header, []byte) (any, error)
			want   any
		}{
			{"mmap", abi.Header{Type: abi.RecordMmap}, func() { start(1, 2); u64(0x1000, 0x2000, 0x3000); names("/bin/a\x00\x00") }, decoder(l.DecodeMmap), mmap},
			{"mmap2", abi.Header{Type: abi.RecordMmap2}, func() {
				start(1, 2)
				u64(0x1000, 0x2000, 0x3000)
				u32(8, 1)
				u64(4711, 5)
				u32(5, 2)
				names("/bin/a\x00\x00")
			}, decoder(l.DecodeMmap), mmap2},
			{"comm", abi.Header{Type: abi.RecordComm}, func() { start(1, 2); names("sh\x00\x00\x00\x00\x00\x00") }, decoder(l.DecodeComm), comm},
			{"exec", abi.Header{Type: abi.RecordComm, Misc: abi.MiscCommExec}, func() { start(1, 2); names("sh\x00\x00\x00\x00\x00\x00") }, decoder(l.DecodeComm), exec},
			{"fork", abi.Header{Type: abi.RecordFork}, func() { start(1, 2, 3, 4); u64(5) },
				func(_ abi.Header, b []byte) (any, error) { return l.DecodeTask(b) }, abi.Task{PID: 1, PPID: 2, TID: 3, PTID: 4, Time: 5}},
			{"ksymbol", abi.Header{Type: abi.RecordKsymbol}, func() { b = nil; u64(added.Addr); u32(0x40); u16(1, 0); names("bpf_a\x00\x00\x00") },
				func(_ abi.Header, b []byte) (any, error) { return l.DecodeKsymbol(b) }, added},
			{"removed ksymbol", abi.Header{Type: abi.RecordKsymbol}, func() { b = nil; u64(added.Addr); u32(0x40); u16(1, 1); names("bpf_a\x00\x00\x00") },
				func(_ abi.Header, b []byte) (any, error) { return l.DecodeKsymbol(b) }, removed},
			{"cgroup", abi.Header{Type: abi.RecordCgroup}, func() { b = nil; u64(5); names("/a.slice\x00\x00\x00\x00\x00\x00\x00\x00") },
				func(_ abi.Header, b []byte) (any, error) { return l.DecodeCgroup(b) }, abi.CgroupRecord{ID: 5, Path: "/a.slice"}},
			{"lost", abi.Header{Type: abi.RecordLost}, func() { b = nil; u64(3, 4) }, decoder(l.DecodeLost), lost},
			{"lost of a trace", abi.Header{Type: abi.RecordLost, Misc: abi.MiscLostUnknown}, func() { b = nil; u64(3, 4) }, decoder(l.DecodeLost), atLeast},
		} {
			c.write()
			whole := b[:len(b):len(b)]
			for _, payload := range [][]byte{whole, l.AppendTrailer(whole, id)} {
				got, err := c.decode(c.head, payload)
				if d := cmp.Diff(c.want, got); d != "" || err != nil {
					t.Errorf("%v %s of %d bytes: %v -want +got\n%s", o, c.what, len(payload), err, d)
				}
			}
			if _, err := c.decode(c.head, whole[:7]); !errors.Is(err, abi.ErrShort) {
				t.Errorf("%v %s of 7 bytes: %v", o, c.what, err)
			}
		}

		// Those of LOST_SAMPLES are the event's that its sample id names.
		lostSamples := l.AppendTrailer(o.AppendUint64(nil, 4), id)
		for misc, want := range map[abi.Misc]abi.Lost{0: {ID: 10, Count: 4}, abi.MiscFiltered: {ID: 10}} {
			got, err := l.DecodeLost(abi.Header{Type: abi.RecordLostSamples, Misc: misc}, lostSamples)
			if got != want || err != nil {
				t.Errorf("%v LOST_SAMPLES, misc %#x: %+v %v, want %+v", o, misc, got, err, want)
			}
		}
	}
}

func decoder[T any](f func(abi.Header, []byte) (T, error)) func(abi.Header, []byte) (any, error) {
	return func(h abi.Header, b []byte) (any, error) { return f(h, b) }
}
