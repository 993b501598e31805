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
// inference", 2010), and more is known from the other functions: each variance is drawn
// towards theirs (see prior), unless it is out of the ordinary. It is never less than what
// independent samples have.
//
// Blocks also differ where a load has phases, which are no chance if they are the
// same in every run. One run cannot tell; two can: if the functions that come at the
// same times in both agree far better than their blocks let expect, phases is by how
// much, and the variance of each of them is that much less, but not less than the
// countsModel would take. What comes at other times in each run is left as it is.
type blocksModel struct {
	phases  float64 // a factor of variances; 1 if they are what blocks say
	freedom float64 // with which it is known
	shapes  [2][]shape
	priors  map[int]prior // by the number of blocks
}

// shape is how a function's cost in each block departs from its mean; the sum of
// squares is 1, or 0 for a function that is not there.
type shape [maxBlocks]float64

const (
	// A function comes in phases if its blocks differ by phased times the variance of
	// independent samples, and those of both runs have at least the correlation alike.
	phased = 10
	alike  = 0.8
	// It takes leastPhased of them, of which mostPhased agree: the others may have
	// changed. chiMost is the quantile of chi squared that belongs to it.
	leastPhased = 8
	mostPhased  = 0.8
	chiMost     = 1.642374
	// Agreement that is not this good is chance.
	agreement = 1.0 / 3
)

func newBlocksModel(d *data, functions int) *blocksModel {
	m := &blocksModel{phases: 1, priors: make(map[int]prior)}
	m.learn(d, functions)
	var squares []float64
	for fn := range uint32(functions) {
		d.function(fn, false)
		if d.samples() < leastSamples {
			continue
		}
		v, _ := m.blockVariance(d)
		if v < phased*(d.chance(0)+d.chance(1)) {
			continue
		}
		base, new := d.shape(0), d.shape(1)
		if base.correlation(&new) < alike {
			continue
		}
		m.shapes[0], m.shapes[1] = append(m.shapes[0], base), append(m.shapes[1], new)
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
	variance, freedom = m.blockVariance(d)
	if m.phases == 1 {
		return variance, freedom
	}
	if v := max(m.phases*variance, leastDispersion*(d.chance(0)+d.chance(1))); v < variance && m.inPhases(d) {
		return v, m.freedom
	}
	return variance, freedom
}

// inPhases tells whether the selected cost comes at the same times in both runs or,
// if one does not have it, at those of a function that does.
func (m *blocksModel) inPhases(d *data) bool {
	base, new := d.shape(0), d.shape(1)
	if d.series[0][0] != 0 && d.series[1][0] != 0 {
		return base.correlation(&new) >= alike
	}
	for i := range m.shapes[0] {
		if m.shapes[0][i].correlation(&base) >= alike || m.shapes[1][i].correlation(&new) >= alike {
			return true
		}
	}
	return false
}

// shape returns that of the selected cost of a side with one run.
func (d *data) shape(side int) (p shape) {
	ratio := d.series[side][0] / d.denominators[side][0]
	var sum float64
	for b := range p {
		p[b] = float64(d.blocked[side][b]) - ratio*d.blocks[side][b]
		sum += p[b] * p[b]
	}
	if sum > 0 {
		norm := 1 / math.Sqrt(sum)
		for b := range p {
			p[b] *= norm
		}
	}
	return p
}

func (p *shape) correlation(q *shape) (r float64) {
	for b := range p {
		r += p[b] * q[b]
	}
	return r
}

// learn finds out how much the variances of functions differ.
func (m *blocksModel) learn(d *data, functions int) {
	ratios := make(map[int][]float64)
	for fn := range uint32(functions) {
		d.function(fn, false)
		if d.samples() < leastSamples {
			continue
		}
		floor := d.chance(0) + d.chance(1)
		for n := maxBlocks; n >= minBlocks && floor > 0; n /= 2 {
			v, _ := d.varianceOf(n)
			ratios[n] = append(ratios[n], v/floor)
		}
	}
	for n, r := range ratios {
		if len(r) >= leastFunctions {
			m.priors[n] = fitPrior(r, float64(2*(n-1)))
		}
	}
}

// ordinary is the probability with which a variance is so much larger than those of other
// functions that it is taken as it is.
const ordinary = 0.001

// blockVariance is the variance of the difference of the selected cost, as blocks
// of both runs show it, with its degrees of freedom.
func (m *blocksModel) blockVariance(d *data) (variance, freedom float64) {
	floor := d.chance(0) + d.chance(1)
	for n := maxBlocks; n >= minBlocks; n /= 2 {
		v, own := d.varianceOf(n)
		if p := m.priors[n]; p.freedom > 0 && floor > 0 && !p.outlier(v/floor, own) {
			v, own = p.moderate(v/floor, own)
			v *= floor
		}
		if v = max(v, floor); v > variance {
			variance, freedom = v, own
		}
	}
	return variance, max(freedom, minBlocks-1)
}

// varianceOf is the variance of the difference of the selected cost, as n blocks of both
// runs show it, and its degrees of freedom.
func (d *data) varianceOf(n int) (variance, freedom float64) {
	d1, d2 := d.denominators[0][0], d.denominators[1][0]
	w1, w2 := d.costs[0][0].weight, d.costs[1][0].weight
	s1, s2 := d.scatter(0, n), d.scatter(1, n)
	v1, v2 := s1/(d1*d1), s2/(d2*d2)
	// If nothing has changed, samples of both runs scatter alike, whatever the
	// chance of a short one to show it.
	pooled := (s1/(w1*w1) + s2/(w2*w2)) / (d1/w1 + d2/w2) * (w1/d1 + w2/d2)
	freedom = float64(n - 1)
	if v1+v2 > 0 { // Welch and Satterthwaite
		freedom *= (v1 + v2) * (v1 + v2) / (v1*v1 + v2*v2)
	}
	return max(v1+v2, pooled), freedom
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
