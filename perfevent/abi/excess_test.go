package abi

import "testing"

// TestExcess: Linux makes KSYMBOL and BPF_EVENT records longer than what it writes
// into them, when it writes them to several events.
func TestExcess(t *testing.T) {
	const o = LittleEndian
	a := Attr{SampleType: SampleTID | SampleTime | SampleCPU | SampleIdentifier, Flags: FlagSampleIDAll}
	l := NewLayout(&a, o)
	id := SampleIDFields{PID: 3, TID: 4, Time: 555, CPU: 1, ID: 77}
	for name := range 20 {
		symbol := o.AppendUint64(nil, 0xffffffffc00011cc)
		symbol = o.AppendUint64(symbol, 32)
		for range name {
			symbol = append(symbol, 'x')
		}
		symbol = append(symbol, 0)
		for len(symbol)%8 != 0 {
			symbol = append(symbol, 0)
		}
		for typ, body := range map[RecordType][]byte{
			RecordKsymbol:  symbol,
			RecordBPFEvent: o.AppendUint64(o.AppendUint64(nil, 1<<32), 0xabcdef),
		} {
			whole := l.AppendTrailer(body[:len(body):len(body)], id)
			for _, junk := range []int{0, 32, 64} {
				payload := append(whole[:len(whole):len(whole)], make([]byte, junk)...)
				if got := l.Excess(typ, payload); got != junk {
					t.Errorf("%v, name of %d bytes: %d bytes too many, want %d", typ, name, got, junk)
					continue
				}
				if f, ok := l.DecodeTrailer(payload[:len(payload)-junk]); f != id || !ok {
					t.Errorf("%v: %+v, want %+v", typ, f, id)
				}
				if got := l.Excess(RecordMmap2, payload); got != 0 {
					t.Errorf("MMAP2: %d bytes too many", got)
				}
			}
			if got := l.Excess(typ, body); got != 0 {
				t.Errorf("%v without a sample id: %d bytes too many", typ, got)
			}
		}
	}
	for _, payload := range [][]byte{nil, make([]byte, 15), []byte("no name ends here, no name ends")} {
		if got := l.Excess(RecordKsymbol, payload); got != 0 {
			t.Errorf("%q: %d bytes too many", payload, got)
		}
	}
}
