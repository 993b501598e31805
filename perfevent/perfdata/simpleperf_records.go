package perfdata

import (
	"errors"
	"fmt"
	"io"

	"kprof/perfevent/abi"
)

// Records of simpleperf, which has them from 32768 on (system/extras,
// simpleperf/record.h).
const (
	firstSimpleperf   abi.RecordType = 32768
	recordSplit       abi.RecordType = 32772 // a part of a record larger than perf's can be
	recordSplitEnd    abi.RecordType = 32773 // which the parts before make together
	recordEventID     abi.RecordType = 32774 // more ids of events
	RecordJoinedChain abi.RecordType = 32775 // see JoinedChain
	recordTracingData abi.RecordType = 32777
	lastSimpleperf    abi.RecordType = firstSimpleperf + 63
)

// Simpleperf reports whether simpleperf made the recording. Its callchains then hold
// addresses of calls, not those that the calls return to, and between them places in
// the byte code of interpreted methods (cmd_record.cpp, SaveRecordAfterUnwinding).
func (r *Reader) Simpleperf() bool {
	return r.header.features.Has(FeatureSimpleperfMetaInfo) ||
		r.header.features.Has(FeatureSimpleperfFile) || r.header.features.Has(FeatureSimpleperfFile2)
}

// TraceOffCPU reports whether the recording was made with simpleperf record
// --trace-offcpu: samples of sched:sched_switch then begin a time off the CPU.
func (r *Reader) TraceOffCPU() bool {
	for _, i := range r.Features.MetaInfo {
		if i.Key == "trace_offcpu" {
			return i.Value == "true"
		}
	}
	return false
}

// largeSize returns the size of a record of simpleperf that says it in 32 bits, of
// which the upper ones take the place of Misc; 0 for any other record.
func largeSize(h abi.Header) int64 {
	if h.Type < firstSimpleperf || h.Type > lastSimpleperf || h.Misc == 0 {
		return 0
	}
	return int64(h.Misc)<<16 | int64(h.Size)
}

// tracingInside returns the tracing data that a record holds, nil if it holds none.
// perf has them behind the record; simpleperf inside it, in records of its own type
// and in those of perf's type of older versions (TracingDataRecord::Parse).
func tracingInside(p []byte, o abi.Order) []byte {
	if len(p) < 4 {
		return nil
	}
	if n := uint64(o.Uint32(p)); n > 0 && n <= uint64(len(p)-4) {
		return p[4 : 4+n]
	}
	return nil
}

// takeTracing takes up tracing data, if there were none before.
func (r *Reader) takeTracing(b []byte) {
	if len(b) == 0 || len(r.Features.TracingData) > 0 {
		return
	}
	r.Features.TracingData = append(r.Features.TracingData, b...)
	r.readFormats()
	r.renamed = true
}

// readLargeTracing reads tracing data with their size before them, and what fills
// up the n bytes of their record.
func (r *Reader) readLargeTracing(s *stream, n int64) error {
	const word = 4
	if n < word {
		return s.skip(n)
	}
	b, err := s.take(word)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &TruncatedError{Offset: s.off, Reason: "inside the tracing data"}
	}
	if err != nil {
		return err
	}
	size := min(int64(r.header.order.Uint32(b)), n-word)
	if err := r.readTracingData(s, size); err != nil {
		return err
	}
	return s.skip(n - word - size)
}

// takePart takes up a part of a record, without its own header
// (record_file_writer.cpp, RecordFileWriter::WriteRecord).
func (r *Reader) takePart(p []byte) {
	if r.partsSize += len(p); r.partsSize <= maxTracingBytes {
		r.split = append(r.split, p...)
	}
}

// takeParts takes up the record that the parts before offset make.
func (r *Reader) takeParts(offset int64) error {
	b, n := r.split, r.partsSize
	r.split, r.partsSize = nil, 0
	var h abi.Header
	if len(b) >= abi.HeaderSize {
		h = abi.DecodeHeader(b, r.header.order)
	}
	if size := max(largeSize(h), int64(h.Size)); len(b) < n || size != int64(n) || n == 0 {
		r.BadFeatures = append(r.BadFeatures, fmt.Errorf("offset %d: parts of a record of %d bytes have %d", offset, size, n))
		return nil
	}
	if h.Type == recordTracingData || h.Type == recordEventID {
		return r.takeUp(&Record{Header: h, Offset: offset, Payload: b[abi.HeaderSize:]})
	}
	return nil
}

// takeEventIDs takes up ids of events, in pairs of an event's place and an id.
func (r *Reader) takeEventIDs(p []byte) {
	o := r.header.order
	const pair = 16
	if len(p) < 8 {
		return
	}
	n := o.Uint64(p)
	for p = p[8:]; n > 0 && len(p) >= pair; n, p = n-1, p[pair:] {
		if i := o.Uint64(p); i < uint64(len(r.Events.Events)) {
			r.Events.AddID(r.Events.Events[i], o.Uint64(p[8:]))
		}
	}
}

// JoinedChain is the user part of the callchain of a sample of the same thread and
// time, continued by what earlier samples of the thread had in common with it.
type JoinedChain struct {
	PID, TID int32
	Time     uint64
	Chain    []uint64
}

// DecodeJoinedChain decodes the payload of a RecordJoinedChain. It returns false for
// one that holds no more than the sample, or is damaged (CallChainRecord::Parse).
func DecodeJoinedChain(p []byte, o abi.Order) (c JoinedChain, ok bool) {
	const (
		head          = 32
		joinedOffline = 2 // and joinedRemote behind it (CallChainJoiner::ChainType)
		joinedRemote  = 3
	)
	if len(p) < head {
		return c, false
	}
	typ, n := o.Uint64(p[8:]), o.Uint64(p[24:])
	if typ != joinedOffline && typ != joinedRemote || n > uint64(len(p)-head)/16 {
		return c, false
	}
	c = JoinedChain{PID: int32(o.Uint32(p)), TID: int32(o.Uint32(p[4:])), Time: o.Uint64(p[16:])}
	for i := range n {
		c.Chain = append(c.Chain, o.Uint64(p[head+8*i:]))
	}
	return c, true
}
