package stacktext

import (
	"math"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// labelTable makes the labels of samples: comm and pid, and what was asked for.
type labelTable struct {
	set    *stacks.Set
	opts   *Options
	ids    map[labelKey]stacks.LabelsID
	asked  uint64
	others uint64

	last   labelKey // of the sample before
	lastID stacks.LabelsID
	some   bool
}

type labelKey struct {
	comm                            string
	pid, tid, cpu                   int32
	hasComm, hasPID, hasTID, hasCPU bool
}

// maxLabels bounds the different lists of labels, and an eighth of the samples may
// have more. Samples of further tasks have labels that tell nothing.
const maxLabels = 1 << 17

// otherTasks is the name of tasks that are not told apart.
const otherTasks = "[others]"

// of returns the labels of a sample.
func (t *labelTable) of(h *header) stacks.LabelsID {
	k := labelKey{pid: h.pid, hasPID: h.hasPID, hasComm: h.hasComm}
	if t.opts.TID {
		k.tid, k.hasTID = h.tid, h.hasTID
	}
	if t.opts.CPU {
		k.cpu, k.hasCPU = h.cpu, h.hasCPU
	}
	t.asked++
	if t.some && t.last.comm == string(h.comm) {
		k.comm = t.last.comm
		if k == t.last {
			return t.lastID
		}
	}
	id, known := t.ids[labelKey{string(h.comm), k.pid, k.tid, k.cpu, k.hasComm, k.hasPID, k.hasTID, k.hasCPU}]
	switch {
	case known:
	case uint64(len(t.ids)) >= maxLabels+t.asked/8:
		t.others++
		return t.set.InternLabels([]stacks.Label{{Key: "comm", Str: otherTasks}})
	}
	k.comm = string(h.comm)
	if !known {
		id = t.intern(&k)
		t.ids[k] = id
	}
	t.last, t.lastID, t.some = k, id, true
	return id
}

func (t *labelTable) intern(k *labelKey) stacks.LabelsID {
	var l []stacks.Label
	if k.hasComm {
		l = append(l, stacks.Label{Key: "comm", Str: k.comm})
	}
	if k.hasPID {
		l = append(l, stacks.Label{Key: "pid", Num: int64(k.pid)})
	}
	if k.hasTID {
		l = append(l, stacks.Label{Key: "tid", Num: int64(k.tid)})
	}
	if k.hasCPU {
		l = append(l, stacks.Label{Key: "cpu", Num: int64(k.cpu)})
	}
	return t.set.InternLabels(l)
}

// eventTable numbers the events of a text by name.
type eventTable struct {
	set   *stacks.Set
	index map[string]int
	sums  []eventSum
}

type eventSum struct {
	samples, period uint64
	told            bool // some of them have a period
}

// maxEvents is how many events a text may have: a recording has a few.
const maxEvents = 1 << 10

// noEvent is the event of text that does not tell any.
const noEvent = "samples"

// of returns the index of a sample's event, or -1 if there are too many.
func (t *eventTable) of(h *header) int {
	name := h.event
	if name == nil {
		name = []byte(noEvent)
	}
	i, ok := t.index[string(name)]
	if ok {
		return i
	}
	if len(t.sums) == maxEvents {
		return -1
	}
	n := string(name)
	i = t.set.AddEvent(stacks.Event{Name: n, Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: n, Unit: "count"}}})
	t.index[n] = i
	t.sums = append(t.sums, eventSum{})
	return i
}

// known tells whether a sample had an event of that name.
func (t *eventTable) known(name []byte) bool {
	if name == nil {
		return false
	}
	_, ok := t.index[string(name)]
	return ok
}

// count adds up the periods of an event's samples; it fails if they are too many.
func (t *eventTable) count(event int, period uint64) bool {
	sum := &t.sums[event]
	if period > math.MaxInt64-sum.period {
		return false
	}
	sum.samples++
	sum.period += period
	return true
}

// finish describes the columns of the events: their samples and, where these have
// periods other than 1, the sum of those.
func (t *eventTable) finish() {
	for i, sum := range t.sums {
		e := &t.set.Events[i]
		switch {
		case IsClock(e.Name):
			e.Values[1] = stacks.ValueType{Type: "cpu", Unit: "nanoseconds"}
		case e.Name == "offcpu-time": // of perf record --off-cpu
			e.Values[1].Unit = "nanoseconds"
		}
		if len(t.sums) > 1 {
			e.Values[0].Type, e.Values[1].Type = e.Name+".samples", e.Name
		}
		if sum.period == sum.samples {
			t.set.DropLastColumn(i)
			e.UnknownPeriods = !sum.told && e.Name != noEvent && !IsTracepoint(e.Name)
		}
	}
}

// IsClock tells whether an event of that name, with any modifiers, counts ns of CPU
// time.
func IsClock(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	return name == "cpu-clock" || name == "task-clock"
}

// IsTracepoint tells whether an event of that name is a tracepoint or dynamic probe,
// "sched:sched_switch", whose samples count 1 each whatever their period.
func IsTracepoint(name string) bool {
	_, event, ok := strings.Cut(name, ":")
	return ok && event != "" && !abi.IsModifiers(event) && !strings.Contains(name, "/")
}
