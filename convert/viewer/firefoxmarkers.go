package viewer

import (
	"slices"
	"strconv"
)

// The types of markers that kprof writes: instants, and spans.
const (
	instantMarker = "kprof"
	spanType      = "kprof-span"
)

// spanMarker is what the spans of a row have in common.
type spanMarker struct {
	name int    // index into strings
	data []byte // the fields as JSON, each behind a comma
}

// spanMarkers makes the markers of an event's rows. It returns their schema, which tells the
// Firefox Profiler which fields they have.
func (f *firefox) spanMarkers(event int) (schema object) {
	f.spans = make([]spanMarker, f.set.NumSamples())
	var keys []string
	for i := range f.spans {
		row := f.set.Sample(i)
		if row.Event != event {
			continue
		}
		m := &f.spans[i]
		name, fields := spanFields(f.set, &row)
		m.name = f.stringIndex(name)
		for _, x := range fields {
			if x.key == "type" || x.key == "cause" {
				continue // which are the format's own
			}
			m.data = append(append(append(m.data, ','), jsonText(x.key)...), ':')
			m.data = append(m.data, jsonText(x.value)...)
			if !slices.Contains(keys, x.key) {
				keys = append(keys, x.key)
			}
		}
	}
	slices.Sort(keys)
	fields := list{}
	for _, k := range keys {
		fields = append(fields, object{"key": k, "label": k, "format": "string"})
	}
	return object{"name": spanType, "display": list{"marker-chart", "marker-table"}, "fields": fields}
}

// markers writes the instants of a thread, or its spans, each with its stack.
func (f *firefox) markers(k *track) {
	n := len(k.items)
	if !f.instants && f.spans == nil {
		n = 0
	}
	f.raw(`,"markers":{"length":` + strconv.Itoa(n))
	f.column("data", n, func(b []byte, i int) []byte {
		b = append(b, `{"type":"`...)
		if f.spans != nil {
			b = append(append(append(b, spanType...), '"'), f.spans[k.items[i].row].data...)
		} else {
			b = append(append(b, instantMarker...), '"')
		}
		b = append(f.appendTime(append(b, `,"cause":{"time":`...), k.items[i].time), `,"stack":`...)
		return append(strconv.AppendInt(b, f.stack(k.items[i]), 10), "}}"...)
	})
	f.column("name", n, func(b []byte, i int) []byte {
		if f.spans != nil {
			return strconv.AppendInt(b, int64(f.spans[k.items[i].row].name), 10)
		}
		return strconv.AppendInt(b, int64(f.event), 10)
	})
	f.column("startTime", n, func(b []byte, i int) []byte { return f.appendTime(b, k.items[i].time) })
	end, phase := same("null"), same("0") // an instant
	if f.spans != nil {
		end = func(b []byte, i int) []byte {
			return f.appendTime(b, k.items[i].time+uint64(max(k.items[i].weight, 0)))
		}
		phase = same("1") // an interval
	}
	f.column("endTime", n, end)
	f.column("phase", n, phase)
	f.column("category", n, same("0"))
	f.raw("}")
}
