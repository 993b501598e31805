package capture

import (
	"maps"
	"slices"

	"kprof/perfevent/abi"
)

// kernelRecords are what describes a kernel: its maps, and KSYMBOL records of the BPF programs
// and other code that it has by now. They grow with what there is, and not with what there was.
type kernelRecords struct {
	layout abi.Layout
	maps   []byte
	code   map[uint64][]byte // KSYMBOL records, by address
}

// add takes a record, in the order of time.
func (k *kernelRecords) add(rec []byte) {
	h := abi.DecodeHeader(rec, abi.LittleEndian)
	if h.Type != abi.RecordKsymbol {
		k.maps = append(k.maps, rec...)
		return
	}
	s, err := k.layout.DecodeKsymbol(rec[abi.HeaderSize:])
	switch {
	case err != nil:
	case s.Unregister:
		delete(k.code, s.Addr)
	default:
		if k.code == nil {
			k.code = map[uint64][]byte{}
		}
		k.code[s.Addr] = slices.Clone(rec)
	}
}

// appendTo appends the records to b.
func (k *kernelRecords) appendTo(b []byte) []byte {
	b = append(b, k.maps...)
	for _, addr := range slices.Sorted(maps.Keys(k.code)) {
		b = append(b, k.code[addr]...)
	}
	return b
}
