package abi

import (
	"encoding/binary"
	"math/bits"
)

// Order is the byte order of a recording. The zero value is little-endian.
// It is a concrete type rather than binary.ByteOrder so that the per-record
// decoders inline it.
type Order uint8

const (
	LittleEndian Order = iota
	BigEndian
)

// Uint16 reads the first two bytes of b.
func (o Order) Uint16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if o == BigEndian {
		v = bits.ReverseBytes16(v)
	}
	return v
}

// Uint32 reads the first four bytes of b.
func (o Order) Uint32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if o == BigEndian {
		v = bits.ReverseBytes32(v)
	}
	return v
}

// Uint64 reads the first eight bytes of b.
func (o Order) Uint64(b []byte) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if o == BigEndian {
		v = bits.ReverseBytes64(v)
	}
	return v
}

// AppendUint16 appends v to b.
func (o Order) AppendUint16(b []byte, v uint16) []byte {
	if o == BigEndian {
		v = bits.ReverseBytes16(v)
	}
	return binary.LittleEndian.AppendUint16(b, v)
}

// AppendUint32 appends v to b.
func (o Order) AppendUint32(b []byte, v uint32) []byte {
	if o == BigEndian {
		v = bits.ReverseBytes32(v)
	}
	return binary.LittleEndian.AppendUint32(b, v)
}

// AppendUint64 appends v to b.
func (o Order) AppendUint64(b []byte, v uint64) []byte {
	if o == BigEndian {
		v = bits.ReverseBytes64(v)
	}
	return binary.LittleEndian.AppendUint64(b, v)
}

func (o Order) String() string {
	if o == BigEndian {
		return "big-endian"
	}
	return "little-endian"
}

// PutUint64 writes v to the first eight bytes of b.
func (o Order) PutUint64(b []byte, v uint64) {
	if o == BigEndian {
		v = bits.ReverseBytes64(v)
	}
	binary.LittleEndian.PutUint64(b, v)
}

// PutUint32 writes v to the first four bytes of b.
func (o Order) PutUint32(b []byte, v uint32) {
	if o == BigEndian {
		v = bits.ReverseBytes32(v)
	}
	binary.LittleEndian.PutUint32(b, v)
}
