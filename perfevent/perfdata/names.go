package perfdata

import (
	"fmt"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
)

// nameEvents names the events that have no name yet.
func (r *Reader) nameEvents() {
	for _, e := range r.Events.Events {
		r.nameEvent(e)
	}
}

// renameEvents names the events again if something has come that may name them, or tell of their groups.
func (r *Reader) renameEvents() {
	if r.renamed && r.namings < maxNamings {
		r.namings++
		r.Events.groupCounters(r.Features.Groups)
		r.nameEvents()
	}
	r.renamed = false
}

// nameEvent names an event by, in this order: what an EVENT_UPDATE or an earlier
// call said, its event description, the tracing data, its attribute. The event types
// of old pipes, which perf passes over, name what an attribute cannot. It also says
// where its samples have the function that they are about.
func (r *Reader) nameEvent(e *Event) {
	e.Function = e.Attr.FunctionFields()
	if e.Attr.Type == abi.TypeTracepoint {
		e.Function = r.functions[e.Attr.Config]
	}
	if e.Name != "" && !r.provisional[e.Index] {
		return
	}
	name := r.describedName(e)
	if name == "" && e.Attr.Type == abi.TypeTracepoint {
		name = r.tracepoints[e.Attr.Config]
	}
	if t := e.Attr.Type; name == "" && (t == abi.TypeTracepoint || t > abi.TypeBreakpoint) {
		name = r.typeNames[e.Attr.Config]
	}
	if r.provisional == nil {
		r.provisional = map[int]bool{}
	}
	r.provisional[e.Index] = name == ""
	if name == "" {
		name = e.Attr.Name()
	}
	e.Name = name
}

// describedName looks the event up in the EVENT_DESC feature: by its place, as perf
// does (tools/perf/util/header.c, evlist__set_event_name), and where another event is
// there, by its first id.
func (r *Reader) describedName(e *Event) string {
	desc := r.Features.Events
	if e.Index < len(desc) {
		if d := &desc[e.Index].Attr; d.Type == e.Attr.Type && d.Config == e.Attr.Config {
			return desc[e.Index].Name
		}
	}
	if len(e.IDs) == 0 {
		return ""
	}
	if r.described == nil && len(desc) > 0 {
		r.described = map[uint64]string{}
		for _, d := range desc {
			for _, id := range d.IDs {
				r.described[id] = d.Name
			}
		}
	}
	return r.described[e.IDs[0]]
}

// readFormats takes the names of tracepoints out of the tracing data, or what
// simpleperf says instead, and where their fields for functions are.
func (r *Reader) readFormats() {
	for _, i := range r.Features.MetaInfo {
		if i.Key == "event_type_info" {
			r.tracepoints = simpleperfTracepoints(i.Value)
		}
	}
	if len(r.Features.TracingData) == 0 {
		return
	}
	t, err := DecodeTracingData(r.Features.TracingData)
	if err != nil {
		r.BadFeatures = append(r.BadFeatures, fmt.Errorf("%s: %w", FeatureTracingData, err))
	}
	if t == nil {
		return
	}
	r.tracepoints = make(map[uint64]string, len(t.Tracepoints))
	for _, tp := range t.Tracepoints {
		r.tracepoints[tp.ID] = tp.System + ":" + tp.Name
		if f, err := format.Parse(tp.Format, format.Machine{Order: t.Order, LongSize: int(t.LongSize)}); err == nil && f.Function() != (abi.FunctionFields{}) {
			if r.functions == nil {
				r.functions = map[uint64]abi.FunctionFields{}
			}
			r.functions[tp.ID] = f.Function()
		}
	}
}

// simpleperfTracepoints reads lines of "name,type,config".
func simpleperfTracepoints(text string) map[uint64]string {
	names := map[uint64]string{}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) != 3 || f[1] != strconv.Itoa(int(abi.TypeTracepoint)) {
			continue
		}
		if id, err := strconv.ParseUint(f[2], 10, 64); err == nil {
			names[id] = f[0]
		}
	}
	return names
}
