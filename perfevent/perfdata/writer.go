package perfdata

import (
	"fmt"
	"os"
	"time"

	"kprof/perfevent/abi"
)

// WriterOptions tune a Writer or a StreamWriter. The zero value is good.
type WriterOptions struct {
	Order       abi.Order     // of the records; default little-endian
	BatchBytes  int           // written and committed at once; default 1 MiB
	CommitEvery time.Duration // at the latest, as long as rounds finish; default 40 ms

	// KernelSymbols are encoded KernelSymbols to lie before the data. A StreamWriter
	// writes none.
	KernelSymbols []byte
	// Rules are lines that Reader.Rules returns: how the recording is to be read. A
	// StreamWriter writes none.
	Rules []string
}

func (o WriterOptions) withDefaults() WriterOptions {
	if o.BatchBytes <= 0 {
		o.BatchBytes = 1 << 20
	}
	if o.CommitEvery <= 0 {
		o.CommitEvery = 40 * time.Millisecond
	}
	return o
}

// Writer writes a recording in file mode, so that a recorder killed at any
// moment leaves a file that perf reads up to the last commit:
//
//	header      data.size is what commits
//	ids, attributes
//	early       bodies of the features known from the start; zeros, if the data would begin
//	            before minDataOff; the kernel symbols and rules
//	data        records
//	            ...
//	            FINISHED_ROUND  <- data.size ends inside this record, after its header
//	            feature table      its body is the table of the early features
//	            records of the next batch
//
// perf looks for the table of features right behind the data. Each batch
// therefore ends in a FINISHED_ROUND record whose body is that table: before
// the commit of the next batch it lies behind the data, afterwards it is
// skipped as part of a record. A commit is one write of eight bytes. Close adds
// the late features behind everything and points the header there, in one write
// again.
//
// The BUILD_ID feature, for which perf reads its whole file a second time, is
// written only when the caller has build ids: MMAP2 records carry them (flag
// build_id of the attribute), and an incomplete feature would hide those from
// perf buildid-list.
//
// A Writer is not safe for concurrent use.
type Writer struct {
	f      *os.File
	opts   WriterOptions
	events []abi.Event
	early  sections
	table  []byte // of the early features, as it follows each commit

	dataOff   int64
	buf       []byte // not written yet
	off       int64  // of buf in the file
	committed int64  // end of the data as the header has it
	pending   bool   // records or rounds since the last commit
	inRound   bool   // records since the last round
	last      time.Time
	rounds    roundLog
	trailer   []byte

	err    error // the first failed write; nothing is written after it
	closed bool
}

// NewWriter writes the head of a recording of events to f, which must be open
// for reading as well and is overwritten from its start. early holds what is
// known so far, tracing data above all: perf refuses a recording of tracepoints
// without. Its Events need not be set. The caller closes f after Close.
func NewWriter(f *os.File, events []abi.Event, early Features, opts WriterOptions) (*Writer, error) {
	w := &Writer{f: f, opts: opts.withDefaults(), events: events, last: time.Now()}
	w.buf = make([]byte, 0, w.opts.BatchBytes+batchSlack)
	if err := f.Truncate(0); err != nil {
		return nil, fmt.Errorf("write perf.data: %w", err)
	}
	if early.Events == nil {
		early.Events = events
	}
	if err := w.head(early); err != nil {
		return nil, fmt.Errorf("write perf.data: %w", err)
	}
	// An empty round makes even an empty recording a whole file.
	w.inRound = true
	if err := w.commit(); err != nil {
		return nil, err
	}
	return w, nil
}

// minDataOff is where the data begin at the earliest. perf maps a file from the page on in which
// they begin, and as many bytes as the data end at; what it has mapped too much by that is where
// it looks for the body of the last FINISHED_ROUND. Were they in the first page, it would map the
// file anew for that record, while events of the last rounds wait in what it had mapped before, and
// die of SIGBUS (reader__mmap of tools/perf/util/session.c, Linux 6.1). There are pages of 64 KiB.
const minDataOff = 64 << 10

// batchSlack is room for the end of a batch: FINISHED_ROUND and its table.
const batchSlack = 8 + 256*16

// head lays out everything up to the data in buf.
func (w *Writer) head(early Features) (err error) {
	o := w.opts.Order
	// perf refuses attributes in a file that are larger than it knows: perf 4.1 to 5.4 knows 112
	// bytes, perf 6.1 128 (tools/perf/util/header.c, read_attr).
	size := attrSize(w.events, abi.AttrSizeVer5)
	b := make([]byte, fileHeaderSize)
	ids := make([]section, len(w.events))
	for i := range w.events {
		ids[i] = section{uint64(len(b)), uint64(8 * len(w.events[i].IDs))}
		for _, id := range w.events[i].IDs {
			b = o.AppendUint64(b, id)
		}
	}
	attrsAt := section{uint64(len(b)), uint64(len(w.events) * (size + 16))}
	for i := range w.events {
		b = appendAttr(b, &w.events[i].Attr, size, o)
		b = ids[i].append(b, o)
	}
	b = w.early.add(b, 0, &early, o)
	rules, err := appendRules(nil, w.opts.Rules, o)
	if err != nil {
		return err
	}
	// Symbols and rules are looked for right before the data.
	if n := len(b) + len(w.opts.KernelSymbols) + len(rules); n < minDataOff {
		b = append(b, make([]byte, minDataOff-n)...)
	}
	b = append(append(b, w.opts.KernelSymbols...), rules...)
	w.table = w.early.append(nil, o)
	w.dataOff = int64(len(b))

	h := fileHeader{
		order: o, size: fileHeaderSize, attrSize: uint64(size + 16),
		attrs: attrsAt, data: section{uint64(w.dataOff), 0}, features: w.early.set(),
	}
	copy(b, h.append(nil))
	w.buf = append(w.buf, b...)
	w.committed = w.dataOff
	return nil
}

// Write appends whole records of one ring, in ring order; b continues a where
// the ring wraps, and a record may straddle both. It meets record.Sink: the
// bytes are copied or written before it returns.
func (w *Writer) Write(a, b []byte) error {
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return fmt.Errorf("write perf.data: %w", os.ErrClosed)
	}
	if len(a)+len(b) == 0 {
		return nil
	}
	if !w.inRound {
		w.inRound = true
		w.rounds.add(w.off + int64(len(w.buf)))
	}
	w.pending = true
	w.append(a)
	w.append(b)
	return w.err
}

// FinishRound says that every ring has been drained once since the last call:
// no record that comes later is older than one of the round before.
func (w *Writer) FinishRound() error {
	if w.err != nil || !w.pending || w.closed {
		return w.err
	}
	end := w.off + int64(len(w.buf))
	if end-w.committed >= int64(w.opts.BatchBytes) || time.Since(w.last) >= w.opts.CommitEvery {
		return w.commit()
	}
	if w.inRound {
		w.inRound = false
		w.append(w.finishedRound(0))
	}
	return w.err
}

// Size is the number of bytes of the file so far.
func (w *Writer) Size() int64 { return w.off + int64(len(w.buf)) }

// Empty reports whether no record is in the file that a reader would see.
func (w *Writer) Empty() bool { return w.committed == w.dataOff }

func (w *Writer) finishedRound(body int) []byte {
	h := abi.Header{Type: abi.RecordFinishedRound, Size: uint16(abi.HeaderSize + body)}
	return h.AppendTo(make([]byte, 0, abi.HeaderSize), w.opts.Order)
}

// append queues b, writing what is full.
func (w *Writer) append(b []byte) {
	if len(w.buf)+len(b) > w.opts.BatchBytes {
		w.flush()
		if len(b) >= w.opts.BatchBytes {
			w.writeAt(b, w.off)
			w.off += int64(len(b))
			return
		}
	}
	w.buf = append(w.buf, b...)
}

func (w *Writer) flush() {
	w.writeAt(w.buf, w.off)
	w.off += int64(len(w.buf))
	w.buf = w.buf[:0]
}

func (w *Writer) writeAt(b []byte, off int64) {
	if w.err != nil || len(b) == 0 {
		return
	}
	if _, err := w.f.WriteAt(b, off); err != nil {
		w.err = fmt.Errorf("write perf.data: %w", err)
	}
}

// commit ends a batch and makes the header say so.
func (w *Writer) commit() error {
	w.buf = append(w.buf, w.finishedRound(len(w.table))...)
	end := w.off + int64(len(w.buf))
	w.buf = append(w.buf, w.table...)
	w.flush()
	w.writeAt(w.opts.Order.AppendUint64(nil, uint64(end-w.dataOff)), dataSizeAt)
	if w.err != nil {
		return w.err
	}
	w.committed = end
	w.pending, w.inRound = false, false
	w.last = time.Now()
	return nil
}

// Close ends the recording: it writes what is left, then the features of late
// together with the early ones; where both have one, late's counts. The times of
// the first and last sample are found in the file unless late has them. After a
// failed write, a full disk for example, it keeps what was committed, tries to
// add the features nevertheless, and returns the first error. Further calls do
// nothing and return the same.
func (w *Writer) Close(late Features) error {
	if w.closed {
		return w.err
	}
	w.closed = true
	if w.err == nil && w.pending {
		w.append(w.finishedRound(0))
	}
	w.flush()
	first := w.err
	if first != nil {
		w.err = nil
		w.off, w.buf = w.committed+int64(len(w.table)), w.buf[:0]
		if err := w.f.Truncate(w.off); err != nil {
			w.err = first
			return first
		}
	}
	if late.SampleTime == (SampleTime{}) {
		late.SampleTime = w.sampleTime()
	}
	w.tail(late)
	if first != nil {
		w.err = first
	}
	return w.err
}

// SetTrailer gives Close encoded KernelSymbols to write behind everything else.
func (w *Writer) SetTrailer(symbols []byte) { w.trailer = symbols }

// tail writes the final table and the late bodies behind the data, then points
// the header to them.
func (w *Writer) tail(late Features) {
	o := w.opts.Order
	all := w.early
	set := late.Set()
	for id := range set.All() {
		all[id] = &section{}
	}
	n := len(all.append(nil, o))
	b := all.add(make([]byte, n), w.off, &late, o)
	copy(b, all.append(nil, o))
	b = append(b, w.trailer...)
	end := w.off
	w.writeAt(b, end)
	w.off += int64(len(b))

	h := fileHeader{order: o, data: section{uint64(w.dataOff), uint64(end - w.dataOff)}, features: all.set()}
	w.writeAt(h.append(nil)[dataSizeAt:], dataSizeAt)
}

// dataSizeAt is the offset of data.size in the header; the set of features ends
// the header.
const dataSizeAt = 48

// append appends a header of file mode.
func (h *fileHeader) append(b []byte) []byte {
	o := h.order
	b = o.AppendUint64(b, magicNumber)
	b = o.AppendUint64(b, h.size)
	b = o.AppendUint64(b, h.attrSize)
	b = h.attrs.append(b, o)
	b = h.data.append(b, o)
	b = section{}.append(b, o) // event_types
	for _, f := range h.features {
		b = o.AppendUint64(b, f)
	}
	return b
}

// magicNumber is PERFILE2 as a number, which tells the byte order of a file.
const magicNumber = 0x32454c4946524550

func (s section) append(b []byte, o abi.Order) []byte {
	return o.AppendUint64(o.AppendUint64(b, s.off), s.size)
}

// sections are the places of feature bodies in the file, by feature.
type sections [256]*section

// add appends the bodies of f to b, which starts at offset base of the file, and
// notes where they lie. Bodies start at multiples of eight.
func (s *sections) add(b []byte, base int64, f *Features, o abi.Order) []byte {
	set := f.Set()
	for id := range set.All() {
		for (base+int64(len(b)))%8 != 0 {
			b = append(b, 0)
		}
		start := len(b)
		b = f.Append(b, id, o)
		s[id] = &section{uint64(base) + uint64(start), uint64(len(b) - start)}
	}
	for (base+int64(len(b)))%8 != 0 {
		b = append(b, 0)
	}
	return b
}

func (s *sections) set() (f FeatureSet) {
	for id, sec := range s {
		if sec != nil {
			f.Add(Feature(id))
		}
	}
	return f
}

// append appends the table.
func (s *sections) append(b []byte, o abi.Order) []byte {
	for _, sec := range s {
		if sec != nil {
			b = sec.append(b, o)
		}
	}
	return b
}
