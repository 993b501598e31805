package pprof

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"kprof/convert/stacks"
	"kprof/perfevent/memtest"
)

// timed is a Set of samples of two events at times, most of them of the usual value, with sums over blocks.
func timed(seed uint64, n int) *stacks.Set {
	r := rand.New(rand.NewPCG(seed, 1))
	s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{{Type: "cpu.samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}},
		stacks.Event{Name: "faults", Values: []stacks.ValueType{{Type: "faults.samples", Unit: "count"}, {Type: "faults", Unit: "count"}}})
	for i := range 8 {
		s.SetLines(s.AddLocation(stacks.NoMapping, uint64(16+i), stacks.KindUser),
			stacks.Line{Function: s.AddFunction(stacks.Function{Name: string(rune('a' + i))})})
	}
	at := uint64(5e9)
	for range n {
		at += uint64(r.ExpFloat64() * 1e6)
		event, value := 0, int64(250000)
		if r.IntN(4) == 0 {
			event, value = 1, 1
		}
		if r.IntN(10) == 0 {
			value = r.Int64N(1000) - 500
		}
		row := s.Add(event, s.Intern([]uint32{uint32(r.IntN(4)), uint32(r.IntN(8))}), 0, 1, value)
		s.AddBlockSum(stacks.BlockSum{Time: at, Sample: uint32(row), Count: 1, Value: value})
	}
	s.SumBlocks()
	return s
}

// TestBlocksRoundTrip writes sums over blocks of time and reads them; and has google/pprof
// read them, which passes over them.
func TestBlocksRoundTrip(t *testing.T) {
	s := timed(1, 5000)
	var b bytes.Buffer
	if err := Write(&b, s, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	theirs, err := profile.ParseData(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if len(again.BlockSums) < 1000 || len(again.Events) != 2 || again.BlockShift() != s.BlockShift() {
		t.Errorf("%d sums of blocks of %d bits, wanted those of %d bits", len(again.BlockSums), again.BlockShift(), s.BlockShift())
	}
	if diff := cmp.Diff(canon(s), canon(again)); diff != "" {
		t.Error(diff)
	}
	// What google/pprof writes has none, and is the same otherwise.
	b.Reset()
	if err := theirs.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err = Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if again.BlockSums != nil {
		t.Error("sums over blocks have come through google/pprof")
	}
	s.BlockSums = nil
	if diff := cmp.Diff(canon(s), canon(again)); diff != "" {
		t.Error(diff)
	}
}

// TestBlocksDamaged reads profiles of which the sums over blocks are not well-formed: the
// samples count, and no sums do.
func TestBlocksDamaged(t *testing.T) {
	for _, tc := range []struct {
		name   string
		blocks []byte // of the profile
		sums   []byte // of the sample
	}{
		{"no such block", []byte{4, 1, 7, 2}, []byte{4}},
		{"too many blocks", append([]byte{4, 0x81, 0x02}, make([]byte, 300)...), []byte{0}},
		{"a block twice", []byte{4, 2, 7, 0, 2}, []byte{0}},
		{"a block twice in a sample", []byte{4, 2, 7, 1, 2}, []byte{4, 0}},
		{"very often", []byte{4, 1, 7, 2}, make([]byte, 1<<20)},
		{"a cut number", []byte{4, 1, 7, 2}, []byte{0x80}},
		{"a cut count", []byte{4, 1, 7, 2}, []byte{1}},
		{"an unknown kind", []byte{4, 1, 7, 2}, []byte{3, 1}},
		{"times that overflow", []byte{63, 1, 2, 2}, []byte{0}},
		{"no usual value", []byte{4, 1, 7}, []byte{0}},
	} {
		var raw buf
		raw.bytes(profileSampleType, []byte{valueTypeType << 3, 1, valueTypeUnit << 3, 2})
		raw.bytes(profileBlocks, tc.blocks)
		for _, sums := range [][]byte{{0}, tc.sums} { // the first is well-formed, if the blocks are
			var sample buf
			sample.bytes(sampleValue, []byte{3})
			sample.bytes(sampleBlocks, sums)
			raw.bytes(profileSample, sample)
		}
		for _, text := range []string{"", "samples", "count"} {
			raw.bytes(profileStringTable, []byte(text))
		}
		within := memtest.Within(t, 16<<20) // 1 MB is read
		s, err := fromRaw(bytes.NewReader(raw))
		within()
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if len(s.BlockSums) > 0 || s.BlockShift() != 0 || s.NumSamples() != 1 || s.Sample(0).Values[0] != 6 {
			t.Errorf("%s: %d rows, sums %v, blocks of %d bits", tc.name, s.NumSamples(), s.BlockSums, s.BlockShift())
		}
	}
}
