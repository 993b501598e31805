package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"kprof/convert/stacks"
)

// addTimes takes the times of samples, in bins that are as short as the page has room for.
func (d *pageData) addTimes(s *stacks.Set, o *Options, limits pageLimits) {
	h := &d.head
	h.Bin = 1
	d.moments = s.TimedSamples
	if n := len(d.moments) + o.LeftTimes; n > limits.moments {
		h.Comments = append(h.Comments, fmt.Sprintf("warning: the times of %d samples are left out, a page holds up to %d: %s",
			n, limits.moments, cmp.Or(o.TimesHint, "take a part of the recording")))
		d.moments = nil
	}
	h.TimedSamples = len(d.moments)
	if len(d.moments) == 0 {
		return
	}
	h.Clock = d.moments[0].Time
	d.weigh()
	if h.Bin = d.chooseBin(limits.timeBits); h.Bin > 1 {
		h.Comments = append(h.Comments, fmt.Sprintf("times are those of bins of %s", shortTime(h.Bin)))
	}
}

// weigh counts the moments of rows, and finds the columns that their values are of, where they
// are not equal parts of those of their rows.
func (d *pageData) weigh() {
	sums := make([]int64, len(d.rows))
	d.counts = make([]uint32, len(d.rows))
	for _, m := range d.moments {
		sums[d.rowOf[m.Sample]] += m.Value
		d.counts[d.rowOf[m.Sample]]++
	}
	for e := range d.head.Events {
		h := &d.head.Events[e]
		first, _ := slices.BinarySearchFunc(d.rows, uint32(e), func(r pageRow, e uint32) int { return cmp.Compare(r.event, e) })
		rows := d.eventRows(uint32(e))
		h.Counted = len(h.Columns) > 0
		for c := range h.Columns {
			same, timed := true, false
			for i, r := range rows {
				n := d.counts[first+i]
				same = same && (n == 0 || sums[first+i] == d.values[r.value+uint32(c)])
				timed = timed || n > 0
				h.Counted = h.Counted && (c > 0 || int64(n) == d.values[r.value])
			}
			h.Columns[c].Weighed = same && timed
		}
	}
	for _, m := range d.moments {
		row := d.rowOf[m.Sample]
		weighed := slices.ContainsFunc(d.head.Events[d.rows[row].event].Columns, func(c pageColumn) bool { return c.Weighed })
		if weighed && m.Value*int64(d.counts[row]) != sums[row] {
			d.head.Weighed = true
			break
		}
	}
}

// leastBins is how many bins there are in any case: more than a heat map has cells, which are up to
// 400 columns of 50.
const leastBins = 1 << 15

// chooseBin returns the shortest bin, of 1, 2 or 5 times a power of ten ns, with which the
// times take no more than so many bits: of a sample as many as tell apart the bins between the
// first and the last sample of its labels.
func (d *pageData) chooseBin(bits int) uint64 {
	type lifetime struct{ from, to, samples uint64 }
	lives := make([]lifetime, len(d.head.Labels))
	for _, m := range d.moments {
		l := &lives[d.rows[d.rowOf[m.Sample]].labels]
		if l.samples == 0 {
			l.from = m.Time
		}
		l.to = m.Time
		l.samples++
	}
	lasted := d.moments[len(d.moments)-1].Time - d.head.Clock
	for decade := uint64(1); ; decade *= 10 {
		for _, bin := range []uint64{decade, 2 * decade, 5 * decade} {
			var sum float64
			for _, l := range lives {
				sum += float64(l.samples) * math.Log2(float64((l.to-l.from)/bin+1))
			}
			if sum <= float64(bits) || lasted/bin*2 < 5*leastBins { // the next one may be 2.5 times as long
				return bin
			}
		}
	}
}

// shortTime is a bin in the unit that suits.
func shortTime(ns uint64) string {
	units := []string{"ns", "µs", "ms", "s"}
	for len(units) > 1 && ns%1000 == 0 {
		ns, units = ns/1000, units[1:]
	}
	return strconv.FormatUint(ns, 10) + " " + units[0]
}

// writeTimes writes the bins of moments, and their values.
func (d *pageData) writeTimes(c *columnWriter) {
	if len(d.moments) == 0 {
		return
	}
	bin := func(m *stacks.TimedSample) uint64 { return (m.Time - d.head.Clock) / d.head.Bin }
	// Of each row the moments beside each other; then order[at-1] is a row's last.
	order, at := make([]uint32, len(d.moments)), make([]uint32, len(d.rows)+1)
	for i, n := range d.counts {
		at[i+1] = at[i] + n
	}
	first, known := make([]uint64, len(d.head.Labels)), make([]bool, len(d.head.Labels))
	for i := range d.moments {
		m := &d.moments[i]
		row := d.rowOf[m.Sample]
		order[at[row]] = uint32(i)
		at[row]++
		if l := d.rows[row].labels; !known[l] {
			first[l], known[l] = bin(m), true
		}
	}
	for _, b := range first {
		c.put(b)
	}
	row := 0
	for e := range d.head.Events {
		for range d.eventRows(uint32(e)) {
			if !d.head.Events[e].Counted {
				c.put(uint64(d.counts[row]))
			}
			row++
		}
	}
	i := 0
	for row := range d.rows {
		last := first[d.rows[row].labels]
		for range d.counts[row] {
			b := bin(&d.moments[order[i]])
			c.put(b - last)
			last = b
			i++
		}
	}
	if d.head.Weighed {
		for _, i := range order {
			c.putSigned(d.moments[i].Value)
		}
	}
}
