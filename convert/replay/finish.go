package replay

import (
	"encoding/hex"
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/procfs"
)

// finish names the events and columns of the Set, now that it is known which have
// samples and whether their periods say more than their number.
//
//	cpu-clock, task-clock  samples/count  cpu/nanoseconds
//	any other event alone  samples/count  EVENT/UNIT
//	one of several         EVENT.samples/count  EVENT/UNIT
//	with Options.Value     samples/count  VALUE/UNIT, EVENT.samples/count  EVENT.VALUE/UNIT
//
// The second column is left out where every period is 1.
//
// The event with the most samples is the one that pprof shows first.
func finish(r *rows, st *Stats) error {
	if r.pairing != nil {
		if err := r.pairing.finish(st); err != nil {
			return err
		}
	}
	if len(r.set.Events) == 0 {
		if e := standIn(r); e != nil {
			r.grow(e.Index)
			r.column(e)
		}
	}
	if r.fields.err != nil {
		return r.fields.err
	}
	first, err := r.mergeChoices(st)
	if err != nil {
		return err
	}
	set := r.set
	taken, period := make([]uint64, len(first)), make([]uint64, len(first))
	for i, c := range r.columns {
		if c >= 0 {
			taken[c] += r.stats.taken[i]
			period[c] += r.stats.period[i]
		}
	}
	for c, i := range first {
		if i < 0 { // of pairs
			if len(set.Events) > 1 {
				set.Events[c].Values = withName(&set.Events[c])
			}
			continue
		}
		e, name := r.events.Events[i], set.Events[c].Name
		samples, value := stacks.ValueType{Type: "samples", Unit: "count"}, valueType(&e.Attr, name)
		if len(set.Events) > 1 {
			samples.Type = name + stacks.SamplesOf
			if value.Type == cpuTime {
				value.Type = name
			}
		}
		if r.measuresTime(e) {
			value.Unit = nanoseconds
			set.Events[c].Instants = false
		}
		if r.opts.Value != nil {
			if value = r.fields.valueType(e); len(set.Events) > 1 {
				value.Type = name + "." + value.Type
			}
		}
		set.Events[c].Values[0], set.Events[c].Values[1] = samples, value
		if r.opts.Value == nil && period[c] == taken[c] && value.Unit != nanoseconds {
			set.DropLastColumn(c)
		}
	}
	if len(set.Events) > 1 || r.pairing != nil {
		most := set.Most()
		column := len(set.Events[most].Values) - 1
		if i := first[most]; i >= 0 && r.opts.Value == nil {
			column = WeightColumn(set, most, &r.events.Events[i].Attr)
		}
		set.DefaultType = set.Events[most].Values[column].Type
	}
	if st.LastTime > st.FirstTime {
		set.DurationNanos = int64(st.LastTime - st.FirstTime)
	}
	setPeriod(r)
	r.countMerged(st)
	set.SortTimedSamples()
	set.SumBlocks()
	return nil
}

// withName are the columns of an event with its name before those that do not have it.
func withName(e *stacks.Event) []stacks.ValueType {
	values := slices.Clone(e.Values)
	for i := range values {
		if values[i].Type != e.Name {
			values[i].Type = e.Name + "." + values[i].Type
		}
	}
	return values
}

// standIn is the event of a Set without samples: the first that may have some,
// or nil if the recording has no event.
func standIn(r *rows) *perfdata.Event {
	var dummy *perfdata.Event
	for _, e := range r.events.Events {
		switch {
		case !r.naming.takes(r.events.Events, r.opts.Events, e.Index):
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
	if isClock(a) {
		return stacks.ValueType{Type: cpuTime, Unit: nanoseconds}
	}
	return stacks.ValueType{Type: name, Unit: "count"}
}

// setPeriod tells the sampling period of the only event: fixed, or for clocks
// what the frequency makes of it.
func setPeriod(r *rows) {
	if len(r.set.Events) != 1 || r.opts.Value != nil || r.pairing != nil {
		return
	}
	for i, c := range r.columns {
		if c < 0 {
			continue
		}
		e := r.events.Events[i]
		vt := valueType(&e.Attr, r.set.Events[0].Name)
		switch {
		case r.measuresTime(e): // has no period
		case e.Attr.Flags&abi.FlagFreq == 0:
			r.set.PeriodType, r.set.Period = vt, int64(e.Attr.SamplePeriod)
		case vt.Unit == nanoseconds && e.Attr.SamplePeriod > 0:
			r.set.PeriodType, r.set.Period = vt, int64(1e9/e.Attr.SamplePeriod)
		}
	}
}

// KernelImage is the mapping of the recorded kernel as of now, with its build id where the
// recording tells it.
func KernelImage(tl *timeline.Timeline, ids []perfdata.BuildID) stacks.Mapping {
	a := tl.KernelImage()
	if a == nil {
		return stacks.Mapping{Kind: stacks.KindKernel}
	}
	one := stacks.Set{Mappings: []stacks.Mapping{tl.Mapping(a)}}
	SetBuildIDs(&one, ids)
	return one.Mappings[0]
}

// maxBuilds bounds how many builds of one file are told apart: as many containers may have
// libraries of the same name.
const maxBuilds = 1 << 10

// SetBuildIDs gives mappings without a build id that of the recording's list, by
// name. Where the list has several of that name, files get all of them as Builds.
//
// The kernel is in the list by the path of its vmlinux where perf found one (tools/perf/util/build-id.c,
// machine__write_buildid_table): then it is what has the mode of the kernel and is no module.
func SetBuildIDs(set *stacks.Set, ids []perfdata.BuildID) {
	const kernel = "[kernel.kallsyms]"
	byName := make(map[string][]string, len(ids))
	var images []string // build ids of what may be a vmlinux
	for _, b := range ids {
		name, id := b.Name, hex.EncodeToString(b.ID)
		switch {
		case strings.HasPrefix(name, kernel):
			name = kernel
		case b.Misc.CPUMode() == abi.MiscKernel && procfs.ModuleName(name) == "":
			images = append(images, id)
		}
		byName[name] = append(byName[name], id)
	}
	if len(byName[kernel]) == 0 {
		byName[kernel] = images
	}
	builds := map[string]string{} // by name, where they are several
	for name, ids := range byName {
		slices.Sort(ids)
		if ids = slices.Compact(ids); len(ids) > 1 {
			builds[name] = strings.Join(ids[:min(len(ids), maxBuilds)], " ")
		}
	}
	for i := range set.Mappings {
		m := &set.Mappings[i]
		if m.BuildID != "" {
			continue
		}
		switch several, ids := builds[m.File], byName[m.File]; {
		case several != "" && m.Kind == stacks.KindUser:
			m.Builds = several
		case several == "" && len(ids) > 0:
			m.BuildID = ids[0]
		}
	}
}

// WeightColumn is the column of a Set's event that perf script prints as the
// weight of a sample, and FlameGraph's scripts add up: the period where it was
// recorded, but for tracepoints, whose samples count 1, unless simpleperf measured
// the time until the thread went on.
func WeightColumn(set *stacks.Set, event int, a *abi.Attr) int {
	last := len(set.Events[event].Values) - 1
	if a.Type == abi.TypeTracepoint && set.Events[event].Values[last].Unit == nanoseconds {
		return last // see measuresTime
	}
	return min(weightColumn(a), last)
}

// weightColumn is WeightColumn where no column has been left out.
func weightColumn(a *abi.Attr) int {
	if a.Type == abi.TypeTracepoint || a.SampleType&abi.SamplePeriod == 0 {
		return 0
	}
	return 1
}
