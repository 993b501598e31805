package viewer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"kprof/convert/stacks"
)

// track is what one thread did, as far as the labels of samples tell threads
// apart: by pid and tid, or where there is no tid by pid and comm. The idle
// threads, one a CPU, are all 0: they are told apart by their CPUs.
type track struct {
	comm     string // the last that it had; "" if unknown
	pid, tid int64  // 0 if unknown
	cpu      string // of an idle thread, "" if unknown
	weight   int64  // of its samples
	items    []item // in the order of time
	wakes    bool   // it has woken another
	id       uint32 // before they are sorted
}

// item is a sample at its time. Where times were not kept it is a whole row, and
// rows follow each other, the heaviest stacks first, as long as they are heavy.
type item struct {
	row    uint32
	time   uint64 // ns since the first of all, or the weight of the rows before
	weight int64
}

// tracks is the samples of one event, by thread.
type tracks struct {
	list  []track // the heaviest first
	timed bool
	start uint64 // time of the first item, ns of the recording's clock; 0 if not timed

	wakes []stacks.Wake // those of which both threads are here

	of    []uint32 // by label list, the id of its track
	place []int    // by id, the index into list or -1
}

// newTracks takes the event's samples apart. The order of rows without times is
// that of tree, which may be nil for a Set with times. Threads that have woken
// others are kept without samples too, if the others have any.
func newTracks(s *stacks.Set, event, column int, wakes []stacks.Wake, tree func() *stackTree) *tracks {
	t := &tracks{timed: s.TimedSamples != nil}
	t.of = t.byLabels(s)
	if t.timed {
		t.addMoments(s, event, t.of)
	} else {
		t.addRows(s, event, column, t.of, tree())
	}
	for _, w := range wakes {
		if t.flows(&w) {
			t.list[t.of[w.By]].wakes = true
			t.wakes = append(t.wakes, w)
		}
	}
	t.place = slices.Repeat([]int{-1}, len(t.list))
	t.list = slices.DeleteFunc(t.list, func(k track) bool { return len(k.items) == 0 && !k.wakes })
	slices.SortStableFunc(t.list, func(a, b track) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.pid, b.pid), cmp.Compare(a.tid, b.tid), cmp.Compare(a.comm, b.comm), cmp.Compare(a.cpu, b.cpu))
	})
	for i := range t.list {
		t.place[t.list[i].id] = i
	}
	return t
}

// flows reports whether a wake is one of a task that there is, at a time that is shown. What an
// interrupt wakes on an idle CPU nobody has woken. It is for when samples, and not yet places,
// are known.
func (t *tracks) flows(w *stacks.Wake) bool {
	by, woken := &t.list[t.of[w.By]], &t.list[t.of[w.Woken]]
	return t.timed && by.pid != 0 && len(woken.items) > 0 && w.Time >= t.start
}

// byLabels makes a track of each thread and returns which one label lists belong
// to.
func (t *tracks) byLabels(s *stacks.Set) []uint32 {
	type key struct {
		pid, tid  int64
		comm, cpu string
	}
	ids := map[key]uint32{}
	of := make([]uint32, s.NumLabels())
	for i := range of {
		var k key
		idle := false
		for _, l := range s.Labels(stacks.LabelsID(i)) {
			switch l.Key {
			case "pid":
				k.pid = l.Num
				idle = l.Num == 0
			case "cpu":
				k.cpu = strconv.FormatInt(l.Num, 10)
			case "tid":
				k.tid = l.Num
			case "comm":
				k.comm = l.Str
			}
		}
		comm := k.comm
		if k.tid != 0 {
			k.comm = "" // which may change
		}
		if !idle {
			k.cpu = ""
		}
		id, ok := ids[k]
		if !ok {
			id = uint32(len(t.list))
			ids[k] = id
			t.list = append(t.list, track{pid: k.pid, tid: k.tid, cpu: k.cpu, id: id})
		}
		t.list[id].comm = comm // lists are in the order in which they were first seen
		of[i] = id
	}
	return of
}

func (t *tracks) addMoments(s *stacks.Set, event int, of []uint32) {
	count := make([]int, len(t.list))
	for _, m := range s.TimedSamples {
		if x := s.Sample(int(m.Sample)); x.Event == event {
			count[of[x.Labels]]++
		}
	}
	for i := range t.list {
		t.list[i].items = make([]item, 0, count[i])
	}
	var labels stacks.LabelsID
	for _, m := range s.TimedSamples {
		x := s.Sample(int(m.Sample))
		if x.Event != event {
			continue
		}
		if t.start == 0 {
			t.start = m.Time
		}
		k := &t.list[of[x.Labels]]
		if x.Labels != labels { // seldom, within a row's neighbours
			labels = x.Labels
			if l, ok := s.Label(labels, "comm"); ok {
				k.comm = l.Str
			}
		}
		k.items = append(k.items, item{m.Sample, m.Time - t.start, m.Value})
		k.weight += m.Value
	}
}

func (t *tracks) addRows(s *stacks.Set, event, column int, of []uint32, tree *stackTree) {
	for _, row := range leftHeavyRows(s, event, column, tree) {
		x := s.Sample(int(row))
		t.list[of[x.Labels]].addRow(row, x.Values[column])
	}
}

// addRow appends a row behind the others. What is less than nothing, in a
// difference, has no length.
func (k *track) addRow(row uint32, weight int64) {
	k.items = append(k.items, item{row, uint64(k.weight), weight})
	k.weight += max(weight, 0)
}

// dropBelowZero leaves out the samples of weights below 0.
func (k *track) dropBelowZero() {
	k.items = slices.DeleteFunc(k.items, func(x item) bool { return x.weight < 0 })
	k.weight = 0
	for _, x := range k.items {
		k.weight += x.weight
	}
}

// leftHeavyRows returns the rows of an event whose value is not 0, those that
// share callers side by side and the heaviest first.
func leftHeavyRows(s *stacks.Set, event, column int, tree *stackTree) []uint32 {
	weight := make([]int64, s.NumStacks())
	var rows []uint32
	for i := range s.NumSamples() {
		if x := s.Sample(i); x.Event == event && x.Values[column] != 0 {
			weight[x.Stack] += x.Values[column]
			rows = append(rows, uint32(i))
		}
	}
	place := tree.leftHeavy(weight)
	slices.SortFunc(rows, func(a, b uint32) int {
		x, y := s.Sample(int(a)).Stack, s.Sample(int(b)).Stack
		return cmp.Or(cmp.Compare(place[tree.leaf[x]], place[tree.leaf[y]]), cmp.Compare(a, b))
	})
	return rows
}

// name is what a track is called: "comm pid/tid", without what is not known.
func (k *track) name() string {
	name := k.title()
	switch {
	case k.tid != 0:
		return fmt.Sprintf("%s %d/%d", name, k.pid, k.tid)
	case k.pid != 0:
		return fmt.Sprintf("%s %d", name, k.pid)
	}
	return name
}

// title is what a track is called where its numbers stand beside.
func (k *track) title() string {
	name := cmp.Or(k.comm, "samples")
	if k.cpu != "" {
		name += "/" + k.cpu // as ps has it
	}
	return name
}

// isMain reports whether a process is called like this thread of it.
func (k *track) isMain() bool { return k.tid == k.pid || k.tid == 0 }

// interval is the time between two samples of a track, in ns: the median, since
// a thread sleeps now and then; 0 if there are not two of any.
func (t *tracks) interval() uint64 {
	const enough = 1 << 16
	var gaps []uint64
	for i := range t.list {
		items := t.list[i].items
		for j := 1; j < len(items) && len(gaps) < enough; j++ {
			if d := items[j].time - items[j-1].time; d > 0 {
				gaps = append(gaps, d)
			}
		}
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}
