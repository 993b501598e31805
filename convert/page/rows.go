package page

import (
	"cmp"
	"slices"

	"kprof/convert/stacks"
)

// addRows gathers the rows that read the same: stacks of different addresses
// often have the same names.
func (d *pageData) addRows(s *stacks.Set) {
	n := s.NumSamples()
	order, events, nodes, labels := make([]uint32, n), make([]uint32, n), make([]uint32, n), make([]uint32, n)
	for i := range n {
		x := s.Sample(i)
		order[i], events[i], nodes[i], labels[i] = uint32(i), uint32(x.Event), d.tree.Leaf[x.Stack], uint32(x.Labels)
	}
	order = sortedBy(order, labels, s.NumLabels())
	order = sortedBy(order, nodes, len(d.tree.Frame))
	order = sortedBy(order, events, len(s.Events))
	row, values := -1, 0
	d.rowOf = make([]uint32, n)
	for k, i := range order {
		if k == 0 || labels[i] != labels[order[k-1]] || nodes[i] != nodes[order[k-1]] || events[i] != events[order[k-1]] {
			row++
			values += len(s.Events[events[i]].Values)
		}
		d.rowOf[i] = uint32(row)
	}
	d.rows, d.values = make([]pageRow, 0, row+1), make([]int64, 0, values)
	for _, i := range order {
		values := s.Sample(int(i)).Values
		if int(d.rowOf[i]) == len(d.rows) {
			d.rows = append(d.rows, pageRow{events[i], nodes[i], labels[i], uint32(len(d.values))})
			d.values = append(d.values, values...)
			continue
		}
		first := d.rows[len(d.rows)-1].value
		for c, v := range values {
			d.values[first+uint32(c)] += v
		}
	}
}

// sortedBy brings numbers into the order of their keys, which are below n; those of one key keep
// theirs.
func sortedBy(numbers, keys []uint32, n int) []uint32 {
	if n < 2 {
		return numbers
	}
	next := make([]uint32, n+1)
	for _, k := range keys {
		next[k+1]++
	}
	for k := range n {
		next[k+1] += next[k]
	}
	sorted := make([]uint32, len(numbers))
	for _, i := range numbers {
		to := &next[keys[i]]
		sorted[*to] = i
		*to++
	}
	return sorted
}

func (d *pageData) addEvents(s *stacks.Set) {
	d.head.Events = make([]pageEvent, len(s.Events))
	for i, e := range s.Events {
		p := &d.head.Events[i]
		p.Spans, p.Instants = e.IsSpans(), e.Instants
		p.Name = e.Name
		p.Columns = make([]pageColumn, len(e.Values))
		rows := d.eventRows(uint32(i))
		p.Rows = len(rows)
		for c, v := range e.Values {
			p.Columns[c] = pageColumn{Type: v.Type, Unit: v.Unit}
			if c > 0 {
				p.Columns[c].Factor = d.factor(rows, uint32(c))
			}
		}
	}
}

func (d *pageData) eventRows(event uint32) []pageRow {
	from, _ := slices.BinarySearchFunc(d.rows, event, func(r pageRow, e uint32) int { return cmp.Compare(r.event, e) })
	to, _ := slices.BinarySearchFunc(d.rows, event+1, func(r pageRow, e uint32) int { return cmp.Compare(r.event, e) })
	return d.rows[from:to]
}

// factor returns how many times the first column all values of column c are, 0
// if they are not, or if a page, which counts in floating point, would not get
// the same.
func (d *pageData) factor(rows []pageRow, c uint32) int64 {
	const exact = 1 << 53
	var f int64
	for _, r := range rows {
		a, b := d.values[r.value], d.values[r.value+c]
		if f == 0 && a != 0 {
			f = b / a
		}
		if f == 0 && b != 0 || f*a != b || b >= exact || b <= -exact {
			return 0
		}
	}
	return f
}
