package live

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/symbolize/unwind"
)

// TestQueueDropsCopies: while more waits than may, samples come without their copies, and
// all of them come.
func TestQueueDropsCopies(t *testing.T) {
	const sp, bp, ip, pid, size, samples = 7, 6, 8, 7, 1 << 10, 100
	attr := abi.Attr{
		Type: abi.TypeSoftware, SamplePeriod: 1, SampleRegsUser: 1<<bp | 1<<sp | 1<<ip, SampleStackUser: size,
		SampleType: abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCallchain | abi.SampleRegsUser | abi.SampleStackUser,
		Flags:      abi.FlagSampleIDAll,
	}
	const o, id, base = abi.LittleEndian, 3, 0x7000
	words := func(w ...uint64) (b []byte) {
		for _, v := range w {
			b = o.AppendUint64(b, v)
		}
		return b
	}
	record := func(typ abi.RecordType, body []byte) []byte {
		return append(abi.Header{Type: typ, Misc: abi.MiscUser, Size: uint16(abi.HeaderSize + len(body))}.AppendTo(nil, o), body...)
	}
	const task = pid<<32 | pid
	mmap := record(abi.RecordMmap, append(append(words(task, 0x1000, 0x1000, 0), "/x\x00\x00\x00\x00\x00\x00"...), words(task, 0, id)...))
	sample := func(time uint64) []byte {
		chain := []uint64{abi.ContextUser, 0x1000, 0x1301} // by frame pointers
		body := words(id, 0x1000, task, time, uint64(len(chain)))
		body = append(body, words(chain...)...)
		body = append(body, words(2, base, base, 0x1000, size)...)
		stack := words(0, 0x1101) // one caller, and nobody above
		body = append(append(body, append(stack, make([]byte, size-len(stack))...)...), words(size)...)
		return record(abi.RecordSample, body)
	}
	events := []abi.Event{{Name: "e", Attr: attr, IDs: []uint64{id}}}
	collector := replay.NewCollector(o, events, replay.Options{Unwind: &replay.Unwind{
		Machine: unwind.X86_64, Frames: func(stacks.Mapping) *unwind.Table { return unwind.FramePointers },
	}})
	gate := make(chan struct{})
	q := newQueue(collector, events, func() { <-gate }, queueLimits{full: 20 * size, most: 1 << 30})
	if err := q.Write(mmap, nil); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(samples) {
		s := sample(i + 1)
		if err := q.Write(s[:300], s[300:]); err != nil {
			t.Fatal(err)
		}
		if err := q.FinishRound(); err != nil {
			t.Fatal(err)
		}
	}
	if q.bytes > 40*size {
		t.Errorf("%d bytes wait", q.bytes)
	}
	close(gate)
	dropped, err := q.finish()
	if err != nil {
		t.Fatal(err)
	}
	set, stats, err := collector.Finish()
	if err != nil {
		t.Fatal(err)
	}
	// Each copy takes a little more than its size.
	if dropped < samples-20 || dropped > samples-15 {
		t.Errorf("%d copies of %d were dropped, of which 20 may wait", dropped, samples)
	}
	got := map[uint64]int64{} // by the offset of the caller
	for i := range set.NumSamples() {
		x := set.Sample(i)
		locs := set.Stack(x.Stack)
		if len(locs) != 2 {
			t.Fatalf("a stack of %d frames", len(locs))
		}
		m := set.Mappings[set.Locations[locs[1]].Mapping]
		got[set.Locations[locs[1]].Addr-m.Start] += x.Values[0]
	}
	if want := int64(samples - dropped); got[0x100] != want || got[0x300] != int64(dropped) || stats.TruncatedStacks != dropped {
		t.Errorf("callers %v, %d truncated: %d of %d samples have a copy", got, stats.TruncatedStacks, want, samples)
	}
}

// TestQueueWaits: where even samples without copies are too many, FinishRound waits.
func TestQueueWaits(t *testing.T) {
	events := []abi.Event{{Name: "e", Attr: abi.Attr{SampleType: abi.SampleIdentifier | abi.SampleIP}, IDs: []uint64{3}}}
	gate := make(chan struct{})
	q := newQueue(replay.NewCollector(abi.LittleEndian, events, replay.Options{}), events, func() { <-gate }, queueLimits{full: 8, most: 100})
	const size, rounds = 24, 5 // four fit
	record := abi.Header{Type: abi.RecordSample, Size: size}.AppendTo(nil, abi.LittleEndian)
	record = abi.LittleEndian.AppendUint64(abi.LittleEndian.AppendUint64(record, 3), 0x1000)
	var opened atomic.Bool
	go func() { // opens the gate once all rounds are there
		for there := 0; there < size*rounds; runtime.Gosched() {
			q.mu.Lock()
			there = q.bytes
			q.mu.Unlock()
		}
		opened.Store(true)
		close(gate)
	}()
	for i := range rounds {
		if err := errors.Join(q.Write(record, nil), q.FinishRound()); err != nil {
			t.Fatal(err)
		}
		if i == rounds-1 && !opened.Load() {
			t.Error("it did not wait")
		}
	}
	if _, err := q.finish(); err != nil {
		t.Fatal(err)
	}
	if q.bytes != 0 {
		t.Errorf("%d bytes are left", q.bytes)
	}
}
