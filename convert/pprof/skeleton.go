package pprof

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"kprof/convert/stacks"
)

// skeleton is a profile without its samples, which are nearly all of it. What is in its
// tables is decoded, but refers to other things by their ids and by numbers of strings, which
// may come behind.
type skeleton struct {
	size      int64  // of the input
	head      []byte // the fields of neither samples nor tables, as they are in the file
	mappings  []rawMapping
	functions []rawFunction
	locations []rawLocation
	lines     []rawLine
	raw       []byte   // has the strings: the whole file, if it is in memory
	strings   []span   // in raw
	known     []string // those of them that were asked for, or ""
	samples   int      // that were left out
	blocks    []byte   // the message of blocks of time, nil for none
	scratch   []byte
	kept      int64 // bytes of memory, with what the tables will take
}

// span is a part of what is in memory.
type span struct{ at, size int }

// rawMapping is a message of this type.
type rawMapping struct {
	stacks.Mapping    // but for its texts and kind
	id, file, buildID uint64
}

type rawFunction struct {
	id, name, systemName, file uint64
	startLine                  int64
}

type rawLocation struct {
	id, mapping, addr uint64
	line, lines       int // in skeleton.lines
}

type rawLine struct {
	function     uint64
	line, column int64
}

// What becomes of a message in memory: google/pprof's struct, the Set's, and the
// places of both in slices that append has doubled and in maps.
const (
	perValueType = 256
	perMapping   = 1040
	perLocation  = 400
	perLine      = 210
	perFunction  = 720
	perString    = 104
	perComment   = 64
)

// read takes all fields but the samples from a stream. It stops when more would be
// kept than [stacks.MaxKept] allows.
func (k *skeleton) read(s *scanner) error {
	for {
		at := s.offset()
		f, err := s.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = k.field(s, f)
		}
		if err != nil {
			return fmt.Errorf("byte %d: %w", at, err)
		}
	}
}

func (k *skeleton) field(s *scanner, f field) error {
	if f.num == profileSample {
		switch {
		case f.wire != wireBytes:
			return errType
		case f.value < 2:
			return errors.New("sample without values")
		}
		k.samples++
		return s.skip(f.value)
	}
	if f.wire != wireBytes {
		k.head = appendHead(k.head, f)
		if f.num == profileComment {
			return k.keep(perComment, 1)
		}
		return k.keep(2, maxHead)
	}
	// A length may be damage: nothing is taken for it before that much has come.
	size := min(f.value, k.room()/2)
	var body []byte
	var err error
	switch f.num {
	case profileMapping, profileFunction, profileLocation:
		body, err = k.message(s, size)
	case profileStringTable:
		err = k.string(s, size)
	case profileSampleType, profilePeriodType, profileComment, profileDropFrames, profileKeepFrames,
		profileTimeNanos, profileDurationNanos, profilePeriod, profileDefaultType, profileDocURL:
		k.head = appendHead(k.head, f)
		k.head, err = s.appendTo(k.head, size)
	case profileBlocks:
		if size > maxBlocksSize {
			err = s.skip(size)
			break
		}
		k.blocks, err = s.appendTo(nil, size)
	default: // what nobody knows is not kept, but a profile is not made of it either
		err = s.skip(size)
	}
	if err != nil {
		return err
	}
	if err := k.keep(2, f.value+maxHead); err != nil {
		return err
	}
	switch f.num {
	case profileSampleType, profilePeriodType:
		return k.keep(perValueType, 1)
	case profileMapping:
		return k.mapping(message{rest: body})
	case profileFunction:
		return k.function(message{rest: body})
	case profileLocation:
		return k.location(message{rest: body})
	case profileStringTable:
		return k.keep(1, f.value+perString)
	case profileComment:
		return k.keep(perComment, f.value)
	}
	return nil
}

// message returns the size bytes that follow, which are valid until the next call.
func (k *skeleton) message(s *scanner, size uint64) (body []byte, err error) {
	if size <= window {
		return s.body(int(size))
	}
	k.scratch, err = s.appendTo(k.scratch[:0], size)
	return k.scratch, err
}

// string notes one of size bytes.
func (k *skeleton) string(s *scanner, size uint64) (err error) {
	if s.inMemory() {
		k.raw = s.buf
		k.strings = append(k.strings, span{s.pos, int(size)})
		return s.skip(size)
	}
	k.strings = append(k.strings, span{len(k.raw), int(size)})
	k.raw, err = s.appendTo(k.raw, size)
	return err
}

// room is how much more may be kept.
func (k *skeleton) room() uint64 { return uint64(stacks.MaxKept(k.size) - k.kept) }

// keep counts n times size bytes as kept, and fails when it is too much.
func (k *skeleton) keep(n int64, size uint64) error {
	limit := stacks.MaxKept(k.size)
	k.kept += n * int64(min(size, uint64(limit)))
	if k.kept > limit {
		return &stacks.TooLargeError{Size: k.size}
	}
	return nil
}

var errZeroID = errors.New("found an id of 0, which is reserved")

func (k *skeleton) mapping(m message) error {
	var x rawMapping
	flags := [...]*bool{&x.HasFunctions, &x.HasFilenames, &x.HasLineNumbers, &x.HasInlineFrames}
	for m.next() {
		switch m.num {
		case mappingID:
			number(&m, &x.id)
		case mappingStart:
			number(&m, &x.Start)
		case mappingLimit:
			number(&m, &x.Limit)
		case mappingOffset:
			number(&m, &x.Offset)
		case mappingFile:
			number(&m, &x.file)
		case mappingBuildID:
			number(&m, &x.buildID)
		case mappingHasFunctions, mappingHasFilenames, mappingHasLineNumbers, mappingHasInlineFrames:
			var is uint64
			number(&m, &is)
			*flags[m.num-mappingHasFunctions] = is != 0
		}
	}
	if m.err == nil && x.id == 0 {
		m.err = errZeroID
	}
	k.mappings = append(k.mappings, x)
	return cmp.Or(m.err, k.keep(1, perMapping))
}

func (k *skeleton) function(m message) error {
	var x rawFunction
	for m.next() {
		switch m.num {
		case functionID:
			number(&m, &x.id)
		case functionName:
			number(&m, &x.name)
		case functionSystemName:
			number(&m, &x.systemName)
		case functionFilename:
			number(&m, &x.file)
		case functionStartLine:
			number(&m, &x.startLine)
		}
	}
	if m.err == nil && x.id == 0 {
		m.err = errZeroID
	}
	k.functions = append(k.functions, x)
	return cmp.Or(m.err, k.keep(1, perFunction))
}

func (k *skeleton) location(m message) error {
	x := rawLocation{line: len(k.lines)}
	for m.next() {
		switch m.num {
		case locationID:
			number(&m, &x.id)
		case locationMapping:
			number(&m, &x.mapping)
		case locationAddress:
			number(&m, &x.addr)
		case locationLine:
			m.err = k.line(m.within())
		case locationIsFolded:
			var is uint64
			number(&m, &is) // and is not kept
		}
	}
	if m.err == nil && x.id == 0 {
		m.err = errZeroID
	}
	x.lines = len(k.lines) - x.line
	k.locations = append(k.locations, x)
	return cmp.Or(m.err, k.keep(1, perLocation))
}

func (k *skeleton) line(m message) error {
	var x rawLine
	for m.next() {
		switch m.num {
		case lineFunction:
			number(&m, &x.function)
		case lineLine:
			number(&m, &x.line)
		case lineColumn:
			number(&m, &x.column)
		}
	}
	k.lines = append(k.lines, x)
	return cmp.Or(m.err, k.keep(1, perLine))
}

// text returns a string of the profile's table.
func (k *skeleton) text(i uint64) (string, error) {
	if i >= uint64(len(k.strings)) {
		return "", fmt.Errorf("string %d of %d", i, len(k.strings))
	}
	if k.known == nil {
		k.known = make([]string, len(k.strings))
	}
	if k.known[i] == "" {
		at := k.strings[i]
		k.known[i] = string(k.raw[at.at:][:at.size])
	}
	return k.known[i], nil
}

// appendHead appends the head of a field, as short as can be.
func appendHead(b []byte, f field) []byte {
	b = binary.AppendUvarint(b, f.num<<3|uint64(f.wire))
	switch f.wire {
	case wire64:
		return binary.LittleEndian.AppendUint64(b, f.value)
	case wire32:
		return binary.LittleEndian.AppendUint32(b, uint32(f.value))
	}
	return binary.AppendUvarint(b, f.value)
}
