package marker

import "kprof/perfevent/abi"

// begin begins a record, whose size end sets.
func (r *Reader) begin(t abi.RecordType, misc abi.Misc) []byte {
	b := native.AppendUint32(r.rec[:0], uint32(t))
	return native.AppendUint16(native.AppendUint16(b, uint16(misc)), 0)
}

func (r *Reader) end(b []byte) []byte {
	native.PutUint32(b[4:], native.Uint32(b[4:])|uint32(len(b))<<16)
	r.rec = b
	return b
}

// sample is a record of a sample, whose fields are sampleFields.
func (r *Reader) sample(id uint64, t task, time uint64, cpu int32, raw []byte) []byte {
	b := r.begin(abi.RecordSample, abi.MiscUser)
	b = native.AppendUint64(b, id)
	b = native.AppendUint32(native.AppendUint32(b, uint32(t.pid)), uint32(t.tid))
	b = native.AppendUint64(b, time)
	b = native.AppendUint32(native.AppendUint32(b, uint32(cpu)), 0)
	// With its size the data ends at a multiple of 8 bytes, as the kernel has it
	// (perf_prepare_sample); its events end at one of 4.
	const word = 8
	size := (4+len(raw)+word-1)/word*word - 4
	b = append(native.AppendUint32(b, uint32(size)), raw...)
	for range size - len(raw) {
		b = append(b, 0)
	}
	return r.end(b)
}

// lost is a record of events that were lost on a CPU before a time.
func (r *Reader) lost(n, time uint64, cpu int32) []byte {
	b := r.begin(abi.RecordLost, 0)
	b = native.AppendUint64(native.AppendUint64(b, r.events[0].IDs[0]), n)
	return r.end(r.trailer(b, task{-1, -1, ""}, time, cpu))
}

// comm is a record of the name of a task.
func (r *Reader) comm(t task, time uint64, cpu int32) []byte {
	b := r.begin(abi.RecordComm, 0)
	b = native.AppendUint32(native.AppendUint32(b, uint32(t.pid)), uint32(t.tid))
	b = append(append(b, t.comm...), 0)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return r.end(r.trailer(b, t, time, cpu))
}

// trailer appends the sample id of records that are no samples.
func (r *Reader) trailer(b []byte, t task, time uint64, cpu int32) []byte {
	b = native.AppendUint32(native.AppendUint32(b, uint32(t.pid)), uint32(t.tid))
	b = native.AppendUint64(b, time)
	b = native.AppendUint32(native.AppendUint32(b, uint32(cpu)), 0)
	return native.AppendUint64(b, r.events[0].IDs[0])
}
