package abi

import (
	"errors"
	"math/bits"
)

// ErrShort says that a record ends before a field that its layout promises.
var ErrShort = errors.New("record is shorter than its layout")

// Layout tells where the fields of an event's records lie. It is derived once
// from the attribute and the byte order of the recording.
//
// A sample starts with fields of fixed size, in this order, and goes on with
// those of variable size. Every other record of the kernel ends in a sample id,
// the fields in brackets, when the attribute has sample_id_all:
//
//	[IDENTIFIER] IP [TID TIME] ADDR [ID STREAM_ID CPU] PERIOD | READ CALLCHAIN RAW …
//	sample id:   TID TIME ID STREAM_ID CPU IDENTIFIER
type Layout struct {
	Order       Order
	SampleType  SampleType
	ReadFormat  ReadFormat
	Branch      BranchSampleType
	SampleIDAll bool
	BuildID     bool // build ids in MMAP2 were asked for

	// Offsets into a sample's payload in bytes, -1 for a field it lacks.
	identifier, ip, tid, time, addr, id, stream, cpu, period int

	fixed   int // bytes before the first field of variable size
	trailer int // bytes of a sample id, 0 without sample_id_all

	userRegs, intrRegs int // registers in a full dump
}

// NewLayout derives the layout of the records of an event with attribute a.
func NewLayout(a *Attr, o Order) Layout {
	l := Layout{
		Order:       o,
		SampleType:  a.SampleType,
		ReadFormat:  a.ReadFormat,
		Branch:      a.BranchSampleType,
		SampleIDAll: a.Flags&FlagSampleIDAll != 0,
		BuildID:     a.Flags&FlagBuildID != 0,
		userRegs:    bits.OnesCount64(a.SampleRegsUser),
		intrRegs:    bits.OnesCount64(a.SampleRegsIntr),
	}
	off := 0
	field := func(bit SampleType) int {
		if a.SampleType&bit == 0 {
			return -1
		}
		off += 8
		return off - 8
	}
	l.identifier = field(SampleIdentifier)
	l.ip = field(SampleIP)
	l.tid = field(SampleTID)
	l.time = field(SampleTime)
	l.addr = field(SampleAddr)
	l.id = field(SampleID)
	l.stream = field(SampleStreamID)
	l.cpu = field(SampleCPU)
	l.period = field(SamplePeriod)
	l.fixed = off
	if l.SampleIDAll {
		const fields = SampleTID | SampleTime | SampleID | SampleStreamID | SampleCPU | SampleIdentifier
		l.trailer = 8 * bits.OnesCount64(uint64(a.SampleType&fields))
	}
	return l
}

// IDOffset is where in a sample's payload the id of its event lies, in bytes: as
// identifier if there is one, else as id; -1 if samples carry none.
func (l *Layout) IDOffset() int {
	if l.identifier >= 0 {
		return l.identifier
	}
	return l.id
}

// IDTrailerOffset is how many bytes before the end of any other record its event
// id lies, or -1 if such records carry none.
func (l *Layout) IDTrailerOffset() int {
	switch {
	case !l.SampleIDAll:
		return -1
	case l.identifier >= 0:
		return 8
	case l.id < 0:
		return -1
	}
	off := 8
	if l.stream >= 0 {
		off += 8
	}
	if l.cpu >= 0 {
		off += 8
	}
	return off
}

// TimeOffset is where in a sample's payload its time lies, in bytes, or -1.
func (l *Layout) TimeOffset() int { return l.time }

// TrailerSize is the size in bytes of the sample id that ends each record that
// is not a sample.
func (l *Layout) TrailerSize() int { return l.trailer }

// SampleIDFields are the fields shared by samples and sample ids. Those that
// the recording lacks are zero, but CPU, PID and TID, which are -1.
type SampleIDFields struct {
	PID, TID int32
	Time     uint64 // ns on the recording's clock
	ID       uint64 // identifier, or id
	StreamID uint64
	CPU      int32
}

// DecodeTrailer reads the sample id at the end of the payload of a record that
// is not a sample. Without sample_id_all, or in a record too short to hold one,
// it returns the zero fields and false.
func (l *Layout) DecodeTrailer(payload []byte) (SampleIDFields, bool) {
	f := SampleIDFields{PID: -1, TID: -1, CPU: -1}
	if l.trailer == 0 || len(payload) < l.trailer {
		return f, false
	}
	b := payload[len(payload)-l.trailer:]
	if l.tid >= 0 {
		f.PID, f.TID = int32(l.Order.Uint32(b)), int32(l.Order.Uint32(b[4:]))
		b = b[8:]
	}
	if l.time >= 0 {
		f.Time = l.Order.Uint64(b)
		b = b[8:]
	}
	if l.id >= 0 {
		f.ID = l.Order.Uint64(b)
		b = b[8:]
	}
	if l.stream >= 0 {
		f.StreamID = l.Order.Uint64(b)
		b = b[8:]
	}
	if l.cpu >= 0 {
		f.CPU = int32(l.Order.Uint32(b))
		b = b[8:]
	}
	if l.identifier >= 0 {
		f.ID = l.Order.Uint64(b)
	}
	return f, true
}

// AppendTrailer appends the sample id that ends a record which is not a sample.
func (l *Layout) AppendTrailer(b []byte, f SampleIDFields) []byte {
	if !l.SampleIDAll {
		return b
	}
	o := l.Order
	if l.tid >= 0 {
		b = o.AppendUint32(b, uint32(f.PID))
		b = o.AppendUint32(b, uint32(f.TID))
	}
	if l.time >= 0 {
		b = o.AppendUint64(b, f.Time)
	}
	if l.id >= 0 {
		b = o.AppendUint64(b, f.ID)
	}
	if l.stream >= 0 {
		b = o.AppendUint64(b, f.StreamID)
	}
	if l.cpu >= 0 {
		b = o.AppendUint32(b, uint32(f.CPU))
		b = o.AppendUint32(b, 0)
	}
	if l.identifier >= 0 {
		b = o.AppendUint64(b, f.ID)
	}
	return b
}
