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

	header  fileHeader
	files   []*os.File  // to be closed
	parts   []part      // more files with records, of a recording in a directory
	missing string      // which of them are not there
	dir     *os.Root    // of a recording in a directory
	at      io.ReaderAt // nil when the input cannot be read twice
	size    int64       // of at
	pipe    io.Reader   // what follows the pipe header, without at
	source  *Source     // nil for a perf.data file
	data    section     // of records, in file mode

	taken        int64                         // records of pipe mode that have been taken up, by an earlier walk or this one
	featureBytes int                           // decoded so far
	typeNames    map[uint64]string             // of HEADER_EVENT_TYPE records, by config
	tracepoints  map[uint64]string             // "system:name" by id, from the tracing data
	functions    map[uint64]abi.FunctionFields // by id, of tracepoints that have some
	described    map[uint64]string             // names of EVENT_DESC by id
	provisional  map[int]bool                  // events named by nothing but their attribute
	renamed      bool                          // something has come that may name events
	oldHeaders   bool                          // see oldHeader
	firstEvent   int64                         // place of the record that brought the first event, of pipe mode
	namings      int                           // how often it has
	split        []byte                        // parts of a record, see takePart
	partsSize    int                           // of all, though they be too large to keep
}

// Open opens the recording in the named file or directory.
func Open(name string) (*Reader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return readOwn(f, name)
}

// readOwn returns a reader that closes f, as this does where it fails.
func readOwn(f *os.File, name string) (*Reader, error) {
	r, err := NewReader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	r.files = append(r.files, f)
	return r, nil
}

// NewReader returns a reader of the recording in r. If r is a regular file it is
// read with ReadAt, from its start; if it is a directory, the files in it are
// opened by the name that r was opened by, and closed by Close.
func NewReader(r io.Reader) (*Reader, error) {
	if f, ok := r.(*os.File); ok {
		st, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if st.IsDir() {
			return openDir(f.Name())
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
		return nil, errors.New("a recording in file mode is read at different places, which this reader cannot")
	}
	return &Reader{Events: NewEventSet(o, nil), header: fileHeader{order: o, version: headerVersion(b[:]), pipe: true}, pipe: r}, nil
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
	rd := &Reader{at: r, size: size, header: fileHeader{order: o, version: headerVersion(b[:]), pipe: true}}
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
	if len(events) == 0 && h.data.size == 0 { // perf sched stats record has records alone
		return errors.New("perf.data has no events")
	}
	r.data = h.data
	if r.data.size == 0 { // never closed: the records go on to the end of the file
		r.data.size = uint64(r.size) - r.data.off
		r.Truncated = true
	} else {
		r.data, r.Truncated = r.data.bounded(r.size)
	}
	if r.Truncated { // the features come behind the records
		r.header.features = FeatureSet{}
	} else {
		r.readFeatures()
		r.readFormats()
		if r.Features.DirFormat == dirFiles {
			r.missing = "it is one file of a directory, and the samples are in others beside it: give the directory"
		}
	}
	r.Events = NewEventSet(o, events)
	r.Events.groupCounters(r.Features.Groups)
	r.nameEvents()
	return nil
}

// Close closes the files that the reader opened.
func (r *Reader) Close() error {
	var err error
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	r.files = nil
	if r.dir != nil {
		err = errors.Join(err, r.dir.Close())
	}
	if r.source != nil && r.source.Close != nil {
		err = errors.Join(err, r.source.Close())
		r.source.Close = nil
	}
	return err
}

// Order is the byte order of the recording.
func (r *Reader) Order() abi.Order { return r.header.order }

// PipeMode reports whether the recording was written to a pipe.
func (r *Reader) PipeMode() bool { return r.header.pipe }

// Rewindable reports whether Records can be called more than once.
func (r *Reader) Rewindable() bool { return r.at != nil || r.source != nil }

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
// mode brings as records are taken up on the way; those records are seen too, and
// the features of very old ones, which have numbers that others have today, as
// HEADER_FEATURE records without the number of the feature.
//
// The *Record is reused. A recording that ends inside a record ends the walk
// with a *TruncatedError, in a directory after the files that remain, as does one of
// which files are missing; any other error ends it as well.
func (r *Reader) Records() iter.Seq2[*Record, error] {
	if r.source != nil {
		return r.source.Records()
	}
	return func(yield func(*Record, error) bool) {
		s, err := r.open()
		if err != nil {
			yield(nil, err)
			return
		}
		w := walk{r: r, s: s, yield: yield}
		defer func() { w.s.close() }()
		truncated, ok := w.run()
		r.renameEvents()
		for i := 0; i < len(r.parts) && ok; i++ {
			var t *TruncatedError
			w.s.close()
			w.s = newSectionStream(r.parts[i].at, r.header.order, 0, r.parts[i].size)
			if t, ok = w.run(); t != nil && truncated == nil {
				t.File, truncated = r.parts[i].name, t
			}
		}
		if truncated == nil && r.missing != "" {
			truncated = &TruncatedError{Offset: -1, Reason: r.missing}
		}
		if ok && truncated != nil {
			yield(nil, truncated)
		}
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
	r     *Reader
	s     *stream
	yield func(*Record, error) bool
	place int64
}

// run reads w.s to its end and reports whether to go on. A file that ends too
// early is no reason not to.
func (w *walk) run() (*TruncatedError, bool) {
	err := w.records()
	var truncated *TruncatedError
	switch {
	case errors.As(err, &truncated):
		return truncated, true
	case err == errStopped:
		return nil, false
	case err != nil:
		w.yield(nil, err)
		return nil, false
	}
	return nil, true
}

// errStopped says that no more records are wanted.
var errStopped = errors.New("stopped")

// records hands out the records of w.s.
func (w *walk) records() error {
	var z *inflater
	defer func() {
		if z != nil {
			z.close()
		}
	}()
	var rec Record
	for {
		err := w.s.next(&rec)
		if err == io.EOF && z != nil {
			err = z.end()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if rec.Type != abi.RecordCompressed && rec.Type != abi.RecordCompressed2 {
			if err := w.one(&rec); err != nil {
				return err
			}
			continue
		}
		if z == nil {
			z = newInflater()
		}
		if err := z.records(compressedPayload(&rec, w.s.order), rec.Offset, w.s.order, w.one); err != nil {
			return err
		}
		// The compressed record itself is counted, without its payload.
		rec.Payload = nil
		if !w.yield(&rec, nil) {
			return errStopped
		}
	}
}

// one hands out a record, after taking up what it tells of the recording if no
// earlier walk has.
func (w *walk) one(rec *Record) error {
	w.place++
	if rec.Type < abi.RecordHeaderAttr {
		if w.r.renamed {
			w.r.renameEvents()
		}
		if !w.yield(rec, nil) {
			return errStopped
		}
		return nil
	}
	takeUp := w.place > w.r.taken
	if f, ok := w.r.oldHeader(rec.Type, w.place); ok {
		rec.Type = abi.RecordHeaderFeature
		if takeUp {
			w.r.header.features.Add(f)
			w.r.takeFeature(f, append([]byte(nil), rec.Payload...))
			w.r.taken = w.place
		}
		if !w.yield(rec, nil) {
			return errStopped
		}
		return nil
	}
	trail, err := w.r.trailing(rec)
	if err != nil {
		return err
	}
	if takeUp {
		if err := w.r.takeUp(rec); err != nil {
			return err
		}
		if w.r.firstEvent == 0 && len(w.r.Events.Events) > 0 {
			w.r.firstEvent = w.place
		}
		w.r.taken = w.place
	}
	if !w.yield(rec, nil) {
		return errStopped
	}
	switch {
	case trail == 0:
		return nil
	case takeUp && rec.Type == abi.RecordHeaderTracingData:
		return w.r.readTracingData(w.s, trail)
	case takeUp && rec.Type == recordTracingData:
		return w.r.readLargeTracing(w.s, trail)
	}
	return w.s.skip(trail)
}
