package viewer

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"kprof/convert/intern"
	"kprof/convert/stacks"
)

// firefoxVersion is the version of the processed profile format that Firefox
// writes, one that the Firefox Profiler upgrades to its own. See
// docs-developer/CHANGELOG-formats.md and src/types/profile.ts of
// github.com/firefox-devtools/profiler.
const firefoxVersion = 60

// Firefox writes the samples of one event for the Firefox Profiler
// (profiler.firefox.com), in its processed profile format: threads with their
// samples in time, stacks with categories by the kind of code. A sample lasts to the
// next one there: so after each of an event that has Instants comes one without a
// stack, and each is a marker of the thread too. Spans are markers as long as they were, with
// their labels as fields and the stack at which they began. Without times samples follow each
// other as long as they are heavy, the heaviest stacks first.
//
// Memory beyond the Set is that of its stacks as a tree, and 24 bytes a sample.
func Firefox(w io.Writer, s *stacks.Set, o Options) error {
	if err := s.CheckSum(o.Event, o.Column); err != nil {
		return fmt.Errorf("write firefox: %w", err)
	}
	frames := newFrameTable(s)
	tree := newStackTree(s, frames)
	f := firefox{
		jsonWriter: newJSONWriter(w), set: s, frames: frames, tree: tree,
		threads: newTracks(s, o.Event, o.Column, nil, func() *stackTree { return tree }),
		unit:    s.Events[o.Event].Values[o.Column].Unit,
	}
	f.instants = f.threads.timed && s.Events[o.Event].Instants
	f.cpuTime = f.threads.timed && !f.instants && isCPUTime(s.Events[o.Event].Values[o.Column])
	f.event = f.stringIndex(s.Events[o.Event].Name)
	f.raw(`{"meta":`)
	f.value(f.meta(&o))
	f.raw(`,"libs":`)
	f.value(f.libs())
	f.raw(`,"shared":{`)
	f.shared()
	f.raw(`},"threads":[`)
	for i := range f.threads.list {
		if i > 0 {
			f.raw(",")
		}
		f.thread(&f.threads.list[i])
	}
	f.raw("]}\n")
	return f.finish("firefox")
}

// isCPUTime reports whether values are time on a CPU, and not of waiting, or of calls: those of perf's
// clocks have their name, where there are several events.
func isCPUTime(v stacks.ValueType) bool {
	clock, _, _ := strings.Cut(v.Type, ":")
	return v.Unit == "nanoseconds" && slices.Contains([]string{"cpu", "cpu-clock", "task-clock"}, clock)
}

type firefox struct {
	*jsonWriter
	set     *stacks.Set
	frames  *frameTable
	tree    *stackTree
	threads *tracks
	unit    string

	instants bool         // samples have no length
	cpuTime  bool         // weights are how long threads ran
	event    int          // index of its name into strings
	spans    []spanMarker // of spans, by row; nil for what is none

	strings  intern.Strings
	lib      []int // by mapping, index into libs or -1
	resource []int // by lib, index of its name into strings
}

// categories of functions, by kind. The Firefox Profiler wants one that is grey,
// for what has none.
var categories = [...]struct{ Name, Color string }{
	stacks.KindUnknown:    {"Other", "grey"},
	stacks.KindKernel:     {"Kernel", "orange"},
	stacks.KindModule:     {"Kernel module", "red"},
	stacks.KindBPF:        {"BPF", "purple"},
	stacks.KindUser:       {"User", "yellow"},
	stacks.KindVDSO:       {"vDSO", "lightblue"},
	stacks.KindAnon:       {"JIT", "green"},
	stacks.KindGuest:      {"Guest", "blue"},
	stacks.KindHypervisor: {"Hypervisor", "magenta"},
}

type (
	object = map[string]any
	list   = []any
)

// meta describes the profile. Times are ms.
func (f *firefox) meta(o *Options) object {
	var kinds list
	for _, c := range categories {
		kinds = append(kinds, object{"name": c.Name, "color": c.Color, "subcategories": list{"Other"}})
	}
	m := object{
		"preprocessedProfileVersion": firefoxVersion,
		"version":                    32, // of Firefox's own format, when the other had firefoxVersion
		"product":                    o.name(f.set),
		"importedFrom":               "kprof",
		"interval":                   float64(f.interval()) / 1e6,
		"startTime":                  f.set.TimeNanos / 1e6,
		"processType":                0,
		"stackwalk":                  1,
		"symbolicated":               true,
		"usesOnlyOneStackType":       true,
		"sourceCodeIsNotOnSearchfox": true,
		"keepProfileThreadOrder":     true,
		"categories":                 kinds,
		"markerSchema":               list{},
		"sampleUnits":                object{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
	}
	if f.instants {
		m["markerSchema"] = list{object{"name": instantMarker, "display": list{"marker-chart", "marker-table"}, "fields": list{}}}
	}
	if f.threads.timed && f.set.Events[o.Event].IsSpans() {
		m["markerSchema"] = list{f.spanMarkers(o.Event)}
	}
	if entries := f.about(m); len(entries) > 0 {
		m["extra"] = list{object{"label": "Recording", "entries": entries}}
	}
	return m
}

// about makes lines of what the Set's comments say, and puts what the format has
// a place for there.
func (f *firefox) about(m object) (entries list) {
	for _, c := range f.set.Comments {
		what, value, ok := strings.Cut(c, ": ")
		if !ok {
			what, value = "comment", c
		}
		switch what {
		case "command":
			m["arguments"] = value
		case "cpu":
			m["CPUName"] = value
		case "kernel":
			m["oscpu"], m["platform"] = "Linux "+value, "Linux"
		}
		entries = append(entries, object{"label": what, "format": "string", "value": value})
	}
	return entries
}

// interval is the time between two samples, in ns.
func (f *firefox) interval() uint64 {
	if f.set.PeriodType.Unit == "nanoseconds" && f.set.Period > 0 {
		return uint64(f.set.Period)
	}
	if f.instants {
		return 1e3 // the least time that is seen
	}
	if n := f.threads.interval(); n > 0 && f.threads.timed {
		return n
	}
	return 1e6
}

// libs are the mappings, each file once.
func (f *firefox) libs() list {
	libs := list{}
	f.lib = make([]int, len(f.set.Mappings))
	for i, first := range distinctMappings(f.set) {
		if int(first) != i {
			f.lib[i] = f.lib[first]
			continue
		}
		m := &f.set.Mappings[i]
		name := m.File[strings.LastIndexByte(m.File, '/')+1:]
		if name == "" {
			f.lib[i] = -1
			continue
		}
		var code any
		if m.BuildID != "" {
			code = m.BuildID
		}
		f.lib[i] = len(libs)
		f.resource = append(f.resource, f.stringIndex(name))
		libs = append(libs, object{
			"arch": "", "name": name, "path": m.File, "debugName": name, "debugPath": m.File,
			"breakpadId": "", "codeId": code,
		})
	}
	return libs
}

// shared writes the tables that all threads refer to.
func (f *firefox) shared() {
	t, n := f.frames, len(f.tree.parent)
	f.raw(`"stackTable":{"length":` + strconv.Itoa(n))
	f.column("frame", n, func(b []byte, i int) []byte { return strconv.AppendUint(b, uint64(f.tree.frame[i]), 10) })
	f.column("prefix", n, func(b []byte, i int) []byte {
		return appendOrNull(b, int64(f.tree.parent[i]), f.tree.parent[i] != none)
	})

	n = len(t.frames)
	kind := func(b []byte, i int) []byte {
		return strconv.AppendUint(b, uint64(t.functions[t.frames[i].function].kind), 10)
	}
	f.raw(`},"frameTable":{"length":` + strconv.Itoa(n))
	f.column("func", n, func(b []byte, i int) []byte { return strconv.AppendUint(b, uint64(t.frames[i].function), 10) })
	f.column("category", n, kind)
	f.column("line", n, func(b []byte, i int) []byte { return appendOrNull(b, t.frames[i].line, t.frames[i].line > 0) })
	f.column("address", n, same("-1"))
	for _, zero := range []string{"subcategory", "inlineDepth"} {
		f.column(zero, n, same("0"))
	}
	for _, unused := range []string{"nativeSymbol", "innerWindowID", "column"} {
		f.column(unused, n, same("null"))
	}

	n = len(t.functions)
	var sources intern.Strings
	f.raw(`},"funcTable":{"length":` + strconv.Itoa(n))
	f.column("name", n, func(b []byte, i int) []byte {
		return strconv.AppendInt(b, int64(f.stringIndex(t.functions[i].name)), 10)
	})
	f.column("resource", n, func(b []byte, i int) []byte {
		lib := -1
		if m := t.functions[i].mapping; m >= 0 {
			lib = f.lib[m]
		}
		return strconv.AppendInt(b, int64(lib), 10)
	})
	f.column("source", n, func(b []byte, i int) []byte {
		file := t.functions[i].source
		if file == "" {
			return append(b, "null"...)
		}
		return strconv.AppendInt(b, int64(sources.ID(file)), 10)
	})
	f.column("lineNumber", n, func(b []byte, i int) []byte {
		return appendOrNull(b, t.functions[i].startLine, t.functions[i].startLine > 0)
	})
	f.column("columnNumber", n, same("null"))
	f.column("isJS", n, same("false"))
	f.column("relevantForJS", n, same("false"))

	n = len(f.resource)
	f.raw(`},"resourceTable":{"length":` + strconv.Itoa(n))
	f.column("name", n, func(b []byte, i int) []byte { return strconv.AppendInt(b, int64(f.resource[i]), 10) })
	f.column("lib", n, func(b []byte, i int) []byte { return strconv.AppendInt(b, int64(i), 10) })
	f.column("type", n, same("1")) // a library
	f.column("host", n, same("null"))

	n = len(sources.All)
	f.raw(`},"sources":{"length":` + strconv.Itoa(n))
	f.column("id", n, same("null"))
	f.column("filename", n, func(b []byte, i int) []byte { return strconv.AppendInt(b, int64(f.stringIndex(sources.All[i])), 10) })
	f.raw(`},"nativeSymbols":{"length":0,"libIndex":[],"address":[],"name":[],"functionSize":[]}`)
	f.column("stringArray", len(f.strings.All), func(b []byte, i int) []byte { return append(b, jsonText(f.strings.All[i])...) })
}

// stringIndex is the index of a text into strings.
func (f *firefox) stringIndex(s string) int { return int(f.strings.ID(s)) }

func (f *firefox) thread(k *track) {
	f.raw(`{"name":`)
	f.text(k.title())
	f.raw(`,"processName":`)
	f.text(k.title())
	f.raw(`,"pid":`)
	if k.pid == 0 { // several may be without
		f.text(k.title())
	} else {
		f.raw(`"` + strconv.FormatInt(k.pid, 10) + `"`)
	}
	f.raw(fmt.Sprintf(`,"tid":%d,"isMainThread":%t,"processType":"default"`, cmp.Or(k.tid, k.pid), k.isMain()))
	f.raw(`,"processStartupTime":0,"processShutdownTime":null,"registerTime":0,"unregisterTime":null,"pausedRanges":[]`)
	f.markers(k)

	n, each := len(k.items), 1
	if f.instants {
		n, each = 2*n, 2 // behind each one that ends it
	}
	ends := func(i int) bool { return i%each == 1 }
	f.raw(`,"samples":{"length":` + strconv.Itoa(n))
	f.column("stack", n, func(b []byte, i int) []byte {
		return appendOrNull(b, f.stack(k.items[i/each]), !ends(i))
	})
	f.column("time", n, func(b []byte, i int) []byte {
		t := k.items[i/each].time
		if ends(i) {
			if t++; i/each+1 < len(k.items) {
				t = min(t, k.items[i/each+1].time)
			}
		}
		return f.appendTime(b, t)
	})
	kind, weight := f.weights()
	f.raw(`,"weightType":"` + kind + `"`)
	f.column("weight", n, func(b []byte, i int) []byte {
		if ends(i) {
			return append(b, '0')
		}
		return weight(b, k.items[i/each].weight)
	})
	if f.cpuTime {
		f.column("threadCPUDelta", n, func(b []byte, i int) []byte { return strconv.AppendInt(b, k.items[i].weight, 10) })
	}
	f.raw("}}")
}

// stack is the stack of an item, as an index into the table.
func (f *firefox) stack(x item) int64 {
	return int64(f.tree.leaf[f.set.Sample(int(x.row)).Stack])
}

// appendTime appends a time of an item in ms. Those of rows are weights: an hour
// of samples must not look like a year.
func (f *firefox) appendTime(b []byte, t uint64) []byte {
	if !f.threads.timed {
		_, weight := f.weights()
		return weight(b, int64(t))
	}
	return appendMillionths(b, int64(t))
}

// weights returns the kind of weights that the format has for the unit, and what
// appends one.
func (f *firefox) weights() (kind string, appendTo func(b []byte, w int64) []byte) {
	if ms := toMilliseconds[f.unit]; ms != nil {
		return "tracing-ms", ms
	}
	if f.unit == "bytes" {
		return "bytes", appendWhole
	}
	return "samples", appendWhole
}

func appendOrNull(b []byte, n int64, known bool) []byte {
	if !known {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, n, 10)
}
