package replay

import (
	"runtime"
	"slices"
	"testing"

	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
)

// What may be allocated in all for a recording: buffers and tables that any needs,
// and so many bytes for each of its own.
const (
	hostileFixed = 64 << 20
	hostileRatio = 40
)

// TestHostile converts recordings of one kind of record each, as a file and as a
// stream: what is allocated for them does not grow faster than they do, and all
// records are there.
func TestHostile(t *testing.T) {
	size := 1 << 19
	if testing.Short() {
		size = 1 << 17
	}
	times := []string{"rising", "falling", "equal", "none", "any"}
	for i, k := range hostileKinds {
		for j, stream := range []bool{false, true} {
			time := times[(i+3*j)%len(times)]
			records := hostileRecords(k, hostileTimes[time], size)
			b := hostileFile(records, stream)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			set, st, err := convertBytes(b, stream, Options{})
			runtime.ReadMemStats(&after)
			if err != nil || st.Truncated != nil {
				t.Errorf("%s, time %s, stream %v: %v, %v", k.name, time, stream, st.Truncated, err)
				continue
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > hostileFixed+hostileRatio*uint64(len(b)) {
				t.Errorf("%s, time %s, stream %v: %d bytes allocated for %d", k.name, time, stream, n, len(b))
			}
			all, samples := countRecords(records)
			var counted uint64
			for _, n := range st.Records {
				counted += n
			}
			if stream {
				counted -= st.Records[abi.RecordHeaderAttr]
			}
			if counted != all || st.Records[abi.RecordSample] != samples || sumOf(set) != samples-st.BadSamples {
				t.Errorf("%s, time %s, stream %v: %d records with %d samples, %d of them in the Set; want %d and %d",
					k.name, time, stream, counted, st.Records[abi.RecordSample], sumOf(set), all, samples)
			}
		}
	}
}

// countRecords counts records and the samples among them.
func countRecords(b []byte) (all, samples uint64) {
	for ; len(b) > 0; all++ {
		h := abi.DecodeHeader(b, abi.LittleEndian)
		if h.Type == abi.RecordSample {
			samples++
		}
		b = b[h.Size:]
	}
	return all, samples
}

func sumOf(set *stacks.Set) (n uint64) {
	for i := range set.NumSamples() {
		n += uint64(set.Sample(i).Values[0])
	}
	return n
}

// TestTooManyPlaces converts stacks of more addresses than are told apart: all
// frames are there, and those without an address of their own are counted.
func TestTooManyPlaces(t *testing.T) {
	kind := slices.IndexFunc(hostileKinds, func(k hostileKind) bool { return k.name == "samples of deep stacks" })
	records := hostileRecords(hostileKinds[kind], hostileTimes["rising"], 6<<20)
	set, st, err := convertBytes(hostileFile(records, false), false, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var frames, shared uint64
	for i := range set.NumSamples() {
		row := set.Sample(i)
		for _, loc := range set.Stack(row.Stack) {
			frames += uint64(row.Values[0])
			if set.Locations[loc].Addr == 0 {
				shared += uint64(row.Values[0])
			}
		}
	}
	if _, samples := countRecords(records); frames != 8000*samples {
		t.Errorf("%d frames of %d samples", frames, samples)
	}
	if shared == 0 || shared != st.OverflowFrames || frames-shared != uint64(len(set.Locations)-1) {
		t.Errorf("%d frames without an address of their own, %d counted, of %d; %d locations", shared, st.OverflowFrames, frames, len(set.Locations))
	}
	if st.Unnamed == 0 || st.OverflowTasks+st.AbandonedLookups+st.BadSamples+st.BadRecords+st.UnknownEvent+st.Lost+st.LostSamples != 0 {
		t.Errorf("seen: %+v", st)
	}
}

// TestTooManyTasks labels samples of more tasks than are told apart.
func TestTooManyTasks(t *testing.T) {
	tl, set := timeline.New(timeline.Options{}), stacks.New()
	l := newLabels(tl, set, 0)
	n := maxLabels * 3 / 2
	for i := range n {
		l.of(labelKey{name: timeline.NoName, pid: int32(i)})
	}
	others := l.of(labelKey{name: timeline.NoName, pid: int32(n)})
	if got, _ := set.Label(others, "comm"); got.Str != otherTasks {
		t.Errorf("task %d is called %q", n, got.Str)
	}
	if got := set.NumLabels(); l.others != uint64(n+1-(got-2)) || got > maxLabels+n/8+2 {
		t.Errorf("%d lists of labels, %d of %d samples without", got, l.others, n+1)
	}
	if got, _ := set.Label(l.of(labelKey{name: timeline.NoName, pid: 5}), "pid"); got.Num != 5 {
		t.Errorf("task 5 became %d", got.Num)
	}
}
