package perfdata

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"kprof/perfevent/abi"
)

// Reader reads a recording, in file mode or in pipe mode.
//
// A recording in a regular file can be walked as often as needed, one that arrives
// through a pipe once.
type Reader struct {
	// Events are those of the file's header. In pipe mode they arrive with the
	// records, before the first that needs them.
	Events *EventSet

	// Truncated is set when the data section reaches past the end of the file,
	// or when the recording was never closed and has no size.
	Truncated bool

	// Features are those of the header; in pipe mode they arrive with the
	// records. BadFeatures are the ones that could not be read.
	Features    Features
	BadFeatures []error

	header fileHeader
	file   *os.File    // to be closed, nil if not ours
	at     io.ReaderAt // nil when the input cannot be read twice
	size   int64       // of at
	pipe   io.Reader   // what follows the pipe header, without at
	data   section     // of records, in file mode

	taken        int64             // records of pipe mode that have been taken up, by an earlier walk or this one
	featureBytes int               // decoded so far
	typeNames    map[uint64]string // of HEADER_EVENT_TYPE records, by config
	tracepoints  map[uint64]string // "system:name" by id, from the tracing data
	described    map[uint64]string // names of EVENT_DESC by id
	provisional  map[int]bool      // events named by nothing but their attribute
}

// Open opens the recording in the named file.
func Open(name string) (*Reader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.file = f
	return r, nil
}

// NewReader returns a reader of the recording in r. If r is a regular file it is
// read with ReadAt, from its start.
func NewReader(r io.Reader) (*Reader, error) {
	if f, ok := r.(*os.File); ok {
		st, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if st.IsDir() {
			return nil, errors.New("is a directory, not a recording")
		}
		if st.Mode().IsRegular() {
			return NewReaderAt(f, st.Size())
		}
	}
	var b [pipeHeaderSize]byte
	n, err := io.ReadFull(r, b[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read perf.data header: %w", err)
	}
	o, pipe, err := headerOrder(b[:n])
	if err != nil {
		return nil, err
	}
	if !pipe {
		return nil, errors.New("a recording in file mode cannot be read from a pipe: name the file, or record with -o -")
	}
	return &Reader{Events: NewEventSet(o, nil), header: fileHeader{order: o, pipe: true}, pipe: r}, nil
}

// NewReaderAt returns a reader of the recording in the first size bytes of r.
func NewReaderAt(r io.ReaderAt, size int64) (*Reader, error) {
	var b [pipeHeaderSize]byte
	n, err := r.ReadAt(b[:min(size, pipeHeaderSize)], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read perf.data header: %w", err)
	}
	o, pipe, err := headerOrder(b[:n])
	if err != nil {
		return nil, err
	}
	rd := &Reader{at: r, size: size, header: fileHeader{order: o, pipe: true}}
	if pipe {
		rd.Events = NewEventSet(o, nil)
		return rd, nil
	}
	if err := rd.openFile(o); err != nil {
		return nil, err
	}
	return rd, nil
}

// openFile reads what a recording in file mode has outside its data section.
func (r *Reader) openFile(o abi.Order) error {
	h, err := readFileHeader(r.at, o, r.size)
	if err != nil {
		return err
	}
	r.header = h
	events, err := readAttrs(r.at, h, r.size)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return errors.New("perf.data has no events")
	}
	r.data = h.data
	if r.data.size == 0 { // never closed: the records go on to the end of the file
		r.data.size = uint64(r.size) - r.data.off
		r.Truncated = true
	} else {
		r.data, r.Truncated = r.data.bounded(r.size)
	}
	if !r.Truncated {
		r.readFeatures()
		r.readFormats()
	}
	r.Events = NewEventSet(o, events)
	r.nameEvents()
	return nil
}

// Close closes the file, if Open opened it.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}

// Order is the byte order of the recording.
func (r *Reader) Order() abi.Order { return r.header.order }

// PipeMode reports whether the recording was written to a pipe.
func (r *Reader) PipeMode() bool { return r.header.pipe }

// Rewindable reports whether Records can be called more than once.
func (r *Reader) Rewindable() bool { return r.at != nil }

// DataRange is where the records of a recording in file mode lie. In pipe mode and
// for input that cannot be read twice it returns false.
func (r *Reader) DataRange() (lo, hi int64, ok bool) {
	if r.header.pipe || r.at == nil {
		return 0, 0, false
	}
	return int64(r.data.off), int64(r.data.off + r.data.size), true
}

// Records walks all records in the order of the file. COMPRESSED records are
// replaced by the records in them, and what follows a record outside of it
// (tracing data, AUX data) is passed over. Events, names and features that pipe
// mode brings as records are taken up on the way; those records are seen too.
//
// The *Record is reused. A recording that ends inside a record ends the walk
// with a *TruncatedError; any other error ends it as well.
func (r *Reader) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		s, err := r.open()
		if err != nil {
			yield(nil, err)
			return
		}
		w := walk{r: r, s: s, yield: yield, takeUp: r.header.pipe}
		w.run()
	}
}

func (r *Reader) open() (*stream, error) {
	o := r.header.order
	switch {
	case !r.header.pipe:
		return newSectionStream(r.at, o, int64(r.data.off), int64(r.data.size)), nil
	case r.at != nil:
		return newSectionStream(r.at, o, pipeHeaderSize, r.size-pipeHeaderSize), nil
	case r.pipe == nil:
		return nil, errors.New("a recording from a pipe can be read only once")
	}
	s := newStream(r.pipe, o, pipeHeaderSize, streamBuffer)
	r.pipe = nil
	return s, nil
}

// walk is one pass over records.
type walk struct {
	r      *Reader
	s      *stream
	yield  func(*Record, error) bool
	takeUp bool // the header records of pipe mode
	place  int64
	z      *inflater
}

func (w *walk) run() {
	defer func() {
		if w.z != nil {
			w.z.close()
		}
	}()
	var rec Record
	for {
		err := w.s.next(&rec)
		if err == io.EOF && w.z != nil {
			err = w.z.end()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			w.yield(nil, err)
			return
		}
		switch rec.Type {
		case abi.RecordCompressed, abi.RecordCompressed2:
			if w.z == nil {
				w.z = newInflater()
			}
			more, err := w.z.records(compressedPayload(&rec, w.s.order), rec.Offset, w.s.order, w.one)
			if err != nil {
				w.yield(nil, err)
				return
			}
			// The compressed record itself is counted, without its payload.
			rec.Payload = nil
			if !more || !w.yield(&rec, nil) {
				return
			}
		default:
			if !w.one(&rec) {
				return
			}
		}
	}
}

// one hands out a record, after taking up what it tells of the recording if no
// earlier walk has.
func (w *walk) one(rec *Record) bool {
	w.place++
	if rec.Type < abi.RecordHeaderAttr {
		return w.yield(rec, nil)
	}
	takeUp := w.takeUp && w.place > w.r.taken
	trail, err := w.r.trailing(rec)
	if takeUp && err == nil {
		if err = w.r.takeUp(rec); err == nil {
			w.r.taken = w.place
		}
	}
	if err != nil {
		w.yield(nil, err)
		return false
	}
	if !w.yield(rec, nil) {
		return false
	}
	switch {
	case trail == 0:
	case takeUp && rec.Type == abi.RecordHeaderTracingData:
		err = w.r.readTracingData(w.s, trail)
	default:
		err = w.s.skip(trail)
	}
	if err != nil {
		w.yield(nil, err)
		return false
	}
	return true
}
