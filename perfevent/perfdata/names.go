package perfdata

import (
	"fmt"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
)

// nameEvents names the events that have no name yet.
func (r *Reader) nameEvents() {
	for _, e := range r.Events.Events {
		r.nameEvent(e)
	}
}

// renameEvents names the events again if something has come that may name them.
func (r *Reader) renameEvents() {
	if r.renamed && r.namings < maxNamings {
		r.namings++
		r.nameEvents()
	}
	r.renamed = false
}

// nameEvent names an event by, in this order: what an EVENT_UPDATE or an earlier
// call said, the event description with one of its ids, the tracing data, the
// event types of old pipes, its attribute.
func (r *Reader) nameEvent(e *Event) {
	if e.Name != "" && !r.provisional[e.Index] {
		return
	}
	name := r.describedName(e)
	if name == "" && e.Attr.Type == abi.TypeTracepoint {
		name = r.tracepoints[e.Attr.Config]
	}
	if name == "" {
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

// describedName looks the event up in the EVENT_DESC feature: by its first id,
// and where it has none, by its place.
func (r *Reader) describedName(e *Event) string {
	desc := r.Features.Events
	if len(e.IDs) == 0 {
		if e.Index < len(desc) && desc[e.Index].Attr.Config == e.Attr.Config {
			return desc[e.Index].Name
		}
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
// simpleperf says instead.
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
