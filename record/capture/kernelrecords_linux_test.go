package capture

import (
	"bytes"
	"testing"

	"kprof/perfevent/abi"
)

// TestKernelRecords: what describes the kernel later is what it has by then.
func TestKernelRecords(t *testing.T) {
	rec := func(typ abi.RecordType, addr uint64, gone bool, name string) []byte {
		o := abi.LittleEndian
		b := make([]byte, abi.HeaderSize)
		b = o.AppendUint64(b, addr)
		b = o.AppendUint32(b, 0x40)
		flags := uint16(0)
		if gone {
			flags = 1 // PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
		}
		b = o.AppendUint16(o.AppendUint16(b, abi.KsymbolBPF), flags)
		b = append(b, name...)
		b = append(b, make([]byte, 8-len(name)%8)...)
		o.AppendUint32(b[:0], uint32(typ))
		o.AppendUint16(b[:6], uint16(len(b)))
		return b
	}
	k := kernelRecords{layout: abi.NewLayout(&abi.Attr{}, abi.LittleEndian)}
	text, a, b, c := rec(abi.RecordMmap, 0x1000, false, "_text"), rec(abi.RecordKsymbol, 0x9000, false, "a"), rec(abi.RecordKsymbol, 0x8000, false, "b"), rec(abi.RecordKsymbol, 0x9000, false, "c")
	for _, step := range []struct {
		rec  []byte
		want [][]byte
	}{
		{text, [][]byte{text}},
		{a, [][]byte{text, a}},
		{b, [][]byte{text, b, a}},
		{rec(abi.RecordKsymbol, 0x9000, true, "a"), [][]byte{text, b}},
		{c, [][]byte{text, b, c}},
		{c, [][]byte{text, b, c}},
		{a[:abi.HeaderSize+4], [][]byte{text, b, c}},
	} {
		given := bytes.Clone(step.rec)
		k.add(given)
		clear(given) // it was the caller's
		if got, want := k.appendTo(nil), bytes.Join(step.want, nil); !bytes.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
