package abi

import (
	"bytes"
	"encoding/hex"
	"fmt"
)

// Mmap is PERF_RECORD_MMAP or PERF_RECORD_MMAP2.
type Mmap struct {
	PID, TID       int32 // PID -1: the kernel and its modules
	Addr, Len, Off uint64
	Maj, Min       uint32
	Ino, InoGen    uint64
	BuildID        string // lower-case hex, with MiscMmapBuildID
	Prot, Flags    uint32
	V2             bool // the fields between Off and File were recorded
	File           string
}

// Comm is PERF_RECORD_COMM.
type Comm struct {
	PID, TID int32
	Comm     string
	Exec     bool // an exec, not a change of name
}

// Task is PERF_RECORD_FORK or PERF_RECORD_EXIT.
type Task struct {
	PID, PPID, TID, PTID int32
	Time                 uint64
}

// Ksymbol is PERF_RECORD_KSYMBOL: code added to or removed from the kernel.
type Ksymbol struct {
	Addr       uint64
	Len        uint32
	Type       uint16 // KsymbolBPF, KsymbolOutOfLine
	Unregister bool
	Name       string
}

// Kinds of Ksymbol, enum perf_record_ksymbol_type.
const (
	KsymbolBPF       = 1
	KsymbolOutOfLine = 2
)

// CgroupRecord is PERF_RECORD_CGROUP.
type CgroupRecord struct {
	ID   uint64
	Path string
}

// Lost is PERF_RECORD_LOST or, with ID from its sample id, LOST_SAMPLES.
type Lost struct {
	ID, Count uint64
	AtLeast   bool // Count is the least that they may be
}

// CallchainDeferred is PERF_RECORD_CALLCHAIN_DEFERRED of Linux 6.19: the user part
// of the callchains that end with ContextUserDeferred and its cookie.
type CallchainDeferred struct {
	PID, TID  int32  // of its sample id; -1 without
	Time      uint64 // of its sample id: when the task left the kernel
	Cookie    uint64
	Callchain []uint64 // user addresses, without a marker
}

// body is the payload without the sample id at its end. Old kernels and perf's
// own synthesized records may lack the sample id, so a body never ends before
// its fixed part.
func (l *Layout) body(payload []byte, fixed int) cursor {
	if n := len(payload) - l.trailer; n >= fixed {
		payload = payload[:n]
	}
	return cursor{b: payload, o: l.Order}
}

// Excess returns how many bytes of a record's payload lie behind its sample id,
// though that should be the end.
//
// Linux (6.18) writes a KSYMBOL or BPF_EVENT to one event after the other and
// never takes back what each sample id has added to the record's size: of two
// recorders on a CPU, the second gets records with room for two sample ids, the
// first of them its own, and anything in the other (kernel/events/core.c,
// perf_event_ksymbol_output and perf_event_bpf_output).
func (l *Layout) Excess(t RecordType, payload []byte) int {
	end := 0
	switch t {
	case RecordKsymbol: // addr, len, type, flags; name, padded to 8 bytes
		end = 16
		if len(payload) < end {
			return 0
		}
		n := bytes.IndexByte(payload[end:], 0)
		if n < 0 {
			return 0
		}
		end += n&^7 + 8
	case RecordBPFEvent: // type, flags, id, tag
		end = 16
	default:
		return 0
	}
	return max(0, len(payload)-end-l.trailer)
}

func (c *cursor) err(what string, n int) error {
	if c.short {
		return fmt.Errorf("%s record of %d bytes: %w", what, n, ErrShort)
	}
	return nil
}

// DecodeMmap decodes the payload of a MMAP or MMAP2 record.
func (l *Layout) DecodeMmap(h Header, payload []byte) (Mmap, error) {
	fixed := 32
	if h.Type == RecordMmap2 {
		fixed = 64
	}
	c := l.body(payload, fixed)
	m := Mmap{
		PID: int32(c.uint32()), TID: int32(c.uint32()),
		Addr: c.uint64(), Len: c.uint64(), Off: c.uint64(),
		V2: h.Type == RecordMmap2,
	}
	if m.V2 {
		if id := c.bytes(24); h.Misc&MiscMmapBuildID != 0 && l.isBuildID(id) {
			m.BuildID = hex.EncodeToString(id[4 : 4+id[0]])
		} else if len(id) == 24 {
			m.Maj, m.Min = l.Order.Uint32(id), l.Order.Uint32(id[4:])
			m.Ino, m.InoGen = l.Order.Uint64(id[8:]), l.Order.Uint64(id[16:])
		}
		m.Prot, m.Flags = c.uint32(), c.uint32()
	}
	m.File = c.str()
	return m, c.err("MMAP", len(payload))
}

// isBuildID reports whether the 24 bytes between offset and protection of a MMAP2
// record, marked as a build id, are one: its length, three zeros, 20 bytes.
//
// The mark alone does not say so. A kernel that writes the map for somebody who
// asked for build ids leaves it set for those who did not and get the inode (Linux
// 5.12 and later, kernel/events/core.c, perf_event_mmap_output). Where they were
// not asked for, only what cannot well be an inode counts: perf inject puts build
// ids of 20 or 16 bytes into recordings of others.
func (l *Layout) isBuildID(b []byte) bool {
	if len(b) != 24 || b[0] > 20 || b[1] != 0 || b[2] != 0 || b[3] != 0 {
		return false
	}
	return l.BuildID || b[0] == 20 || b[0] == 16
}

// DecodeComm decodes the payload of a COMM record.
func (l *Layout) DecodeComm(h Header, payload []byte) (Comm, error) {
	c := l.body(payload, 8)
	r := Comm{PID: int32(c.uint32()), TID: int32(c.uint32()), Exec: h.Misc&MiscCommExec != 0}
	r.Comm = c.str()
	return r, c.err("COMM", len(payload))
}

// DecodeTask decodes the payload of a FORK or EXIT record.
func (l *Layout) DecodeTask(payload []byte) (Task, error) {
	c := l.body(payload, 24)
	r := Task{
		PID: int32(c.uint32()), PPID: int32(c.uint32()),
		TID: int32(c.uint32()), PTID: int32(c.uint32()),
		Time: c.uint64(),
	}
	return r, c.err("FORK or EXIT", len(payload))
}

// DecodeKsymbol decodes the payload of a KSYMBOL record.
func (l *Layout) DecodeKsymbol(payload []byte) (Ksymbol, error) {
	c := l.body(payload, 16)
	r := Ksymbol{Addr: c.uint64(), Len: c.uint32(), Type: c.uint16()}
	r.Unregister = c.uint16()&1 != 0
	r.Name = c.str()
	return r, c.err("KSYMBOL", len(payload))
}

// DecodeCgroup decodes the payload of a CGROUP record.
func (l *Layout) DecodeCgroup(payload []byte) (CgroupRecord, error) {
	c := l.body(payload, 8)
	r := CgroupRecord{ID: c.uint64()}
	r.Path = c.str()
	return r, c.err("CGROUP", len(payload))
}

// DecodeLost decodes the payload of a LOST or LOST_SAMPLES record. Samples that perf's filter left
// out are none that were lost.
func (l *Layout) DecodeLost(h Header, payload []byte) (Lost, error) {
	var r Lost
	if h.Type == RecordLostSamples {
		c := l.body(payload, 8)
		r.Count = c.uint64()
		f, _ := l.DecodeTrailer(payload)
		r.ID = f.ID
		if h.Misc&MiscFiltered != 0 {
			r.Count = 0
		}
		return r, c.err("LOST_SAMPLES", len(payload))
	}
	c := l.body(payload, 16)
	r.ID, r.Count, r.AtLeast = c.uint64(), c.uint64(), h.Misc&MiscLostUnknown != 0
	return r, c.err("LOST", len(payload))
}

// DecodeCallchainDeferred decodes the payload of a CALLCHAIN_DEFERRED record.
func (l *Layout) DecodeCallchainDeferred(payload []byte) (CallchainDeferred, error) {
	f, _ := l.DecodeTrailer(payload)
	c := l.body(payload, 16)
	r := CallchainDeferred{PID: f.PID, TID: f.TID, Time: f.Time, Cookie: c.uint64()}
	r.Callchain = c.uint64s(nil, c.uint64())
	return r, c.err("CALLCHAIN_DEFERRED", len(payload))
}
