package perfdata

import (
	"bytes"
	"errors"
	"testing"

	"kprof/perfevent/abi"
)

// TestGroupCounters: of perf record -e '{cpu/branch-instructions,branch_type=any/,cpu/branch-misses,
// branch_type=counter/}' both events have counters behind the branches of their samples, though only
// the second asks for them.
func TestGroupCounters(t *testing.T) {
	const st = abi.SampleIdentifier | abi.SampleBranchStack | abi.SampleWeight
	const anyBranch = abi.BranchSampleType(1 << 3) // PERF_SAMPLE_BRANCH_ANY
	events := []abi.Event{
		{Name: "alone", IDs: []uint64{1}, Attr: abi.Attr{SampleType: st, BranchSampleType: anyBranch}},
		{Name: "branches", IDs: []uint64{2}, Attr: abi.Attr{SampleType: st, BranchSampleType: anyBranch}},
		{Name: "misses", IDs: []uint64{3}, Attr: abi.Attr{SampleType: st, BranchSampleType: abi.BranchCounters}},
		{Name: "behind", IDs: []uint64{4}, Attr: abi.Attr{SampleType: st, BranchSampleType: anyBranch}},
	}
	const weight = 77
	o := abi.LittleEndian
	sample := func(id uint64, counters ...uint64) []byte {
		words := append([]uint64{id, 2, 0x10, 0x20, 0, 0x30, 0x40, 0}, counters...)
		words = append(words, weight)
		b := abi.Header{Type: abi.RecordSample, Size: uint16(abi.HeaderSize + 8*len(words))}.AppendTo(nil, o)
		for _, w := range words {
			b = o.AppendUint64(b, w)
		}
		return b
	}
	early := Features{Groups: []Group{{Name: "{anon_group}", Leader: 1, Members: 2}}}
	f := tempFile(t)
	w, err := NewWriter(f, events, early, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var pipe bytes.Buffer
	s, err := NewStreamWriter(&pipe, events, early, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range [][]byte{sample(1), sample(2, 5, 6), sample(3, 5, 6), sample(4)} {
		if err := errors.Join(w.Write(rec, nil), s.Write(rec, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(Features{}), s.Close(Features{})); err != nil {
		t.Fatal(err)
	}
	file, err := NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	piped, err := NewReader(&pipe)
	if err != nil {
		t.Fatal(err)
	}
	for kind, r := range map[string]*Reader{"file": file, "pipe": piped} {
		n := 0
		for rec, err := range r.Records() {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Type != abi.RecordSample {
				continue
			}
			n++
			var got abi.Sample
			e := r.Events.OfSample(rec.Payload)
			if err := e.Layout.DecodeSample(&got, rec.Misc, rec.Payload); err != nil || got.Weight != weight {
				t.Errorf("%s: %s: weight %d, error %v", kind, e.Name, got.Weight, err)
			}
		}
		if n != len(events) {
			t.Errorf("%s: %d samples", kind, n)
		}
	}
	// Groups that no perf writes.
	for _, g := range [][]Group{{{Leader: 9, Members: 1}}, {{Leader: 0, Members: 1<<32 - 1}}, {{Leader: 2, Members: 2}, {Leader: 0, Members: 1}}} {
		NewEventSet(o, events).groupCounters(g)
	}
}
