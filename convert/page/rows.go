package page

import (
	"cmp"
	"slices"

	"kprof/convert/stacks"
)

// addRows gathers the rows that read the same: stacks of different addresses
// often have the same names.
func (d *pageData) addRows(s *stacks.Set) {
	d.rows = make([]pageRow, s.NumSamples())
	for i := range d.rows {
		x := s.Sample(i)
		d.rows[i] = pageRow{uint32(x.Event), d.tree.Leaf[x.Stack], uint32(x.Labels), uint32(i)}
	}
	slices.SortFunc(d.rows, func(a, b pageRow) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.node, b.node),
			cmp.Compare(a.labels, b.labels), cmp.Compare(a.value, b.value))
	})
	d.rowOf = make([]uint32, len(d.rows))
	rows := d.rows[:0]
	for _, r := range d.rows {
		values := s.Sample(int(r.value)).Values
		if n := len(rows); n > 0 && rows[n-1].event == r.event && rows[n-1].node == r.node && rows[n-1].labels == r.labels {
			for c, v := range values {
				d.values[rows[n-1].value+uint32(c)] += v
			}
			d.rowOf[r.value] = uint32(len(rows) - 1)
			continue
		}
		d.rowOf[r.value] = uint32(len(rows))
		r.value = uint32(len(d.values))
		d.values = append(d.values, values...)
		rows = append(rows, r)
	}
	d.rows = rows
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
