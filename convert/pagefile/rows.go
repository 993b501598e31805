package pagefile

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
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
			r := pageRow{number: uint32(d.set.Add(i, stack, d.labels[labels[row]], values...)), labels: labels[row], unknown: weighed < 0, count: values[0]}
			if !e.Counted {
				r.count = -1
			}
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

// readMoments reads the samples with their times. Where the values of some are not known, none
// are of use.
func (d *decoder) readMoments() error {
	if d.head.Moments <= 0 {
		return nil
	}
	first := make([]uint64, len(d.labels)) // bin of the first moment
	for l := range first {
		var err error
		if first[l], err = binary.ReadUvarint(d.in); err != nil {
			return err
		}
	}
	for i := range d.rows {
		r := &d.rows[i]
		if r.count >= 0 {
			continue
		}
		n, err := d.number(math.MaxInt32, "number of samples")
		if err != nil {
			return err
		}
		r.count = int64(n)
	}
	var samples []stacks.TimedSample
	known := true
	for i := range d.rows {
		r := &d.rows[i]
		known = known && (!r.unknown || r.count == 0)
		bin := first[r.labels]
		for range r.count {
			delta, err := binary.ReadUvarint(d.in)
			if err != nil {
				return err
			}
			bin += delta
			high, at := bits.Mul64(bin, max(d.head.Bin, 1))
			if at += d.head.Clock; bin < delta || high > 0 || at < d.head.Clock {
				return errors.New("times that are none")
			}
			samples = append(samples, stacks.TimedSample{Time: at, Sample: r.number, Value: r.value / r.count})
			if err := d.keep(24, 0); err != nil {
				return err
			}
		}
	}
	if d.head.Weighed {
		for i := range samples {
			var err error
			if samples[i].Value, err = binary.ReadVarint(d.in); err != nil {
				return err
			}
		}
	}
	switch {
	case !known && !d.head.Weighed:
	case d.times:
		d.set.TimedSamples = samples
		d.set.SortTimedSamples()
	default:
		for _, m := range samples {
			d.set.AddBlockSum(stacks.BlockSum{Time: m.Time, Sample: m.Sample, Count: 1, Value: m.Value})
		}
		d.set.SumBlocks()
	}
	return nil
}
