package stacks

import (
	"math"
	"slices"
)

// remainders are what rounding left of the values so far, by event of the sum.
type remainders []remainder

type remainder struct {
	columns       []float64
	timed, blocks float64
}

func (r *remainders) of(event int) *remainder {
	if n := event + 1 - len(*r); n > 0 {
		*r = append(*r, make([]remainder, n)...)
	}
	return &(*r)[event]
}

func (r remainders) clone() remainders {
	r = slices.Clone(r)
	for i := range r {
		r[i].columns = slices.Clone(r[i].columns)
	}
	return r
}

// multiply makes them those of values that have been multiplied too.
func (r *remainder) multiply(by []int64) {
	for c := range r.columns {
		r.columns[c] *= float64(by[c])
	}
	weight := float64(by[len(by)-1])
	r.timed *= weight
	r.blocks *= weight
}

// tooLarge is what no value can be: no sum has it.
const tooLarge = math.MinInt64

// scaled returns a value of the sum, of one whose unit is so many of the sum's, or tooLarge. rest
// is what rounding left of those before it.
func (a *addition) scaled(v, unit int64, rest *float64) int64 {
	switch {
	case a.how.Scale == 1 && unit == 1:
		return v
	case a.how.Scale == 1:
		x, ok := product(magnitude(v), uint64(unit))
		switch {
		case !ok:
			return tooLarge
		case v < 0:
			return -int64(x)
		}
		return int64(x)
	}
	exact := float64(v)*float64(unit)*a.how.Scale + *rest
	x := math.RoundToEven(exact)
	*rest = exact - x
	if math.Abs(x) >= math.MaxInt64 {
		return tooLarge
	}
	return int64(x)
}

// magnitude is v without its sign.
func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}
