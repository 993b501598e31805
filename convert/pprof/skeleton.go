package pprof

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"kprof/convert/stacks"
)

// skeleton is a profile without its samples, which are nearly all of it.
type skeleton struct {
	size    int64    // of the input
	raw     []byte   // the fields, as they are in the file
	strings []int    // where in raw each string is, its length first
	known   []string // those of them that are, or ""
	samples int      // that were left out
	blocks  []byte   // the message of blocks of time, nil for none
	// How many there are.
	mappings, functions, locations int
	kept                           int64 // bytes of memory, with what decoding raw will take
}

// What becomes of a message in memory: google/pprof's struct, the Set's, and the
// places of both in slices that append has doubled and in maps.
const (
	perValueType = 256
	perMapping   = 640
	perLocation  = 320
	perLine      = 160
	perFunction  = 640
	perString    = 72
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
		k.raw = appendHead(k.raw, f)
		if f.num == profileComment {
			return k.keep(perComment, 1)
		}
		return k.keep(2, maxHead)
	}
	// A length may be damage: nothing is taken for it before that much has come.
	size := min(f.value, k.room()/2)
	start := len(k.raw)
	var err error
	if f.num == 0 || f.num > profileDocURL {
		// Nobody's field is not kept, but a profile is not made of it either.
		if f.num == profileBlocks && size <= maxBlocksSize {
			k.blocks, err = s.appendTo(nil, size)
		} else {
			err = s.skip(size)
		}
	} else {
		k.raw = appendHead(k.raw, f)
		k.raw, err = s.appendTo(k.raw, size)
	}
	if err != nil {
		return err
	}
	if err := k.keep(2, f.value+maxHead); err != nil {
		return err
	}
	if len(k.raw) == start {
		return nil
	}
	switch b := k.raw[len(k.raw)-int(size):]; f.num {
	case profileSampleType, profilePeriodType:
		return k.keep(perValueType, 1)
	case profileMapping:
		k.mappings++
		return k.message(b, mappingID, perMapping)
	case profileLocation:
		k.locations++
		if err := k.message(b, locationID, perLocation); err != nil {
			return err
		}
		return k.lines(b)
	case profileFunction:
		k.functions++
		return k.message(b, functionID, perFunction)
	case profileStringTable:
		k.strings = append(k.strings, start+1) // after the tag
		return k.keep(1, f.value+perString)
	case profileComment:
		return k.keep(perComment, f.value)
	}
	return nil
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

// message counts one with an id. Those without are refused here already, as there
// is none that is smaller in a file.
func (k *skeleton) message(b []byte, idField, size uint64) error {
	var id uint64
	for len(b) > 0 {
		f, _, rest, err := cut(b)
		if err != nil {
			return err
		}
		if f.num == idField {
			id = f.value
		}
		b = rest
	}
	if id == 0 {
		return errors.New("found an id of 0, which is reserved")
	}
	return k.keep(1, size)
}

// lines counts those of a location that message has found well-formed.
func (k *skeleton) lines(b []byte) error {
	n := int64(0)
	for len(b) > 0 {
		f, _, rest, err := cut(b)
		if err != nil {
			return err
		}
		if f.num == locationLine {
			n++
		}
		b = rest
	}
	return k.keep(n, perLine)
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
		b := k.raw[k.strings[i]:]
		size, n := varint(b)
		k.known[i] = string(b[n:][:size])
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
