package convert

import (
	"fmt"
	"io"
	"slices"

	"kprof/convert/printable"
	"kprof/perfevent/abi"
)

// WriteStats writes the counts of a recording, by type of record and by event, in the
// form that perf report has for its statistics.
func (p *Profile) WriteStats(w io.Writer) error {
	if p.Events == nil {
		return fmt.Errorf("%s is not a recording: it has no records to count", p.Source)
	}
	var types []abi.RecordType
	var total uint64
	for t, n := range p.Stats.Records {
		types = append(types, t)
		total += n
	}
	slices.Sort(types)
	if _, err := fmt.Fprintf(w, "\nAggregated stats:\n%16s events: %10d\n", "TOTAL", total); err != nil {
		return err
	}
	for _, t := range types {
		n := p.Stats.Records[t]
		if _, err := fmt.Fprintf(w, "%16s events: %10d  (%4.1f%%)\n", t, n, 100*float64(n)/float64(total)); err != nil {
			return err
		}
	}
	for _, e := range p.Stats.Samples {
		if e.Samples+e.Lost == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s stats:\n", printable.Text(e.Name)); err != nil {
			return err
		}
		for _, c := range []struct {
			what string
			n    uint64
		}{{"SAMPLE", e.Samples}, {"LOST_SAMPLES", e.Lost}} {
			if c.n == 0 {
				continue
			}
			if _, err := fmt.Fprintf(w, "%16s events: %10d\n", c.what, c.n); err != nil {
				return err
			}
		}
	}
	return nil
}
