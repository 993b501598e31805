package diff

// data is the costs of all runs of both sides, and what they are divided by.
type data struct {
	costs [2][]*cost
	// denominators are, by run, totals, seconds, operations or events.
	denominators [2][]float64
	// blocks are the parts of the denominators of the only run of each side, nil
	// unless both have blocks.
	blocks [2][]float64
	share  bool // denominators are totals

	series   [2][]float64 // of the function looked at: values by run
	blocked  [2][]int64   // and by block
	combined [2][]int64   // scratch for blocked
}

func newData(runs [2][]Run, c [2][]*cost, per Per) *data {
	d := &data{costs: c, share: per == PerShare}
	single := len(runs[0]) == 1 && len(runs[1]) == 1
	for side := range runs {
		for i := range runs[side] {
			r := &runs[side][i]
			var x float64
			switch per {
			case PerShare:
				x = float64(c[side][i].total)
			case PerSecond:
				x = float64(r.Set.DurationNanos) / 1e9
			case PerOps:
				x = r.Ops
			case PerRun:
				x = 1
			case PerEvent:
				x = float64(r.Set.Totals(r.PerEvent)[r.PerColumn])
			}
			d.denominators[side] = append(d.denominators[side], x)
		}
		d.series[side] = make([]float64, len(runs[side]))
		d.combined[side] = make([]int64, maxBlocks)
		single = single && c[side][0].totalBlocks != nil && (per == PerShare || per == PerEvent)
	}
	for side := range runs {
		if !single {
			break
		}
		// TimedSamples may tell samples of that event where its column tells periods.
		var perSum int64
		for _, v := range c[side][0].perBlocks {
			perSum += v
		}
		perScale := d.denominators[side][0] / float64(max(perSum, 1))
		d.blocks[side] = make([]float64, maxBlocks)
		for b := range maxBlocks {
			switch per {
			case PerShare:
				d.blocks[side][b] = float64(c[side][0].totalBlocks[b])
			case PerEvent:
				d.blocks[side][b] = float64(c[side][0].perBlocks[b]) * perScale
			}
		}
	}
	return d
}

func (d *data) hasBlocks() bool { return d.blocks[0] != nil }

// function selects a function's self or cum cost, until the next call.
func (d *data) function(fn uint32, cum bool) *data {
	for side := range d.costs {
		for i, c := range d.costs[side] {
			if cum {
				d.series[side][i] = float64(c.cum[fn])
			} else {
				d.series[side][i] = float64(c.self[fn])
			}
		}
		if !d.hasBlocks() {
			continue
		}
		blocks := d.costs[side][0].selfBlocks
		if cum {
			blocks = d.costs[side][0].cumBlocks
		}
		d.blocked[side] = blocksOf(blocks, fn)
	}
	return d
}

// together selects the sum of the self costs of some functions.
func (d *data) together(fns []uint32) *data {
	for side := range d.costs {
		clear(d.series[side])
		clear(d.combined[side])
		for _, fn := range fns {
			for i, c := range d.costs[side] {
				d.series[side][i] += float64(c.self[fn])
			}
			if d.hasBlocks() {
				for b, v := range blocksOf(d.costs[side][0].selfBlocks, fn) {
					d.combined[side][b] += v
				}
			}
		}
		d.blocked[side] = d.combined[side]
	}
	return d
}

// totals selects the total.
func (d *data) totals() *data {
	for side := range d.costs {
		for i, c := range d.costs[side] {
			d.series[side][i] = float64(c.total)
		}
		if d.hasBlocks() {
			d.blocked[side] = d.costs[side][0].totalBlocks
		}
	}
	return d
}

// means returns the mean of the selected cost over the runs of a side.
func (d *data) mean(side int) (mean float64) {
	for i, v := range d.series[side] {
		mean += v / d.denominators[side][i]
	}
	return mean / float64(len(d.series[side]))
}

// pooled is the selected cost of all runs together, each as many samples as it is
// worth: their values may have different units.
func (d *data) pooled() float64 {
	var value, denominator float64
	for side := range d.series {
		for i, v := range d.series[side] {
			weight := d.costs[side][i].weight
			value += v / weight
			denominator += d.denominators[side][i] / weight
		}
	}
	return value / denominator
}

// chance is the variance that the mean of a side has when samples are
// independent and both sides cost the same.
func (d *data) chance(side int) (variance float64) {
	p := d.pooled()
	for i, c := range d.costs[side] {
		variance += c.weight / d.denominators[side][i]
	}
	k := float64(len(d.costs[side]))
	variance *= p / (k * k)
	if d.share {
		variance *= max(1-p, 0)
	}
	return max(variance, 0)
}
