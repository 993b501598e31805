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

// scaled returns a value of the sum. rest is what rounding left of those before it.
func (a *addition) scaled(v int64, rest *float64) int64 {
	if a.how.Scale == 1 {
		return v
	}
	exact := float64(v)*a.how.Scale + *rest
	x := math.RoundToEven(exact)
	*rest = exact - x
	switch {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= -math.MaxInt64:
		return -math.MaxInt64
	}
	return int64(x)
}
