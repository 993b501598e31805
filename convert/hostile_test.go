package convert

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"kprof/convert/stacks"
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
	if shared == 0 || shared != st.OtherPlaces || frames-shared != uint64(len(set.Locations)-1) {
		t.Errorf("%d frames without an address of their own, %d counted, of %d; %d locations", shared, st.OtherPlaces, frames, len(set.Locations))
	}
	if l := st.Losses(); len(l) != 2 {
		t.Errorf("told: %q", l)
	}
}

// TestTooManyMappings finds places in more files than are told apart.
func TestTooManyMappings(t *testing.T) {
	tl, set := newTimeline(), stacks.New()
	l := newLocator(tl, set)
	n := maxMappings * 3 / 2
	for i := range n {
		tl.mmap(abi.Mmap{PID: 7, Addr: pages(i), Len: 0x1000, File: fmt.Sprint("/f", i)}, abi.MiscUser, 1)
	}
	tl.freeze()
	s, at := tl.tasks[7].spaceAt(2)
	v := l.view(s, at, stacks.KindUnknown)
	for i := range n {
		l.at(&v, pages(i))
	}
	if got := len(set.Mappings); l.beyond == 0 || uint64(got)+l.beyond != uint64(n) || got > maxMappings+n/8+1 {
		t.Errorf("%d mappings, %d of %d places beyond", got, l.beyond, n)
	}
	if loc := set.Locations[l.at(&v, pages(5))]; loc.Mapping < 0 || set.Mappings[loc.Mapping].File != "/f5" {
		t.Errorf("file 5 became %+v", loc)
	}
}

// TestTooManyTasks labels samples of more tasks than are told apart.
func TestTooManyTasks(t *testing.T) {
	tl, set := newTimeline(), stacks.New()
	l := newLabels(tl, set, 0)
	comm := tl.strings.of("x")
	n := maxLabels * 3 / 2
	for i := range n {
		l.of(labelKey{name: comm, pid: int32(i)})
	}
	others := l.of(labelKey{name: comm, pid: int32(n)})
	if got, _ := set.Label(others, "comm"); got.Str != otherTasks {
		t.Errorf("task %d is called %q", n, got.Str)
	}
	if got := set.NumLabels(); l.others != uint64(n+1-(got-2)) || got > maxLabels+n/8+2 {
		t.Errorf("%d lists of labels, %d of %d samples without", got, l.others, n+1)
	}
	if got, _ := set.Label(l.of(labelKey{name: comm, pid: 5}), "pid"); got.Num != 5 {
		t.Errorf("task 5 became %d", got.Num)
	}
}

// TestHasty looks addresses up where a great effort has been made already: in few
// places, and those that are given up are counted.
func TestHasty(t *testing.T) {
	tl := newTimeline()
	for i := range 100 {
		pid := int32(100 + i)
		tl.fork(abi.Task{PID: pid, TID: pid, PPID: pid - 1, PTID: pid - 1}, uint64(10*i), false)
		tl.mmap(abi.Mmap{PID: pid, Addr: pages(i), Len: 0x1000, File: "/x"}, abi.MiscUser, uint64(10*i+1))
	}
	tl.limits.ancestors = 1000
	tl.freeze()
	s, at := tl.tasks[199].spaceAt(1 << 40)
	if tl.area(s, pages(0), at) == nil {
		t.Error("what the first ancestor maps is not found")
	}
	tl.effort.spent = 1 << 40
	for i, found := range map[int]bool{99: true, 92: true, 50: false, 0: false} {
		if a := tl.area(s, pages(i), at); (a != nil) != found {
			t.Errorf("the map of ancestor %d: %+v", i, a)
		}
	}
	if tl.effort.hasty != 2 {
		t.Errorf("%d given up", tl.effort.hasty)
	}
}

// TestHistory adds in any order, and cuts, against a slice that is sorted each time.
func TestHistory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var h history[area]
		var want []area
		for i := range 60 {
			switch a := (area{born: r.Uint64N(40), obj: int32(i)}); r.IntN(8) {
			case 0:
				h.merge()
			case 1:
				cut := h.cut(a.born)
				n := bornBy(want, a.born)
				if !slices.Equal(cut, want[n:]) {
					t.Fatalf("cut at %d: %v\nof %v", a.born, cut, want)
				}
				want = want[:n:n]
			default:
				h.add(a)
				want = append(want, a)
				slices.SortStableFunc(want, func(a, b area) int { return cmp.Compare(a.born, b.born) })
			}
			at := r.Uint64N(45)
			got, n := h.at(at), bornBy(want, at)
			if got == nil && n > 0 || got != nil && (n == 0 || *got != want[n-1]) {
				t.Fatalf("at %d: %+v\nof %v", at, got, want)
			}
		}
		h.merge()
		if !slices.Equal(h.all, want) {
			t.Fatalf("%v\nwant %v", h.all, want)
		}
		h.forget(20, 2)
		if n := bornBy(want, 19) - 2; n > 0 && n >= len(want)/2 {
			want = want[n:]
		}
		if !slices.Equal(h.all, want) {
			t.Fatalf("%v\nwant %v", h.all, want)
		}
	}
}

// TestNumbering numbers words against a map.
func TestNumbering(t *testing.T) {
	var n numbering[uint64]
	want := map[uint64]int32{}
	for i := range 10 * listPiece {
		k := mix(i) % (5 * listPiece)
		if _, ok := want[k]; !ok {
			want[k] = int32(len(want))
		}
		if got := n.of(k); got != want[k] || *n.at(got) != k {
			t.Fatalf("%d has number %d, want %d", k, got, want[k])
		}
	}
}
