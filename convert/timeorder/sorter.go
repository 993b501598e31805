package timeorder

import (
	"errors"
	"math"
)

// Last is a time after all others, which bounds nothing: records without a place among
// the others come at the end.
const Last = math.MaxUint64

// Record is a record with its time. Of equal times the one that was added first is first.
type Record struct {
	Time  uint64
	Place uint64 // whatever Add was given
	Bytes []byte // valid until the function that got it returns
}

// Options say how to sort. Emit must be there.
type Options struct {
	// Emit is called with each record, in the order of times. An error ends the sorting.
	Emit func(Record) error
	// Memory is how many bytes of records wait in memory before they go to a temporary
	// file; 0 is 16 MB.
	Memory int
	// Dir is where the temporary file is made; empty for the system's directory. It has
	// no name there, where the system permits that.
	Dir string
}

const defaultMemory = 16 << 20

// Stats is what sorting took.
type Stats struct {
	Spilled uint64 // bytes of records that went through the temporary file
	Late    uint64 // records that came too late to be in order
}

// Sorter sorts records. Close it to remove its file.
type Sorter struct {
	o     Options
	stats Stats

	items  []item // in order up to sorted
	sorted int
	spare  []item
	bytes  []byte // of items
	other  []byte

	last      []item // those of the time Last, which no round passes on
	lastBytes []byte

	latest  uint64 // of all records so far
	before  uint64 // latest at the end of the round before this one
	emitted uint64 // time of the last record that was emitted
	file    *spill // nil until it is needed
}

// item is a record in memory.
type item struct {
	time, place uint64
	at          int
	n           int32
}

const itemSize = 32 // of item, with some of what is spare

// New returns a Sorter.
func New(o Options) *Sorter {
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	return &Sorter{o: o}
}

// Add adds a record, the bytes of head and then of body, which it copies.
func (s *Sorter) Add(time, place uint64, head, body []byte) error {
	n := len(head) + len(body)
	waiting := len(s.items) + len(s.last)
	if len(s.bytes)+len(s.lastBytes)+n+itemSize*(waiting+1) > s.o.Memory && waiting > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	items, bytes := &s.items, &s.bytes
	if time == Last {
		items, bytes = &s.last, &s.lastBytes
	} else {
		s.latest = max(s.latest, time)
	}
	*items = append(*items, item{time, place, len(*bytes), int32(n)})
	*bytes = append(append(*bytes, head...), body...)
	return nil
}

// FinishRound says that all that was written before the end of the round before this one
// has been added. It emits that, and returns the latest of its times: what is still to
// come is later, but for what is Late.
func (s *Sorter) FinishRound() (settled uint64, err error) {
	settled = s.before
	s.before = s.latest
	return settled, s.emit(settled)
}

// Finish emits all that is left.
func (s *Sorter) Finish() error {
	s.joinLast()
	return s.emit(Last)
}

// Waiting reports whether records wait to be emitted.
func (s *Sorter) Waiting() bool {
	return len(s.items) > 0 || len(s.last) > 0 || s.file != nil && s.file.waiting()
}

// Stats is what sorting has taken so far.
func (s *Sorter) Stats() Stats { return s.stats }

// Close removes the temporary file.
func (s *Sorter) Close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.close()
	s.file = nil
	return err
}

// joinLast puts the records of the time Last among the items.
func (s *Sorter) joinLast() {
	for _, x := range s.last {
		x.at += len(s.bytes)
		s.items = append(s.items, x)
	}
	s.bytes = append(s.bytes, s.lastBytes...)
	s.last, s.lastBytes = s.last[:0], s.lastBytes[:0]
}

// emit emits all records up to a time.
func (s *Sorter) emit(limit uint64) error {
	s.sort()
	if s.file != nil && s.file.waiting() {
		return s.merge(limit)
	}
	n := 0
	for n < len(s.items) && s.items[n].time <= limit {
		if err := s.pass(s.record(n)); err != nil {
			return err
		}
		n++
	}
	s.drop(n)
	return nil
}

// record is an item as a Record.
func (s *Sorter) record(i int) Record {
	x := &s.items[i]
	return Record{x.time, x.place, s.bytes[x.at : x.at+int(x.n)]}
}

func (s *Sorter) pass(r Record) error {
	if r.Time < s.emitted {
		s.stats.Late++
	}
	s.emitted = max(s.emitted, r.Time)
	return s.o.Emit(r)
}

// drop forgets the first n items.
func (s *Sorter) drop(n int) {
	if n == 0 {
		return
	}
	s.other = s.other[:0]
	rest := s.items[n:]
	for i := range rest {
		x := &rest[i]
		b := s.bytes[x.at : x.at+int(x.n)]
		x.at = len(s.other)
		s.other = append(s.other, b...)
	}
	s.items = s.items[:copy(s.items, rest)]
	s.bytes, s.other = s.other, s.bytes
	s.sorted = len(s.items)
}

// sort sorts the items: a merge of the stretches that are in order already, of which
// rounds have one for each ring.
func (s *Sorter) sort() {
	if s.sorted == len(s.items) {
		return
	}
	var ends []int
	for i := max(s.sorted, 1); i < len(s.items); i++ {
		if s.items[i].time < s.items[i-1].time {
			ends = append(ends, i)
		}
	}
	ends = append(ends, len(s.items))
	for len(ends) > 1 {
		from, kept := 0, ends[:0]
		s.spare = s.spare[:0]
		for i := 0; i < len(ends); i += 2 {
			if i+1 == len(ends) {
				s.spare = append(s.spare, s.items[from:]...)
				kept = append(kept, len(s.spare))
				break
			}
			s.spare = mergeItems(s.spare, s.items[from:ends[i]], s.items[ends[i]:ends[i+1]])
			from = ends[i+1]
			kept = append(kept, from)
		}
		s.items, s.spare = s.spare, s.items
		ends = kept
	}
	s.sorted = len(s.items)
}

func mergeItems(dst, a, b []item) []item {
	for len(a) > 0 && len(b) > 0 {
		if b[0].time < a[0].time {
			dst, b = append(dst, b[0]), b[1:]
		} else {
			dst, a = append(dst, a[0]), a[1:]
		}
	}
	return append(append(dst, a...), b...)
}

// spill writes what is in memory to the temporary file, as one run.
func (s *Sorter) spill() (err error) {
	s.joinLast()
	s.sort()
	if s.file == nil {
		if s.file, err = newSpill(s.o.Dir); err != nil {
			return err
		}
	}
	s.stats.Spilled += uint64(len(s.bytes))
	if err := s.file.add(s); err != nil {
		return err
	}
	s.items, s.bytes, s.sorted = s.items[:0], s.bytes[:0], 0
	return nil
}

// merge emits what is in the file and in memory up to a time.
func (s *Sorter) merge(limit uint64) error {
	n := 0
	for {
		run := s.file.first()
		if run != nil && (n == len(s.items) || run.record.Time <= s.items[n].time) {
			if run.record.Time > limit {
				break
			}
			if err := errors.Join(s.pass(run.record), s.file.next()); err != nil {
				return err
			}
			continue
		}
		if n == len(s.items) || s.items[n].time > limit {
			break
		}
		if err := s.pass(s.record(n)); err != nil {
			return err
		}
		n++
	}
	s.drop(n)
	return s.file.shrink()
}
