package convert

import (
	"encoding/hex"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// finish names the columns of the Set, now that it is known how many events have
// samples and whether their periods say more than their number.
//
//	cpu-clock, task-clock  samples/count  cpu/nanoseconds
//	any other event alone  samples/count  EVENT/UNIT
//	one of several         EVENT.samples/count  EVENT/UNIT
//
// The second column is left out where every period is 1.
func finish(w *worker, st Stats) {
	set := w.set
	if len(set.Events) == 0 {
		if e := standIn(w); e != nil {
			w.grow(e.Index)
			w.column(e)
		}
	}
	for i, c := range w.columns {
		if c < 0 {
			continue
		}
		e := w.events.Events[i]
		samples, value := stacks.ValueType{Type: "samples", Unit: "count"}, valueType(&e.Attr, e.Name)
		if len(set.Events) > 1 {
			samples.Type = e.Name + ".samples"
			if value.Type == cpuTime {
				value.Type = e.Name
			}
		}
		set.Events[c].Values[0], set.Events[c].Values[1] = samples, value
		if w.stats.period[i] == w.stats.taken[i] && value.Unit != nanoseconds {
			set.DropLastColumn(c)
		}
	}
	if st.LastTime > st.FirstTime {
		set.DurationNanos = int64(st.LastTime - st.FirstTime)
	}
	setPeriod(w)
	set.SortMoments()
}

// standIn is the event of a Set without samples: the first that may have some,
// or nil if the recording has no event.
func standIn(w *worker) *perfdata.Event {
	var dummy *perfdata.Event
	for _, e := range w.events.Events {
		switch {
		case w.opts.Event != "" && w.opts.Event != e.Name:
		case !isDummy(&e.Attr):
			return e
		case dummy == nil:
			dummy = e
		}
	}
	return dummy
}

const (
	cpuTime     = "cpu"
	nanoseconds = "nanoseconds"
)

func isDummy(a *abi.Attr) bool { return a.Type == abi.TypeSoftware && a.Config == abi.SWDummy }

// valueType is what an event's periods add up to.
func valueType(a *abi.Attr, name string) stacks.ValueType {
	if a.Type == abi.TypeSoftware && (a.Config == abi.SWCPUClock || a.Config == abi.SWTaskClock) {
		return stacks.ValueType{Type: cpuTime, Unit: nanoseconds}
	}
	return stacks.ValueType{Type: name, Unit: "count"}
}

// setPeriod tells the sampling period of the only event: fixed, or for clocks
// what the frequency makes of it.
func setPeriod(w *worker) {
	if len(w.set.Events) != 1 {
		return
	}
	for i, c := range w.columns {
		if c < 0 {
			continue
		}
		e := w.events.Events[i]
		vt := valueType(&e.Attr, e.Name)
		switch {
		case e.Attr.Flags&abi.FlagFreq == 0:
			w.set.PeriodType, w.set.Period = vt, int64(e.Attr.SamplePeriod)
		case vt.Unit == nanoseconds && e.Attr.SamplePeriod > 0:
			w.set.PeriodType, w.set.Period = vt, int64(1e9/e.Attr.SamplePeriod)
		}
	}
}

// SetBuildIDs gives mappings without a build id that of the recording's list, by
// name, unless the list has several of that name.
func SetBuildIDs(set *stacks.Set, ids []perfdata.BuildID) {
	byName := make(map[string]string, len(ids))
	for _, id := range ids {
		h := hex.EncodeToString(id.ID)
		name := id.Name
		if strings.HasPrefix(name, "[kernel.kallsyms]") {
			name = "[kernel.kallsyms]"
		}
		if old, ok := byName[name]; ok && old != h {
			h = ""
		}
		byName[name] = h
	}
	for i := range set.Mappings {
		if m := &set.Mappings[i]; m.BuildID == "" {
			m.BuildID = byName[m.File]
		}
	}
}

// WeightColumn is the column of a Set's event that perf script prints as the
// weight of a sample, and FlameGraph's scripts add up: the period where it was
// recorded, but for tracepoints, whose samples count 1.
func WeightColumn(set *stacks.Set, event int, a *abi.Attr) int {
	return min(weightColumn(a), len(set.Events[event].Values)-1)
}

// weightColumn is WeightColumn where no column has been left out.
func weightColumn(a *abi.Attr) int {
	if a.Type == abi.TypeTracepoint || a.SampleType&abi.SamplePeriod == 0 {
		return 0
	}
	return 1
}
