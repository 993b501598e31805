package diff

import (
	"fmt"
	"math"
	"slices"
)

// blocksModel takes the variance of a run from its blocks of time. Where samples
// come in bursts longer than a block, neighbouring blocks are alike and their
// variance is too small; so blocks of twice and four times the length are tried
// too, and the largest variance counts (Flyvbjerg and Petersen, "Error estimates
// on averages of correlated data", 1989). Few large blocks are enough for a t test
// (Ibragimov and Müller, "t-Statistic based correlation and heterogeneity robust
// inference", 2010). It is never less than what independent samples have.
//
// Blocks also differ where a load has phases, which are no chance if they are the
// same in every run. One run cannot tell; two can: if functions that come in phases
// or bursts agree far better between the runs than their blocks let expect, phases
// is by how much, and the variance of all is that much less, but not less than the
// countsModel would take.
type blocksModel struct {
	phases  float64 // a factor of variances; 1 if they are what blocks say
	freedom float64 // with which it is known
}

const (
	// A function comes in phases or bursts if its blocks differ by phased times the
	// variance of independent samples.
	phased = 10
	// It takes leastPhased of them, of which mostPhased agree: the others may have
	// changed. chiMost is the quantile of chi squared that belongs to it.
	leastPhased = 8
	mostPhased  = 0.8
	chiMost     = 1.642374
	// Agreement that is not this good is chance.
	agreement = 1.0 / 3
)

func newBlocksModel(d *data, functions int) *blocksModel {
	m := &blocksModel{phases: 1}
	var squares []float64
	for fn := range uint32(functions) {
		d.function(fn, false)
		if d.samples() < leastSamples {
			continue
		}
		v, _ := d.blockVariance()
		if v < phased*(d.chance(0)+d.chance(1)) {
			continue
		}
		diff := d.mean(1) - d.mean(0)
		squares = append(squares, diff*diff/v)
	}
	if len(squares) < leastPhased {
		return m
	}
	slices.Sort(squares)
	n := float64(len(squares))
	most := squares[int(math.Ceil(mostPhased*n))-1]
	// Few functions may agree by chance.
	if f := most / chiMost * (1 + 2/math.Sqrt(n)); f < agreement {
		m.phases, m.freedom = f, n
	}
	return m
}

// minBlocks is the number of the largest blocks.
const minBlocks = 8

func (m *blocksModel) method() string {
	text := fmt.Sprintf("from the variance between %d blocks of time of each run", maxBlocks)
	if m.phases < 1 {
		text += ", less what phases make that both have alike"
	}
	return text
}

func (m *blocksModel) variance(d *data) (variance, freedom float64) {
	variance, freedom = d.blockVariance()
	if v := max(m.phases*variance, leastDispersion*(d.chance(0)+d.chance(1))); m.phases < 1 && v < variance {
		return v, m.freedom
	}
	return variance, freedom
}

// blockVariance is the variance of the difference of the selected cost, as blocks
// of both runs show it, with its degrees of freedom.
func (d *data) blockVariance() (variance, freedom float64) {
	d1, d2 := d.denominators[0][0], d.denominators[1][0]
	w1, w2 := d.costs[0][0].weight, d.costs[1][0].weight
	floor := d.chance(0) + d.chance(1)
	for n := maxBlocks; n >= minBlocks; n /= 2 {
		s1, s2 := d.scatter(0, n), d.scatter(1, n)
		v1, v2 := s1/(d1*d1), s2/(d2*d2)
		// If nothing has changed, samples of both runs scatter alike, whatever the
		// chance of a short one to show it.
		alike := (s1/(w1*w1) + s2/(w2*w2)) / (d1/w1 + d2/w2) * (w1/d1 + w2/d2)
		if v := max(v1+v2, alike, floor); v > variance {
			// Welch and Satterthwaite.
			variance, freedom = v, float64(n-1)
			if v1+v2 > 0 {
				freedom *= (v1 + v2) * (v1 + v2) / (v1*v1 + v2*v2)
			}
		}
	}
	return variance, max(freedom, minBlocks-1)
}

// scatter is the variance of the selected cost of a side with one run, as n blocks
// show it: that of a ratio, since blocks differ in what they are divided by.
func (d *data) scatter(side, n int) float64 {
	ratio := d.series[side][0] / d.denominators[side][0]
	var sum float64
	for b := 0; b < maxBlocks; b += maxBlocks / n {
		var residual float64
		for i := b; i < b+maxBlocks/n; i++ {
			residual += float64(d.blocked[side][i]) - ratio*d.blocks[side][i]
		}
		sum += residual * residual
	}
	return sum * float64(n) / float64(n-1)
}
