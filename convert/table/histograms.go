package table

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"

	"kprof/convert/printable"
	"kprof/convert/span"
	"kprof/convert/stacks"
)

// ErrNoDurations says that the values of an event are not times of single spans.
var ErrNoDurations = errors.New("its values are not times between events, which have a distribution")

// barWidth is how many characters the longest bar of a histogram has.
const barWidth = 50

// Histograms writes the distribution of the times of an event, or of each group of samples,
// as a histogram, a line for each power of two:
//
//	128ns … 256ns       41  20.50%  |@@@@@@@@@@@@                      |
//
// Groups come in the order of Top. An event without Durations is ErrNoDurations.
func Histograms(w io.Writer, s *stacks.Set, o TopOptions) error {
	of := o.distributions(s)
	if of == nil {
		return ErrNoDurations
	}
	b := bufio.NewWriter(w)
	t := topTable{w: b, o: o, unit: s.Events[o.Event].Values[o.Column].Unit}
	if o.By == "" {
		var err error
		if _, t.total, err = Costs(s, o); err != nil {
			return err
		}
		t.header(s, fmt.Sprintf(" in %s", printable.Count(of[""].Count, "span")))
		t.histogram(of[""])
	} else {
		costs, total, err := Costs(s, o)
		if err != nil {
			return err
		}
		t.total = total
		t.header(s, fmt.Sprintf(" in %s by %s", printable.Count(len(costs), "group"), o.By))
		for i, c := range costs {
			h := of[c.Name]
			if h == nil || o.Limit > 0 && i >= o.Limit {
				continue
			}
			if i > 0 {
				t.line("")
			}
			t.line(fmt.Sprintf("%s: %s, %s, %s", c.Name, t.value(c.Self), t.share(c.Self), printable.Count(h.Count, "span")))
			t.histogram(h)
		}
	}
	return flush(b, "histograms")
}

// histogram writes the lines of one.
func (t *topTable) histogram(h *span.Histogram) {
	var counts [65]uint64 // by bits.Len64
	most, first, last := uint64(0), len(counts), 0
	for _, b := range h.Buckets() { // none of which reaches over a power of two
		n := bits.Len64(b.From)
		counts[n] += b.Count
		most, first, last = max(most, counts[n]), min(first, n), max(last, n)
	}
	edge := func(n int) string { // the lowest time of n bits
		switch {
		case n == 0:
			return "0"
		case n > 63:
			return "…"
		}
		return printable.Value(1<<(n-1), "nanoseconds")
	}
	for n := first; n <= last; n++ {
		from, to := edge(n), edge(n+1)
		bar := strings.Repeat("@", int(float64(counts[n])/float64(most)*barWidth+0.5))
		t.line(fmt.Sprintf("%s %s %9d %6.2f%%  |%-*s|", right(from, 10), "… "+left(to, 10), counts[n], 100*float64(counts[n])/float64(h.Count), barWidth, bar))
	}
}

// right and left fill text up to a number of columns.
func right(s string, n int) string {
	return strings.Repeat(" ", max(n-printable.Width(s), 0)) + s
}

func left(s string, n int) string {
	return s + strings.Repeat(" ", max(n-printable.Width(s), 0))
}
