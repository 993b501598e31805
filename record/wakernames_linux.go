package record

import (
	"os"

	"kprof/perfevent/abi"
	"kprof/perfevent/procfs"
)

// The side-band of tasks does not name who wakes them: that is read in /proc when the first such hit
// is, and goes in front of what was in the ring with it. Of who has ended by then nobody knows.

// stranger is a thread that is not recorded and has woken one that is.
type stranger struct {
	pid, tid uint32
	time     uint64 // of the hit
}

// maxNamed bounds those that are not asked for again.
const maxNamed = 1 << 16

// meet notes who woke a thread that is recorded.
func (w *woken) meet(x stranger) {
	if int32(x.tid) <= 0 || w.named[x.tid] {
		return
	}
	if len(w.named) == maxNamed {
		clear(w.named)
	}
	w.named[x.tid] = true
	w.strangers = append(w.strangers, x)
}

// nameStrangers writes records of the names of those whom keep has met.
func (r *run) nameStrangers() error {
	w := r.woken
	defer func() { w.strangers = w.strangers[:0] }()
	id := r.s.sideband.counters[0].ID()
	for _, x := range w.strangers {
		name, err := procfs.Comm(os.DirFS("/proc"), int(x.tid))
		if err != nil || name == "" {
			continue
		}
		rec := appendComm(nil, x, name, id, &w.layout)
		r.tally.tee(rec)
		if err := r.sink.Write(rec, nil); err != nil {
			return err
		}
	}
	return nil
}

// appendComm appends a COMM record (include/uapi/linux/perf_event.h: pid, tid, the name with a NUL,
// padded to eight bytes), with an id at its end.
func appendComm(b []byte, x stranger, name string, id uint64, layout *abi.Layout) []byte {
	const o = abi.LittleEndian
	start := len(b)
	b = abi.Header{Type: abi.RecordComm}.AppendTo(b, o)
	b = o.AppendUint32(o.AppendUint32(b, x.pid), x.tid)
	b = append(b, name...)
	b = append(b, make([]byte, 8-len(name)%8)...)
	b = layout.AppendTrailer(b, abi.SampleIDFields{PID: int32(x.pid), TID: int32(x.tid), Time: x.time, ID: id, StreamID: id})
	abi.Header{Type: abi.RecordComm, Size: uint16(len(b) - start)}.AppendTo(b[:start], o)
	return b
}
