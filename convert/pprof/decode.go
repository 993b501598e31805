package pprof

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"kprof/convert/stacks"
)

// decoder puts samples into a Set that has everything else.
type decoder struct {
	*reader
	width int // number of values of a sample

	one       [binary.MaxVarintLen64]byte
	values    []int64
	sums      []uint64 // of each column over all samples, without signs
	rawLabels []byte   // label fields of a sample, as in the file
	labelSets map[string]stacks.LabelsID
	drop      []string // keys of labels that are left out

	// The sample before, and what it came to.
	last   []byte
	stack  stacks.StackID
	lastID stacks.LabelsID

	tables int64 // of the Set, before the first sample
	kept   int64 // by labelSets
	since  int   // bytes decoded since the memory was last looked at

	blocks *blockReader // nil if there are no sums over blocks of time
}

func newDecoder(r *reader, drop []string) *decoder {
	d := &decoder{reader: r, labelSets: make(map[string]stacks.LabelsID), drop: drop, tables: r.set.Size()}
	for _, e := range r.set.Events {
		d.width += len(e.Values)
	}
	d.sums = make([]uint64, d.width)
	if r.k.blocks != nil {
		d.blocks = newBlockReader(r.k.blocks, r.set)
	}
	return d
}

// read decodes the samples of a stream.
func (d *decoder) read(s *scanner) error {
	for n := 0; ; {
		f, err := s.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case f.wire == wireBytes && f.num != profileSample:
			err = s.skip(f.value)
		case f.wire == wireBytes:
			err = d.sample(n, s, f.value)
			n++
		}
		if err != nil {
			return err
		}
	}
}

// lookEvery is how many bytes of samples are decoded before it is looked how much
// memory they have come to: a few megabytes at most.
const lookEvery = 256 << 10

// sample decodes one of size bytes.
func (d *decoder) sample(n int, s *scanner, size uint64) error {
	if size > uint64(stacks.MaxKept(d.k.size)) {
		return d.tooLarge()
	}
	if d.since += int(size); d.since >= lookEvery {
		d.since = 0
		if d.k.kept+d.kept+d.set.Size()-d.tables > stacks.MaxKept(d.k.size) {
			return d.tooLarge()
		}
	}
	b, err := s.body(int(size))
	if err != nil {
		return err
	}
	if !bytes.Equal(b, d.last) {
		if err := d.decode(n, b); err != nil {
			return err
		}
		d.last = append(d.last[:0], b...)
	}
	for c, v := range d.values {
		if d.sums[c] += min(uint64(v), -uint64(v)); d.sums[c] > math.MaxInt64 {
			return d.tooLargeSum(c)
		}
	}
	d.add(d.stack, d.lastID, d.values, d.blocks)
	return nil
}

// tooLargeSum is the error of column c of the profile.
func (d *decoder) tooLargeSum(c int) error {
	for _, e := range d.set.Events {
		if c < len(e.Values) {
			return &stacks.TooLargeSumError{Event: e.Name, Column: e.Values[c].Type}
		}
		c -= len(e.Values)
	}
	return nil
}

func (d *decoder) tooLarge() error { return &stacks.TooLargeError{Size: d.k.size} }

// decode finds a sample's stack, labels and values.
func (d *decoder) decode(n int, msg []byte) error {
	d.chain, d.values, d.rawLabels = d.chain[:0], d.values[:0], d.rawLabels[:0]
	depth, width := 0, 0
	if d.blocks != nil {
		d.blocks.sums = d.blocks.sums[:0]
	}
	for rest := msg; len(rest) > 0; {
		from := rest
		f, body, r, err := cut(rest)
		if err != nil {
			return fmt.Errorf("sample %d: %w", n, err)
		}
		rest = r
		switch f.num {
		case sampleLocation:
			depth += count(f, body)
			if depth <= stacks.MaxDepth {
				err = d.locate(f, body)
			}
		case sampleValue:
			width += count(f, body)
			if width <= d.width {
				d.values, err = appendNumbers(d.values, f, body)
			}
		case sampleLabel:
			var dropped bool
			if dropped, err = d.dropped(f, body); !dropped {
				d.rawLabels = append(d.rawLabels, from[:len(from)-len(rest)]...)
			}
		case sampleBlocks:
			if d.blocks != nil && (f.wire != wireBytes || !d.blocks.decode(body)) {
				d.blocks, d.set.BlockSums = nil, nil
				d.set.SetBlockShift(0)
			}
		}
		if err != nil {
			return fmt.Errorf("sample %d: %w", n, err)
		}
	}
	if width != d.width {
		return fmt.Errorf("mismatch: sample has %d values vs. %d types", width, d.width)
	}
	if depth > stacks.MaxDepth {
		return tooDeep(n, depth)
	}
	var known bool
	if d.lastID, known = d.labelSets[string(d.rawLabels)]; !known {
		if err := d.newLabels(); err != nil {
			return fmt.Errorf("sample %d: %w", n, err)
		}
	}
	d.stack = d.set.Intern(d.chain)
	return nil
}

// count is how many numbers a repeated one has in a field, if they can be decoded.
func count(f field, body []byte) int {
	if f.wire != wireBytes {
		return 1
	}
	n := 0
	for _, b := range body {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// locate appends the locations of a field, whose ids are packed or one, to chain.
func (d *decoder) locate(f field, ids []byte) error {
	switch f.wire {
	case wireVarint:
		ids = binary.AppendUvarint(d.one[:0], f.value)
	case wireBytes:
	default:
		return errType
	}
	for len(ids) > 0 {
		id, n := varint(ids)
		if n == 0 {
			return errVarint
		}
		loc, ok := d.locations.of(id)
		if !ok {
			return fmt.Errorf("no location has id %d", id)
		}
		d.chain = append(d.chain, loc)
		ids = ids[n:]
	}
	return nil
}

// appendNumbers appends the numbers of a field, which are packed or one.
func appendNumbers(to []int64, f field, body []byte) ([]int64, error) {
	switch f.wire {
	case wireVarint:
		return append(to, int64(f.value)), nil
	case wireBytes:
	default:
		return to, errType
	}
	for len(body) > 0 {
		u, n := varint(body)
		if n == 0 {
			return to, errVarint
		}
		to = append(to, int64(u))
		body = body[n:]
	}
	return to, nil
}

// perLabels is what an entry of labelSets takes beside its key.
const perLabels = 64

// newLabels makes lastID of rawLabels, which were not seen before.
func (d *decoder) newLabels() error {
	l := d.labels[:0]
	for rest := d.rawLabels; len(rest) > 0; {
		_, msg, r, err := cut(rest)
		if err != nil {
			return err
		}
		rest = r
		if l, err = d.label(l, msg); err != nil {
			return err
		}
		if d.kept+perLabels*int64(len(l)) > stacks.MaxKept(d.k.size) {
			return d.tooLarge()
		}
	}
	sortLabels(l)
	d.labels = l
	d.lastID = d.set.InternLabels(l)
	d.labelSets[string(d.rawLabels)] = d.lastID
	d.kept += 2*int64(len(d.rawLabels)) + perLabels
	return nil
}

// labelFields are the numbers in a label, by their fields.
type labelFields [labelUnit + 1]uint64

func (x *labelFields) read(msg []byte) error {
	m := message{rest: msg}
	for m.next() {
		if m.num >= labelKey && m.num <= labelUnit {
			number(&m, &x[m.num])
		}
	}
	return m.err
}

// dropped reports whether a label is left out, which is well-formed then.
func (d *decoder) dropped(of field, msg []byte) (bool, error) {
	if of.wire != wireBytes {
		return false, errType
	}
	if len(d.drop) == 0 {
		return false, nil
	}
	var x labelFields
	if err := x.read(msg); err != nil {
		return false, err
	}
	var key string
	for i, n := range []uint64{x[labelKey], x[labelStr], x[labelUnit]} {
		s, err := d.k.text(n)
		if err != nil {
			return false, err
		}
		if i == 0 {
			key = s
		}
	}
	return slices.Contains(d.drop, key), nil
}

// label appends a label, if there is anything in it.
func (d *decoder) label(l []stacks.Label, msg []byte) ([]stacks.Label, error) {
	var x labelFields
	if err := x.read(msg); err != nil {
		return nil, err
	}
	key, err := d.k.text(x[labelKey])
	if err != nil {
		return nil, err
	}
	if x[labelStr] != 0 {
		str, err := d.k.text(x[labelStr])
		if str != "" { // as if absent, also for pprof
			l = append(l, stacks.Label{Key: key, Str: str})
		}
		return l, err
	}
	if x[labelNum] == 0 && x[labelUnit] == 0 {
		return l, nil
	}
	unit, err := d.k.text(x[labelUnit])
	if unit == key { // see numUnit
		unit = ""
	}
	return append(l, stacks.Label{Key: key, Num: int64(x[labelNum]), Unit: unit}), err
}

// index finds what has an id: ids are few and dense, or anything at all.
type index struct {
	dense  []uint32 // by id, plus 1; 0 for none
	sparse map[uint64]uint32
}

func newIndex(n int) index { return index{dense: make([]uint32, n+1)} }

func (x *index) set(id uint64, i uint32) {
	if id < uint64(len(x.dense)) {
		x.dense[id] = i + 1
		return
	}
	if x.sparse == nil {
		x.sparse = make(map[uint64]uint32)
	}
	x.sparse[id] = i
}

func (x *index) of(id uint64) (uint32, bool) {
	if id < uint64(len(x.dense)) {
		return x.dense[id] - 1, x.dense[id] != 0
	}
	i, ok := x.sparse[id]
	return i, ok
}
