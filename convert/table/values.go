package table

import (
	"kprof/convert/span"
	"kprof/convert/stacks"
)

// ValuesOf are the distributions of the values that single samples have, by event and labels, of
// a Set that was made with times (stacks.Set.TimedSamples); nil where any sample has no time, and
// so is not by itself.
func ValuesOf(s *stacks.Set) []Durations {
	type key struct {
		event  int
		labels stacks.LabelsID
	}
	samples := int64(0)
	for i := range s.NumSamples() {
		samples += s.Sample(i).Values[0]
	}
	if samples != int64(len(s.TimedSamples)) {
		return nil
	}
	at := map[key]int{}
	var all []Durations
	for _, m := range s.TimedSamples {
		row := s.Sample(int(m.Sample))
		k := key{row.Event, row.Labels}
		i, ok := at[k]
		if !ok {
			i = len(all)
			at[k] = i
			all = append(all, Durations{Event: row.Event, Labels: row.Labels, Histogram: &span.Histogram{}})
		}
		if m.Value < 0 {
			all[i].Negative++
		} else {
			all[i].Add(uint64(m.Value))
		}
	}
	return all
}
