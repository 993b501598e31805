// Package viewer writes a Set as the files that other viewers open: speedscope, the
// Firefox Profiler, Perfetto.
package viewer

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"kprof/convert/stacks"
)

// Options say what of a Set is written for another viewer.
type Options struct {
	// Event is an index into Set.Events, which are never merged, Column which of its values is a
	// sample's weight.
	Event, Column int
	// Name is what the viewer calls the profile. Default: the event's name.
	Name string
}

func (o *Options) name(s *stacks.Set) string { return cmp.Or(o.Name, s.Events[o.Event].Name) }

// Speedscope writes the samples of one event as a file of speedscope
// (https://www.speedscope.app/file-format-schema.json): first a profile of all,
// the heaviest stacks first, each below the comm of its thread; then, where the
// Set has the times of samples, one profile a thread with its samples in order.
// The width of a sample is its weight, and time without samples has none. What is below 0, as in
// a difference, is left out (see Set.BelowZero): speedscope opens no file that has any.
func Speedscope(w io.Writer, s *stacks.Set, o Options) error {
	if err := s.CheckSum(o.Event, o.Column); err != nil {
		return fmt.Errorf("write speedscope: %w", err)
	}
	sp := speedscope{
		jsonWriter: newJSONWriter(w), set: s, frames: newFrameTable(s),
		unit: speedscopeUnit(s.Events[o.Event].Values[o.Column].Unit),
	}
	sp.raw(`{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"kprof","activeProfileIndex":0,"name":`)
	sp.text(o.name(s))
	sp.raw(`,"shared":{"frames":`)
	sp.writeFrames()
	sp.raw(`},"profiles":[`)
	sp.all(&o)
	if s.TimedSamples != nil {
		threads := newTracks(s, o.Event, o.Column, nil, nil)
		for i := range threads.list {
			k := &threads.list[i]
			if k.dropBelowZero(); len(k.items) > 0 {
				sp.raw(",")
				sp.profile(k.name(), k)
			}
		}
	}
	sp.raw("]}\n")
	return sp.finish("speedscope")
}

// speedscopeUnit is one of those that the format knows.
func speedscopeUnit(unit string) string {
	switch unit {
	case "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes":
		return unit
	}
	return "none"
}

type speedscope struct {
	*jsonWriter
	set    *stacks.Set
	frames *frameTable
	unit   string

	comm []uint32 // by LabelsID, the frame of its comm or none, while all are written
	path []uint32 // scratch
}

// writeFrames writes the functions, and behind them the comms.
func (sp *speedscope) writeFrames() {
	t := sp.frames
	comms, names := map[string]uint32{}, []string(nil)
	sp.comm = make([]uint32, sp.set.NumLabels())
	for i := range sp.comm {
		l, ok := sp.set.Label(stacks.LabelsID(i), "comm")
		if !ok {
			sp.comm[i] = none
			continue
		}
		if _, ok := comms[l.Str]; !ok {
			comms[l.Str] = uint32(len(t.functions) + len(names))
			names = append(names, l.Str)
		}
		sp.comm[i] = comms[l.Str]
	}
	sp.array(len(t.functions)+len(names), func(b []byte, i int) []byte {
		b = append(b, `{"name":`...)
		if i >= len(t.functions) {
			return append(append(b, jsonText(names[i-len(t.functions)])...), '}')
		}
		f := &t.functions[i]
		b = append(b, jsonText(f.name)...)
		if file := t.file(f); file != "" {
			b = append(append(b, `,"file":`...), jsonText(file)...)
		}
		if f.startLine > 0 {
			b = strconv.AppendInt(append(b, `,"line":`...), f.startLine, 10)
		}
		return append(b, '}')
	})
}

// all writes one profile of all rows.
func (sp *speedscope) all(o *Options) {
	var k track
	for _, row := range leftHeavyRows(sp.set, o.Event, o.Column, newStackTree(sp.set, sp.frames)) {
		k.addRow(row, sp.set.Sample(int(row)).Values[o.Column])
	}
	k.dropBelowZero()
	sp.profile(sp.set.Events[o.Event].Name, &k)
	sp.comm = nil
}

func (sp *speedscope) profile(name string, k *track) {
	sp.raw(`{"type":"sampled","name":`)
	sp.text(name)
	sp.raw(`,"unit":"` + sp.unit + `","startValue":0,"endValue":` + strconv.FormatInt(k.weight, 10))
	sp.column("samples", len(k.items), func(b []byte, i int) []byte {
		x := sp.set.Sample(int(k.items[i].row))
		sp.path = sp.path[:0]
		if sp.comm != nil && sp.comm[x.Labels] != none {
			sp.path = append(sp.path, sp.comm[x.Labels])
		}
		sp.path = sp.frames.appendFunctions(sp.path, x.Stack)
		b = append(b, '[')
		for n, id := range sp.path {
			if n > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendUint(b, uint64(id), 10)
		}
		return append(b, ']')
	})
	sp.column("weights", len(k.items), func(b []byte, i int) []byte {
		return strconv.AppendInt(b, k.items[i].weight, 10)
	})
	sp.raw("}")
}
