package stacks

import (
	"encoding/binary"
	"slices"
)

// Merge adds the samples of src to s. Events are matched by name and columns,
// mappings, functions, locations and label lists by what they hold; what s does
// not have is appended. Comments that s lacks are appended, durations added,
// and the earlier start time is kept. TimedSamples are sorted by time together,
// whether or not the two were recorded by the same clock. Of what describes a whole profile (period,
// default type, URL, frames to drop or keep) s's own stays.
//
// Locations of s that are equal stay apart; those of src join the first equal one.
func (s *Set) Merge(src *Set) {
	m := merger{dst: s, src: src}
	m.events()
	m.mappings()
	m.locations()
	m.samples()
	for _, c := range src.Comments {
		if !slices.Contains(s.Comments, c) {
			s.Comments = append(s.Comments, c)
		}
	}
	if s.TimeNanos == 0 || src.TimeNanos != 0 && src.TimeNanos < s.TimeNanos {
		s.TimeNanos = src.TimeNanos
	}
	s.DurationNanos += src.DurationNanos
}

// merger holds, for each index of src, the one of dst.
type merger struct {
	dst, src *Set
	event    []int
	mapping  []int32
	location []uint32
}

func (m *merger) events() {
	for _, e := range m.src.Events {
		i := slices.IndexFunc(m.dst.Events, func(d Event) bool {
			return d.Name == e.Name && slices.Equal(d.Values, e.Values)
		})
		if i < 0 {
			i = m.dst.AddEvent(e)
		}
		m.event = append(m.event, i)
	}
}

func (m *merger) mappings() {
	have := make(map[Mapping]int32, len(m.dst.Mappings))
	for i, x := range m.dst.Mappings {
		if _, ok := have[x]; !ok {
			have[x] = int32(i)
		}
	}
	for _, x := range m.src.Mappings {
		i, ok := have[x]
		if !ok {
			i = m.dst.AddMapping(x)
			have[x] = i
		}
		m.mapping = append(m.mapping, i)
	}
}

func (m *merger) locations() {
	var key []byte
	have := make(map[string]uint32, len(m.dst.Locations))
	for i := range m.dst.Locations {
		l := &m.dst.Locations[i]
		key = appendLocationKey(key[:0], l, m.dst.Lines(uint32(i)))
		if _, ok := have[string(key)]; !ok {
			have[string(key)] = uint32(i)
		}
	}
	var lines []Line
	for i := range m.src.Locations {
		l := m.src.Locations[i]
		if l.Mapping >= 0 {
			l.Mapping = m.mapping[l.Mapping]
		}
		lines = lines[:0]
		for _, x := range m.src.Lines(uint32(i)) {
			x.Function = m.dst.AddFunction(m.src.Functions[x.Function])
			lines = append(lines, x)
		}
		key = appendLocationKey(key[:0], &l, lines)
		id, ok := have[string(key)]
		if !ok {
			id = m.dst.AddLocation(l.Mapping, l.Addr, l.Kind)
			m.dst.SetLines(id, lines...)
			have[string(key)] = id
		}
		m.location = append(m.location, id)
	}
}

// appendLocationKey appends what tells two locations of one Set apart.
func appendLocationKey(b []byte, l *Location, lines []Line) []byte {
	b = append(b, byte(l.Kind))
	b = binary.AppendVarint(b, int64(l.Mapping))
	b = binary.AppendUvarint(b, l.Addr)
	for _, x := range lines {
		b = binary.AppendUvarint(b, uint64(x.Function))
		b = binary.AppendVarint(b, x.Line)
		b = binary.AppendVarint(b, x.Column)
	}
	return b
}

func (m *merger) samples() {
	labels := make([]LabelsID, m.src.NumLabels())
	for i := range labels {
		labels[i] = m.dst.InternLabels(m.src.Labels(LabelsID(i)))
	}
	stack := make([]StackID, m.src.NumStacks())
	var chain []uint32
	for i := range stack {
		chain = chain[:0]
		for _, l := range m.src.Stack(StackID(i)) {
			chain = append(chain, m.location[l])
		}
		stack[i] = m.dst.Intern(chain)
	}
	row := make([]uint32, m.src.NumSamples())
	for i := range row {
		x := m.src.Sample(i)
		row[i] = uint32(m.dst.Add(m.event[x.Event], stack[x.Stack], labels[x.Labels], x.Values...))
	}
	if len(m.src.TimedSamples) == 0 {
		return
	}
	for _, x := range m.src.TimedSamples {
		m.dst.AddTimedSample(TimedSample{x.Time, row[x.Sample], x.Value})
	}
	m.dst.SortTimedSamples()
}
