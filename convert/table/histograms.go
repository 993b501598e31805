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

// Histograms writes the distribution of the times of an event, or of other values of its samples
// (ValuesOf), or of each group of samples, as a histogram, a line for each power of two:
//
//	128ns … 256ns       41  20.50%  |@@@@@@@@@@@@                      |
//
// Values below 0 are one line, before the others. Groups come in the order of Top. An event without Durations is ErrNoDurations.
func Histograms(w io.Writer, s *stacks.Set, o TopOptions) error {
	of, negative := o.signedDistributions(s)
	if of == nil {
		return ErrNoDurations
	}
	what := "span"
	if o.OfValues {
		what = "sample"
	}
	b := bufio.NewWriter(w)
	t := topTable{w: b, o: o, unit: s.Events[o.Event].Values[o.Column].Unit}
	if o.By == "" {
		var err error
		if _, t.total, err = Costs(s, o); err != nil {
			return err
		}
		t.header(s, fmt.Sprintf(" in %s", printable.Count(of[""].Count+negative[""], what)))
		t.histogram(of[""], negative[""])
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
			t.line(fmt.Sprintf("%s: %s, %s, %s", c.Name, t.value(c.Self), t.share(c.Self), printable.Count(h.Count+negative[c.Name], what)))
			t.histogram(h, negative[c.Name])
		}
	}
	return flush(b, "histograms")
}

// histogram writes the lines of one, and a line of so many values below 0.
func (t *topTable) histogram(h *span.Histogram, negative uint64) {
	var counts [65]uint64 // by bits.Len64
	most, first, last := negative, len(counts), 0
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
		return printable.Value(1<<(n-1), t.unit)
	}
	line := func(from, to string, n uint64) {
		bar := strings.Repeat("@", int(float64(n)/float64(most)*barWidth+0.5))
		t.line(fmt.Sprintf("%s %s %9d %6.2f%%  |%-*s|", right(from, 10), "… "+left(to, 10), n, 100*float64(n)/float64(h.Count+negative), barWidth, bar))
	}
	if negative > 0 {
		line("", edge(0), negative)
	}
	for n := first; n <= last; n++ {
		line(edge(n), edge(n+1), counts[n])
	}
}

// right and left fill text up to a number of columns.
func right(s string, n int) string {
	return strings.Repeat(" ", max(n-printable.Width(s), 0)) + s
}

func left(s string, n int) string {
	return s + strings.Repeat(" ", max(n-printable.Width(s), 0))
}
