package record

import (
	"fmt"
	"testing"

	"kprof/perfevent/abi"
)

// sink is a Sink that checks and keeps what it gets.
type sink struct {
	t       *testing.T
	seen    map[abi.RecordType]int
	pids    map[uint32]int // samples by process
	tids    map[uint32]int // samples by thread
	ids     map[uint64]int // samples by id
	lost    uint64
	rounds  int
	bytes   int
	wrapped int // records that lay in two pieces
	comms   []string
	each    func(h abi.Header, rec []byte) // called with each record, if not nil
	fail    error
}

func newSink(t *testing.T) *sink {
	return &sink{t: t, seen: map[abi.RecordType]int{}, pids: map[uint32]int{}, tids: map[uint32]int{}, ids: map[uint64]int{}}
}

func (s *sink) Write(a, b []byte) error {
	if s.fail != nil {
		return s.fail
	}
	s.bytes += len(a) + len(b)
	all := append(append([]byte(nil), a...), b...)
	for at := 0; at < len(all); {
		if len(all)-at < abi.HeaderSize {
			return fmt.Errorf("%d bytes left of %d", len(all)-at, len(all))
		}
		h := abi.DecodeHeader(all[at:], abi.LittleEndian)
		end := at + int(h.Size)
		if h.Size < abi.HeaderSize || end > len(all) {
			return fmt.Errorf("record %v of %d bytes at %d of %d", h.Type, h.Size, at, len(all))
		}
		if at < len(a) && end > len(a) {
			s.wrapped++
		}
		s.one(h, all[at:end])
		at = end
	}
	return nil
}

func (s *sink) one(h abi.Header, rec []byte) {
	const o = abi.LittleEndian
	s.seen[h.Type]++
	switch h.Type {
	case abi.RecordSample: // identifier, ip, pid, tid
		s.ids[o.Uint64(rec[8:])]++
		s.pids[o.Uint32(rec[24:])]++
		s.tids[o.Uint32(rec[28:])]++
	case abi.RecordLost:
		s.lost += o.Uint64(rec[16:])
	case abi.RecordComm:
		s.comms = append(s.comms, string(rec[16:16+len(cstring(rec[16:]))]))
	}
	if s.each != nil {
		s.each(h, rec)
	}
}

func cstring(b []byte) []byte {
	for i, c := range b {
		if c == 0 {
			return b[:i]
		}
	}
	return b
}

func (s *sink) FinishRound() error {
	s.rounds++
	return s.fail
}
