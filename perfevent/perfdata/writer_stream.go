package perfdata

import (
	"fmt"
	"io"
	"os"
	"time"

	"kprof/perfevent/abi"
)

// StreamWriter writes a recording in pipe mode, where what a file has in its
// header comes as records: ATTR for each event, FEATURE, TRACING_DATA,
// EVENT_UPDATE for the names; then the records themselves. What is only known at
// the end, such as the times of samples, has no place in it.
//
// A StreamWriter is not safe for concurrent use.
type StreamWriter struct {
	w       io.Writer
	opts    WriterOptions
	buf     []byte
	size    int64
	inRound bool
	last    time.Time
	err     error
	closed  bool
}

// NewStreamWriter writes the head of a recording of events to w.
func NewStreamWriter(w io.Writer, events []abi.Event, early Features, opts WriterOptions) (*StreamWriter, error) {
	s := &StreamWriter{w: w, opts: opts.withDefaults(), last: time.Now()}
	if early.Events == nil {
		early.Events = events
	}
	if err := s.head(events, &early); err != nil {
		return nil, err
	}
	s.flush()
	return s, s.err
}

// head appends everything up to the records. perf applies features to the
// events it knows, so these come first. The mark that ends the features, a
// FEATURE of HEADER_LAST_FEATURE, is left out: its number differs from one
// version of perf to the next, and each takes the other's for a broken feature.
func (s *StreamWriter) head(events []abi.Event, early *Features) error {
	o := s.opts.Order
	b := o.AppendUint64(nil, magicNumber)
	b = o.AppendUint64(b, pipeHeaderSize)
	// Up to 6.6 perf looks for the ids where an attribute of its own would end: from 5.13 on behind
	// 128 bytes, earlier before that, where zeros are (header.c, perf_event__process_attr).
	size := attrSize(events, abi.AttrSizeVer7)
	for i := range events {
		ev := &events[i]
		n := abi.HeaderSize + size + 8*len(ev.IDs)
		if n > maxRecord {
			return fmt.Errorf("write perf.data: event %q has %d ids; pipe mode carries %d",
				ev.Name, len(ev.IDs), (maxRecord-abi.HeaderSize-size)/8)
		}
		b = abi.Header{Type: abi.RecordHeaderAttr, Size: uint16(n)}.AppendTo(b, o)
		b = appendAttr(b, &ev.Attr, size, o)
		for _, id := range ev.IDs {
			b = o.AppendUint64(b, id)
		}
	}
	set := early.Set()
	for id := range set.All() {
		if int(id) < len(features) && features[id].pipe {
			b = appendFeatureRecord(b, early, id, o)
		}
	}
	if n := len(early.TracingData); n > 0 {
		// struct perf_record_header_tracing_data; the data follow the record.
		b = abi.Header{Type: abi.RecordHeaderTracingData, Size: 16}.AppendTo(b, o)
		b = o.AppendUint32(b, uint32(align(n, 8)))
		b = o.AppendUint32(b, 0)
		b = append(b, early.TracingData...)
		b = append(b, make([]byte, align(n, 8)-n)...)
	}
	for i := range events {
		if ev := &events[i]; len(ev.IDs) > 0 && ev.Name != "" {
			b = appendEventName(b, ev.IDs[0], ev.Name, o)
		}
	}
	s.buf = b
	return nil
}

const maxRecord = 1<<16 - 1

// appendFeatureRecord appends a HEADER_FEATURE record (struct
// perf_record_header_feature). A feature too large for one is left out, as perf
// does: several records would not be joined.
func appendFeatureRecord(b []byte, f *Features, id Feature, o abi.Order) []byte {
	start := len(b)
	b = append(b, make([]byte, abi.HeaderSize)...)
	b = o.AppendUint64(b, uint64(id))
	b = f.Append(b, id, o)
	n := align(len(b)-start, 8)
	if n > maxRecord {
		return b[:start]
	}
	b = append(b, make([]byte, n-(len(b)-start))...)
	abi.Header{Type: abi.RecordHeaderFeature, Size: uint16(n)}.AppendTo(b[:start], o) // in place
	return b
}

// eventUpdateName is PERF_EVENT_UPDATE__NAME.
const eventUpdateName = 2

func appendEventName(b []byte, id uint64, name string, o abi.Order) []byte {
	name = name[:min(len(name), 1<<15)]
	n := align(len(name)+1, 8)
	b = abi.Header{Type: abi.RecordEventUpdate, Size: uint16(24 + n)}.AppendTo(b, o)
	b = o.AppendUint64(b, eventUpdateName)
	b = o.AppendUint64(b, id)
	b = append(b, name...)
	return append(b, make([]byte, n-len(name))...)
}

// Write appends records as Writer.Write does.
func (s *StreamWriter) Write(a, b []byte) error {
	if s.err != nil {
		return s.err
	}
	if s.closed {
		return fmt.Errorf("write perf.data: %w", os.ErrClosed)
	}
	s.inRound = s.inRound || len(a)+len(b) > 0
	s.append(a)
	s.append(b)
	return s.err
}

// FinishRound ends a round as Writer.FinishRound does. The reader gets whole
// rounds, a batch or CommitEvery apart.
func (s *StreamWriter) FinishRound() error {
	if s.inRound && s.err == nil && !s.closed {
		s.inRound = false
		s.buf = abi.Header{Type: abi.RecordFinishedRound, Size: abi.HeaderSize}.AppendTo(s.buf, s.opts.Order)
	}
	if len(s.buf) >= s.opts.BatchBytes || len(s.buf) > 0 && time.Since(s.last) >= s.opts.CommitEvery {
		s.flush()
	}
	return s.err
}

// Size is the number of bytes of the stream so far.
func (s *StreamWriter) Size() int64 { return s.size + int64(len(s.buf)) }

// Close writes what is left and does not close the underlying writer. Features
// cannot follow records, so late is not used; it is there so that both writers
// are closed alike. Further calls return the same.
func (s *StreamWriter) Close(late Features) error {
	if s.closed {
		return s.err
	}
	err := s.FinishRound()
	s.closed = true
	if err == nil {
		s.flush()
	}
	return s.err
}

func (s *StreamWriter) append(b []byte) {
	if len(s.buf)+len(b) > s.opts.BatchBytes {
		s.flush()
		if len(b) >= s.opts.BatchBytes {
			s.write(b)
			return
		}
	}
	s.buf = append(s.buf, b...)
}

func (s *StreamWriter) flush() {
	s.write(s.buf)
	s.buf = s.buf[:0]
	s.last = time.Now()
}

func (s *StreamWriter) write(b []byte) {
	if s.err != nil || len(b) == 0 {
		return
	}
	if _, err := s.w.Write(b); err != nil {
		s.err = fmt.Errorf("write perf.data: %w", err)
	}
	s.size += int64(len(b))
}
