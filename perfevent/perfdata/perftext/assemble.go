package perftext

import (
	"cmp"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Form is one of the ways to write a recording down.
type Form struct {
	Order abi.Order
	Pipe  bool           // pipe mode: attributes, names and build ids are records
	Zstd  abi.RecordType // RecordCompressed or RecordCompressed2: the kernel's records are in such ones
	Chunk int            // bytes in one compressed record before it was one, default 21: no record ends with it

	AttrSize int  // of attributes that do not say theirs, in bytes; 0: as abi writes them
	Nameless bool // nothing but their attributes says what events are
}

func (f Form) String() string {
	s := f.Order.String()
	if f.Pipe {
		s += " pipe"
	} else {
		s += " file"
	}
	if f.Zstd != 0 {
		s += " " + f.Zstd.String()
	}
	return s
}

// Records returns the records alone, in order, as a ring would hand them out.
// Those of perf itself and bytes that are no records are left out; a round ends
// the slice of records before it.
func (r *Recording) Records(o abi.Order) (rounds [][]byte) {
	var b []byte
	for i := range r.records {
		rec := &r.records[i]
		switch {
		case rec.typ == abi.RecordFinishedRound:
			rounds = append(rounds, b)
			b = nil
		case !rec.raw && rec.typ < abi.RecordHeaderAttr:
			b = r.append(b, rec, o)
		}
	}
	return append(rounds, b)
}

// Assemble returns the recording in the given form.
func (r *Recording) Assemble(f Form) ([]byte, error) {
	data, err := r.data(f)
	if err != nil {
		return nil, err
	}
	if f.Pipe {
		b := append(r.pipeHead(f), data...)
		return b[:len(b)-min(r.truncate, len(data))], nil
	}
	return r.file(f, data), nil
}

// data are the records, compressed or not.
func (r *Recording) data(f Form) ([]byte, error) {
	var b, inner []byte
	z, err := newDeflater(f)
	if err != nil {
		return nil, err
	}
	for i := range r.records {
		rec := &r.records[i]
		if f.Zstd != 0 && rec.typ < abi.RecordHeaderAttr {
			inner = r.append(inner, rec, f.Order)
			continue
		}
		if b, err = z.append(b, inner); err != nil {
			return nil, err
		}
		inner = inner[:0]
		b = r.append(b, rec, f.Order)
	}
	return z.append(b, inner)
}

// append appends one record.
func (r *Recording) append(b []byte, rec *record, o abi.Order) []byte {
	if rec.raw {
		return rec.body(b, o)
	}
	payload := rec.body(nil, o)
	if rec.kernel && len(r.Events) > 0 {
		l := abi.NewLayout(&r.Events[rec.event].Attr, o)
		payload = l.AppendTrailer(payload, rec.id)
	}
	size := abi.HeaderSize + len(payload)
	if rec.size >= 0 {
		size = rec.size
	}
	b = abi.Header{Type: rec.typ, Misc: rec.misc, Size: uint16(size)}.AppendTo(b, o)
	return append(b, payload...)
}

// deflater writes records into COMPRESSED ones, all of them one zstd stream that
// is flushed at the end of each.
type deflater struct {
	form Form
	enc  *zstd.Encoder
	out  []byte
}

func newDeflater(f Form) (*deflater, error) {
	d := &deflater{form: f}
	if f.Zstd == 0 {
		return d, nil
	}
	if d.form.Chunk <= 0 {
		d.form.Chunk = 21
	}
	// Both ends keep as much as a window has, for each of thousands of recordings. Those in tests
	// are smaller than this one.
	const window = 64 << 10
	var err error
	d.enc, err = zstd.NewWriter((*deflated)(d), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	return d, err
}

type deflated deflater

func (d *deflated) Write(p []byte) (int, error) {
	d.out = append(d.out, p...)
	return len(p), nil
}

func (d *deflater) append(b, inner []byte) ([]byte, error) {
	for len(inner) > 0 {
		n := min(d.form.Chunk, len(inner))
		if _, err := d.enc.Write(inner[:n]); err != nil {
			return nil, err
		}
		inner = inner[n:]
		if err := d.enc.Flush(); err != nil {
			return nil, err
		}
		b = d.record(b)
		d.out = d.out[:0]
	}
	return b, nil
}

// record appends one compressed record. COMPRESSED2 is padded and says how many
// bytes are meant.
func (d *deflater) record(b []byte) []byte {
	o := d.form.Order
	size := abi.HeaderSize + len(d.out)
	if d.form.Zstd != abi.RecordCompressed2 {
		b = abi.Header{Type: d.form.Zstd, Size: uint16(size)}.AppendTo(b, o)
		return append(b, d.out...)
	}
	pad := (8 - size%8) % 8
	b = abi.Header{Type: d.form.Zstd, Size: uint16(size + 8 + pad)}.AppendTo(b, o)
	b = o.AppendUint64(b, uint64(len(d.out)))
	b = append(b, d.out...)
	return append(b, make([]byte, pad)...)
}

// attr returns the bytes of an event's attribute, at least size.
func (r *Recording) attr(i, size int, f Form) []byte {
	o := f.Order
	b := r.Events[i].Attr.AppendTo(nil, o)
	if n := cmp.Or(r.attrSizes[i], f.AttrSize); n > 0 {
		b = append(b, make([]byte, max(n-len(b), 0))...)[:n]
		if n >= 8 {
			o.AppendUint32(b[:4:8], uint32(n))
		}
	}
	return append(b, make([]byte, max(size-len(b), 0))...)
}

const (
	fileHeaderSize = 104
	pipeHeaderSize = 16
	magic          = 0x32454c4946524550 // "PERFILE2", in the order of the file
)

// file puts head and tail around data in file mode:
//
//	header  ids  attributes  data  features
func (r *Recording) file(f Form, data []byte) []byte {
	o := f.Order
	size := abi.AttrSizeVer0
	for i := range r.Events {
		size = max(size, len(r.attr(i, 0, f)))
	}
	b := make([]byte, fileHeaderSize)
	var attrs []byte
	for i := range r.Events {
		attrs = append(attrs, r.attr(i, size, f)...)
		attrs = o.AppendUint64(attrs, uint64(len(b)))
		attrs = o.AppendUint64(attrs, uint64(8*len(r.Events[i].IDs)))
		for _, id := range r.Events[i].IDs {
			b = o.AppendUint64(b, id)
		}
	}
	attrsAt := len(b)
	b = append(b, attrs...)
	dataAt := len(b)
	b = append(b, data...)
	features, set := r.features(len(b), f)
	b = append(b, features...)

	head := b[:0:fileHeaderSize]
	for _, v := range []uint64{
		magic, fileHeaderSize, uint64(size + 16),
		uint64(attrsAt), uint64(len(attrs)), uint64(dataAt), uint64(len(data)), 0, 0,
	} {
		head = o.AppendUint64(head, v)
	}
	for _, w := range set {
		head = o.AppendUint64(head, w)
	}
	if r.truncate > 0 {
		b = b[:dataAt+len(data)-min(r.truncate, len(data))]
	}
	return b
}

// features are the table of features that starts at off, and their bodies: the
// names of events and the build ids; and a host, which shows perf the byte order of
// the table.
func (r *Recording) features(off int, form Form) (b []byte, set perfdata.FeatureSet) {
	o := form.Order
	f := r.Features
	f.Hostname = cmp.Or(f.Hostname, "host")
	f.BuildIDs = append(f.BuildIDs, r.BuildIDs...)
	if !form.Nameless && len(f.Events) == 0 {
		f.Events = r.Events
	}
	set = f.Set()
	off += 16 * set.Len()
	var bodies []byte
	for id := range set.All() {
		n := len(bodies)
		bodies = f.Append(bodies, id, o)
		b = o.AppendUint64(b, uint64(off+n))
		b = o.AppendUint64(b, uint64(len(bodies)-n))
	}
	return append(b, bodies...), set
}

// pipeHead is what comes before the records in pipe mode.
func (r *Recording) pipeHead(form Form) []byte {
	o := form.Order
	b := o.AppendUint64(nil, magic)
	b = o.AppendUint64(b, pipeHeaderSize)
	for i := range r.Events {
		e := &r.Events[i]
		attr := r.attr(i, 0, form)
		b = abi.Header{Type: abi.RecordHeaderAttr, Size: uint16(abi.HeaderSize + len(attr) + 8*len(e.IDs))}.AppendTo(b, o)
		b = append(b, attr...)
		for _, id := range e.IDs {
			b = o.AppendUint64(b, id)
		}
	}
	if !form.Nameless {
		b = r.pipeNames(b, o)
	}
	if td := r.Features.TracingData; len(td) > 0 {
		size := (len(td) + 7) &^ 7
		b = abi.Header{Type: abi.RecordHeaderTracingData, Size: 16}.AppendTo(b, o)
		b = o.AppendUint32(b, uint32(size))
		b = o.AppendUint32(b, 0)
		b = append(append(b, td...), make([]byte, size-len(td))...)
	}
	for i := range r.BuildIDs {
		b = r.BuildIDs[i].AppendTo(b, o)
	}
	return b
}

// pipeNames appends the records that name events in pipe mode, both ways there are, and the
// machine.
func (r *Recording) pipeNames(b []byte, o abi.Order) []byte {
	f := perfdata.Features{Events: r.Events, Host: r.Features.Host}
	for _, feature := range []perfdata.Feature{perfdata.FeatureArch, perfdata.FeatureEventDesc} {
		if feature == perfdata.FeatureArch && f.Arch == "" {
			continue
		}
		body := f.Append(nil, feature, o)
		b = abi.Header{Type: abi.RecordHeaderFeature, Size: uint16(abi.HeaderSize + 8 + len(body))}.AppendTo(b, o)
		b = o.AppendUint64(b, uint64(feature))
		b = append(b, body...)
	}
	for i := range r.Events {
		if e := &r.Events[i]; len(e.IDs) > 0 {
			const name = 2 // PERF_EVENT_UPDATE__NAME
			p := o.AppendUint64(nil, name)
			p = o.AppendUint64(p, e.IDs[0])
			p = appendString(p, e.Name)
			b = abi.Header{Type: abi.RecordEventUpdate, Size: uint16(abi.HeaderSize + len(p))}.AppendTo(b, o)
			b = append(b, p...)
		}
	}
	return b
}

// MustParse is Parse for texts that are part of a program; it panics.
func MustParse(text string) *Recording {
	r, err := Parse(text)
	if err != nil {
		panic(fmt.Sprintf("perftext: %v", err))
	}
	return r
}
