package sniff

import (
	"encoding/binary"
	"slices"
)

// message is what the fields of a message are, by their numbers: messages, or one of the kinds
// below; nil are those that it does not have.
type message [16]*message

// What else than a message a field of a profile.proto is.
var (
	number  = &message{} // a varint
	numbers = &message{} // varints, packed or not
	texts   = &message{} // a string, of which the first is ""
)

// The messages of profile.proto.
var (
	valueType = &message{1: number, 2: number}
	label     = &message{1: number, 2: number, 3: number, 4: number}
	sample    = &message{1: numbers, 2: numbers, 3: label}
	mapping   = &message{1: number, 2: number, 3: number, 4: number, 5: number, 6: number, 7: number, 8: number, 9: number, 10: number}
	line      = &message{1: number, 2: number, 3: number}
	location  = &message{1: number, 2: number, 3: number, 4: line, 5: number}
	function  = &message{1: number, 2: number, 3: number, 4: number, 5: number}
	profile   = &message{
		1: valueType, 2: sample, 3: mapping, 4: location, 5: function, 6: texts, 7: number, 8: number,
		9: number, 10: number, 11: valueType, 12: number, 13: numbers, 14: number, 15: number,
	}
)

// isProfile tells whether what begins with head may be a profile.proto, whose fields stand in any
// order: Go's runtime begins with the type of the period, where there is one.
func isProfile(head []byte) bool {
	// A damaged profile is one too, if it begins as most do: with a type of values.
	if len(head) > 2 && head[0] == 0x0a && head[2] == 0x08 {
		return true
	}
	head = head[:min(len(head), MagicSize)]
	if isText(head, false) {
		return false
	}
	const enough = 2 // messages in a row are no accident
	seen := 0
	for len(head) > 0 && seen < enough {
		f, n := profile.field(head, true)
		switch {
		case n == 0 || f == texts && seen == 0 && (len(head) < 2 || head[1] != 0):
			return false
		case f != number && f != numbers:
			seen++
		}
		head = head[n:]
	}
	return seen > 0
}

// field tells what the field is that b begins with, and how long it is: 0 if the message has no
// such field. If b is cut, it may be longer than b is.
func (m *message) field(b []byte, cut bool) (f *message, n int) {
	const varint, bytes = 0, 2 // wire types
	f, wire := m[b[0]>>3&15], b[0]&7
	size := varintSize(b[1:], cut)
	n = 1 + size
	switch {
	case b[0] >= 1<<7 || f == nil || size == 0 && (!cut || len(b) > 1):
		return f, 0
	case wire == varint && (f == number || f == numbers):
		return f, n
	case wire != bytes || f == number:
		return f, 0
	}
	length, _ := binary.Uvarint(b[1:]) // 0 where it is cut, as is what follows
	within := b[n:]
	switch {
	case length <= uint64(len(within)):
		within, cut = within[:length], false
	case !cut:
		return f, 0
	}
	n += len(within)
	for f != texts && len(within) > 0 {
		size := 0
		if f == numbers {
			size = varintSize(within, cut)
		} else {
			_, size = f.field(within, cut)
		}
		if size == 0 {
			return f, 0
		}
		within = within[size:]
	}
	return f, n
}

// varintSize is how long the varint is that b begins with, 0 if there is none.
func varintSize(b []byte, cut bool) int {
	i := slices.IndexFunc(b, func(c byte) bool { return c < 1<<7 })
	switch {
	case i >= binary.MaxVarintLen64 || i < 0 && (!cut || len(b) >= binary.MaxVarintLen64):
		return 0
	case i < 0:
		return len(b) // may be 0
	}
	return i + 1
}

// isLegacyCPU tells whether what begins with head may be a CPU profile of gperftools, or one of
// Java's: words of 32 or 64 bits, of which the first are 0, 3, the version, the period, and 0.
func isLegacyCPU(head []byte) bool {
	const words, java = 5, 1
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, size := range []int{4, 8} {
			if len(head) < words*size {
				continue
			}
			var w [words]uint64
			for i := range w {
				if w[i] = uint64(order.Uint32(head[i*size:])); size == 8 {
					w[i] = order.Uint64(head[i*size:])
				}
			}
			if w[0] == 0 && w[1] == 3 && w[2] <= java && w[3] > 0 && w[4] == 0 {
				return true
			}
		}
	}
	return false
}
