package replay

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"kprof/convert/payload"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// rareSample is a sample of process pid with the callers ips, leaf first.
func rareSample(b []byte, pid uint32, time uint64, ips []uint64) []byte {
	o := binary.LittleEndian
	size := abi.HeaderSize + 8 + 8 + 8 + 8 + 8*(1+len(ips))
	b = abi.Header{Type: abi.RecordSample, Misc: 2, Size: uint16(size)}.AppendTo(b, abi.LittleEndian) // in user code
	b = o.AppendUint64(b, ips[0])
	b = o.AppendUint32(o.AppendUint32(b, pid), pid)
	b = o.AppendUint64(o.AppendUint64(b, time), uint64(1+len(ips)))
	b = o.AppendUint64(b, abi.ContextUser)
	for _, ip := range ips {
		b = o.AppendUint64(b, ip)
	}
	return b
}

// TestMaxMemory takes samples of which half are of one stack and the others each of one of its
// own, below the same caller, and of more and more processes: what rows take stays within the
// bound, and the sums of what is not rare are exact.
func TestMaxMemory(t *testing.T) {
	const (
		samples = 60_000
		limit   = leastBound
		frames  = 60
	)
	r := rand.New(rand.NewPCG(7, 8))
	c := NewCollector(abi.LittleEndian, []abi.Event{{Name: "task-clock", Attr: boundAttr}}, Options{Selection: Selection{MaxMemory: 1, Times: true, Blocks: true}})
	caller := []uint64{0x3000, 0x2000, 0x1001}
	hot := append([]uint64{0x4000}, caller...)
	var b []byte
	largest, shrunk := int64(0), 0
	for i := range samples {
		pid, stack := uint32(7), hot
		if i%2 == 1 {
			pid, stack = uint32(1000+i), nil
			for range frames {
				stack = append(stack, 0x10000+0x100*r.Uint64N(200))
			}
			stack = append(stack, caller...)
		}
		b = rareSample(b, pid, uint64(i+1)*1000, stack)
		if i%1000 == 999 {
			if err := c.Write(b, nil); err != nil {
				t.Fatal(err)
			}
			b = b[:0]
			c.stream.EndRound()
			size := c.rows.set.RowsSize()
			if size < largest/2 {
				shrunk++
			}
			largest = max(largest, size)
		}
	}
	set, st, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if largest > limit*5/4 || largest < limit/2 {
		t.Errorf("%d bytes of rows, of %d", largest, limit)
	}
	if st.MergedStacks == 0 || len(c.rows.labels.ids) > limit/4/labelsCost {
		t.Errorf("%d stacks were shortened, %d lists of labels are known", st.MergedStacks, len(c.rows.labels.ids))
	}
	if totals := set.Totals(0); !slices.Equal(totals, []int64{samples, samples}) {
		t.Errorf("totals %v", totals)
	}
	names := set.Names()
	var whole, below, ofHot, merged, taskless int64
	for i := range set.NumSamples() {
		x := set.Sample(i)
		n, stack := x.Values[0], set.Stack(x.Stack)
		isMerged := names.Names[names.Of(stack[0])[0]] == MergedFrame
		_, told := set.Label(x.Labels, "pid")
		comm, _ := set.Label(x.Labels, "comm")
		switch {
		case isMerged:
			merged += n
		case set.Locations[stack[0]].Addr == 0x4000:
			ofHot += n
		case len(stack) == frames+len(caller):
			whole += n
		}
		if len(stack) >= len(caller) && set.Locations[stack[len(stack)-1]].Addr == 0x1000 && set.Locations[stack[len(stack)-2]].Addr == 0x1fff && set.Locations[stack[len(stack)-3]].Addr == 0x2fff {
			below += n
		}
		if !told && comm.Str != otherTasks {
			taskless += n
		}
	}
	if below != samples || ofHot != samples/2 || merged+whole != samples/2 || merged == 0 || merged != int64(st.MergedSamples) {
		t.Errorf("%d samples of the hot stack, %d of whole ones and %d merged, %d by Stats; %d below the caller", ofHot, whole, merged, st.MergedSamples, below)
	}
	if taskless == 0 || taskless != int64(st.MergedTasks) || st.OverflowTasks == 0 {
		t.Errorf("%d samples do not tell their task, %d by Stats; %d of too many tasks", taskless, st.MergedTasks, st.OverflowTasks)
	}
	var blocks int64
	for _, s := range set.BlockSums {
		blocks += s.Value
	}
	if blocks != samples || len(set.TimedSamples) != samples || st.TimelessSamples != 0 {
		t.Errorf("blocks of %d samples, %d times; %d without", blocks, len(set.TimedSamples), st.TimelessSamples)
	}
}

// TestMaxMemoryTimes: times of single samples that take too much are given up, and the sums are
// what they would be.
func TestMaxMemoryTimes(t *testing.T) {
	const samples = leastBound/2/24 + 5000
	c := NewCollector(abi.LittleEndian, []abi.Event{{Name: "task-clock", Attr: boundAttr}}, Options{Selection: Selection{MaxMemory: 1, Times: true}})
	var b []byte
	for i := range samples {
		b = rareSample(b, 7, uint64(i+1), []uint64{0x2000, 0x1000})
		if len(b) > 1<<16 {
			if err := c.Write(b, nil); err != nil {
				t.Fatal(err)
			}
			b = b[:0]
			c.stream.EndRound()
		}
	}
	if err := c.Write(b, nil); err != nil {
		t.Fatal(err)
	}
	set, st, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if set.Totals(0)[0] != samples || set.TimedSamples != nil || st.TimelessSamples != samples || st.MergedSamples != 0 {
		t.Errorf("%d samples, %d times, %+v", set.Totals(0)[0], len(set.TimedSamples), st)
	}
}

// TestMaxMemoryOfPairs: where rows are made of pairs of events, stacks that come when there is no
// more room have no frames but one; the times are all there.
func TestMaxMemoryOfPairs(t *testing.T) {
	times := func(full bool) (sum int64, merged int, st Stats) {
		rec := switchRecording(abi.LittleEndian, false)
		formats, err := payload.Decode(rec.Features.TracingData)
		if err != nil {
			t.Fatal(err)
		}
		c := NewCollector(abi.LittleEndian, rec.Events, Options{Selection: Selection{OffCPU: true, MaxMemory: 1, Formats: formats}})
		if full {
			c.rows.bound.begin(c.rows.set)
			c.rows.bound.full = true
		}
		for _, ring := range rec.Records(abi.LittleEndian) {
			if err := c.Write(ring, nil); err != nil {
				t.Fatal(err)
			}
		}
		set, st, err := c.Finish()
		if err != nil {
			t.Fatal(err)
		}
		names := set.Names()
		for i := range set.NumSamples() {
			x := set.Sample(i)
			sum += x.Values[len(x.Values)-1]
			if stack := set.Stack(x.Stack); len(stack) == 1 && names.Names[names.Of(stack[0])[0]] == MergedFrame {
				merged++
			}
		}
		return sum, merged, st
	}
	want, none, _ := times(false)
	sum, all, st := times(true)
	if sum != want || none != 0 || all == 0 || st.MergedStacks == 0 || st.MergedSamples == 0 {
		t.Errorf("%d ns, want %d; %d rows are merged, %d without a bound; %d samples, %d stacks", sum, want, all, none, st.MergedSamples, st.MergedStacks)
	}
}

// TestMergedFrame: the frame has its name also where events are brought into another order.
func TestMergedFrame(t *testing.T) {
	second, first := boundAttr, boundAttr
	second.SampleType |= abi.SampleIdentifier
	first.SampleType |= abi.SampleIdentifier
	c := NewCollector(abi.LittleEndian, []abi.Event{{Name: "one", Attr: first, IDs: []uint64{1}}, {Name: "two", Attr: second, IDs: []uint64{2}}}, Options{Selection: Selection{MaxMemory: 1}})
	c.rows.bound.begin(c.rows.set)
	for _, id := range []uint64{2, 1} {
		s := rareSample(nil, 7, id, []uint64{0x1000})
		s = slices.Insert(s, abi.HeaderSize, binary.LittleEndian.AppendUint64(nil, id)...)
		binary.LittleEndian.PutUint16(s[6:], uint16(len(s)))
		if err := c.Write(s, nil); err != nil {
			t.Fatal(err)
		}
	}
	set, _, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Events) != 2 || set.Events[0].Name != "one" || !slices.ContainsFunc(set.Functions, func(f stacks.Function) bool { return f.Name == MergedFrame }) {
		t.Errorf("events %v, functions %v", set.Events, set.Functions)
	}
	if names := set.Names(); !slices.Contains(names.Names, MergedFrame) {
		t.Errorf("names %q", names.Names)
	}
}

// TestBoundAdd: of parts that are added up for as long as one likes, each with other tasks, other
// stacks and times, the sum stays small; the samples are all there, and what they do not tell is
// counted.
func TestBoundAdd(t *testing.T) {
	b := NewBound(1)
	var sum *stacks.Set
	const parts, each = 100, 1000
	for i := range parts {
		part := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		main := part.AddLocation(stacks.NoMapping, 1, stacks.KindUser)
		for j := range each {
			n := uint64(i*each + j)
			own := part.AddLocation(stacks.NoMapping, 2+n%5000, stacks.KindUser)
			labels := part.InternLabels([]stacks.Label{{Key: "comm", Str: "x"}, {Key: "pid", Num: int64(n)}})
			row := part.Add(0, part.Intern([]uint32{own, main}), labels, 1)
			for range 10 {
				part.AddTimedSample(stacks.TimedSample{Time: 1 + n, Sample: uint32(row), Value: 1})
			}
		}
		if sum == nil {
			sum = part
			continue
		}
		b.Add(sum, part)
		if times := len(sum.TimedSamples) * 24; sum.RowsSize() > leastBound || times > leastBound/2 || sum.NumLabels() > leastBound/labelsCost/2 {
			t.Fatalf("after %d parts %d bytes of rows, %d of times, %d lists of labels", i, sum.RowsSize(), times, sum.NumLabels())
		}
	}
	var st Stats
	b.Count(sum, &st)
	if n := sum.Totals(0)[0]; n != parts*each || st.TimelessSamples != parts*each || st.MergedTasks < parts*each/2 || st.MergedTasks >= parts*each {
		t.Errorf("%d samples; not told: %+v", n, st)
	}
}
