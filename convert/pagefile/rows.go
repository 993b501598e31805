package pagefile

import (
	"encoding/binary"
	"errors"
	"slices"

	"kprof/convert/stacks"
)

// readRows reads the rows of all events into the Set.
func (d *decoder) readRows() error {
	var chain, list []uint32
	for i, e := range d.head.Events {
		var nodes []uint32
		node := 0
		for range e.Rows {
			delta, err := d.number(len(d.parent)-node, "node")
			if err != nil {
				return err
			}
			node += int(delta)
			nodes = append(nodes, uint32(node))
			if err := d.keep(8, 0); err != nil {
				return err
			}
		}
		labels := make([]uint32, len(nodes))
		for row := range labels {
			var err error
			if labels[row], err = d.number(len(d.labels), "list of labels"); err != nil {
				return err
			}
		}
		columns := make([][]int64, len(e.Columns))
		for c, column := range e.Columns {
			if column.Factor != 0 && c > 0 {
				continue
			}
			if err := d.keep(8*int64(len(nodes)), 0); err != nil {
				return err
			}
			columns[c] = make([]int64, len(nodes))
			for row := range nodes {
				var err error
				if columns[c][row], err = binary.ReadVarint(d.in); err != nil {
					return err
				}
			}
		}
		// That of the moments' values.
		weighed := slices.IndexFunc(e.Columns, func(c column) bool { return c.Weighed })
		values := make([]int64, len(columns))
		last := uint32(0)
		var stack stacks.StackID
		for row, node := range nodes {
			if row == 0 || node != last {
				if err := d.keep(0, 4*int64(d.depth[node])); err != nil {
					return err
				}
				stack, last = d.stack(node, chain[:0], list), node
			}
			for c := range columns {
				if values[c] = columns[0][row] * e.Columns[c].Factor; columns[c] != nil {
					values[c] = columns[c][row]
				}
			}
			r := pageRow{number: uint32(d.set.Add(i, stack, d.labels[labels[row]], values...)), unknown: weighed < 0}
			if weighed >= 0 {
				r.value = values[weighed]
			}
			d.rows = append(d.rows, r)
			if err := d.keep(16+8, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// skipFunctions passes over what functions cost, where stacks are cut.
func (d *decoder) skipFunctions() error {
	if !d.head.Cut {
		return nil
	}
	for _, e := range d.head.Events {
		for range e.Columns {
			n, err := d.number(len(d.head.Names)+1, "number of functions")
			if err != nil {
				return err
			}
			for ; n > 0; n-- {
				if err := d.keep(0, 1); err != nil {
					return err
				}
				for range 3 {
					if _, err := binary.ReadUvarint(d.in); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// readMoments reads the samples with their times. Those of an event whose values they do not
// tell are left out, and with them those of all.
func (d *decoder) readMoments() error {
	var times []uint64
	at := d.head.Clock
	for range d.head.Moments {
		delta, err := binary.ReadUvarint(d.in)
		if err != nil {
			return err
		}
		if at += delta; at < delta {
			return errors.New("times that are none")
		}
		times = append(times, at)
		if err := d.keep(8+4, 24); err != nil {
			return err
		}
	}
	rows := make([]uint32, len(times))
	for i := range rows {
		var err error
		if rows[i], err = d.number(len(d.rows), "row"); err != nil {
			return err
		}
		d.rows[rows[i]].count++
	}
	unknown := slices.ContainsFunc(d.rows, func(r pageRow) bool { return r.unknown && r.count > 0 })
	for i, row := range rows {
		r := &d.rows[row]
		value := r.value / int64(r.count)
		if d.head.Weighed {
			var err error
			if value, err = binary.ReadVarint(d.in); err != nil {
				return err
			}
		}
		switch {
		case unknown && !d.head.Weighed:
		case d.times:
			d.set.AddTimedSample(stacks.TimedSample{Time: times[i], Sample: r.number, Value: value})
		default:
			d.set.AddBlockSum(stacks.BlockSum{Time: times[i], Sample: r.number, Count: 1, Value: value})
		}
		if err := d.keep(0, 1); err != nil {
			return err
		}
	}
	d.set.SumBlocks()
	return nil
}
