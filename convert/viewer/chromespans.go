package viewer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"kprof/convert/stacks"
)

// spanSlices are the spans of a track, each a slice as long as the span (a complete event,
// X), with its labels and its stack as arguments. What begins within another and ends
// behind it is no slice of a thread but one of its own (asynchronous events, b and e).
func (c *chrome) spanSlices(k *track) {
	slices.SortStableFunc(k.items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(b.weight, a.weight))
	})
	var ends []uint64 // of those that are open, the outermost first
	for _, x := range k.items {
		end := x.time + uint64(max(x.weight, 0))
		for len(ends) > 0 && ends[len(ends)-1] <= x.time {
			ends = ends[:len(ends)-1]
		}
		if len(ends) > 0 && end > ends[len(ends)-1] {
			c.spans++
			c.spanSlice('b', x, x.time, -1)
			c.spanSlice('e', x, end, -1)
			continue
		}
		ends = append(ends, end)
		c.spanSlice('X', x, x.time, max(x.weight, 0))
	}
}

// ofThreads are labels that tracks have anyway.
var ofThreads = []string{"comm", "pid", "tid", "cpu"}

// spanSlice writes one event of a span; of a negative length none.
func (c *chrome) spanSlice(phase byte, x item, at uint64, length int64) {
	row := c.set.Sample(int(x.row))
	s, known := c.rows[x.row]
	if !known {
		s = c.spanText(&row)
		if len(c.rows) < maxInstantStacks {
			c.rows[x.row] = s
		}
	}
	b := append(append(c.buf[:0], ",\n{\"ph\":\""...), phase, '"', ',')
	b = c.time(append(append(b, c.ids...), `,"ts":`...), int64(at))
	if length >= 0 {
		b = c.time(append(b, `,"dur":`...), length)
	} else {
		b = strconv.AppendInt(append(b, `,"id":`...), int64(c.spans), 10)
	}
	b = append(append(append(b, `,"cat":`...), c.category...), `,"name":`...)
	b = append(b, s.name...)
	if phase != 'e' {
		b = append(append(b, `,"args":`...), s.args...)
	}
	c.buf = append(b, '}')
	c.w.Write(c.buf)
}

// wakes writes the flows (s and f) from tasks to those that they woke: from a slice of its own,
// as whoever wakes is on the CPU, to the time off the CPU that goes on until the task runs.
func (c *chrome) wakes() {
	for n, w := range c.tracks.wakes {
		from, to := c.tracks.place[c.tracks.of[w.By]], c.tracks.place[c.tracks.of[w.Woken]]
		at := int64(w.Time - c.tracks.start)
		event := func(phase string, track int, more string) {
			k := &c.tracks.list[track]
			b := append(append(append(c.buf[:0], ",\n{\"ph\":\""...), phase...), `",`...)
			b = c.time(append(append(b, k.ids(track)...), `,"ts":`...), at)
			c.buf = append(append(append(append(b, `,"cat":`...), c.category...), more...), '}')
			c.w.Write(c.buf)
		}
		woken := jsonText("wakes " + c.tracks.list[to].name())
		event("X", from, `,"dur":0.001,"name":`+string(woken))
		event("s", from, fmt.Sprintf(`,"id":%d,"name":"wakes"`, n+1))
		event("f", to, fmt.Sprintf(`,"id":%d,"bp":"e","name":"wakes"`, n+1))
	}
}

// spanText is what the spans of a row are called, and their arguments, as JSON.
type spanText struct{ name, args []byte }

// spanText makes the text of a row.
func (c *chrome) spanText(row *stacks.Sample) (s spanText) {
	name, fields := spanFields(c.set, row)
	s.args = append(s.args, '{')
	for _, f := range fields {
		s.args = append(append(append(s.args, jsonText(f.key)...), ':'), jsonText(f.value)...)
		s.args = append(s.args, ',')
	}
	s.args = append(append(s.args, `"stack":`...), c.stackText(row.Stack)...)
	s.args = append(s.args, '}')
	s.name = jsonText(name)
	return s
}

// spanField is what a span is labelled with, besides its thread.
type spanField struct{ key, value string }

// spanFields returns what the spans of a row are called, and their fields: the name is what
// the rule tells apart, such as the system call, or the state of a task off the CPU.
func spanFields(set *stacks.Set, row *stacks.Sample) (name string, fields []spanField) {
	for _, l := range set.Labels(row.Labels) {
		if slices.Contains(ofThreads, l.Key) {
			continue
		}
		value := l.Str
		if value == "" {
			value = strconv.FormatInt(l.Num, 10)
		}
		name = cmp.Or(name, value)
		fields = append(fields, spanField{l.Key, value})
	}
	return cmp.Or(name, set.Events[row.Event].Name), fields
}
