package diff

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// prior is the distribution that the variances of all functions, each in terms of what it
// is for independent samples, are taken for draws from: a scaled inverse chi squared
// (Smyth, "Linear models and empirical Bayes methods for assessing differential
// expression", 2004). The zero value says that nothing is known.
type prior struct {
	freedom float64 // how many degrees of freedom the other functions add to one's own
	overall float64 // the ratio of a function of which nothing else is known
}

// leastRatio is what smaller ratios count as, of which the logarithm would be too large.
const leastRatio = 1e-5

// fitPrior estimates the distribution of the true ratios from observed ones, each with
// own degrees of freedom: the logarithm of such a variance has known mean and variance,
// and what is observed beyond these is that of the true ones.
func fitPrior(ratios []float64, own float64) prior {
	var sum, squares, n float64
	for _, r := range ratios {
		e := math.Log(max(r, leastRatio)) - mathext.Digamma(own/2) + math.Log(own/2)
		sum += e
		squares += e * e
		n++
	}
	mean := sum / n
	beyond := (squares-n*mean*mean)/(n-1) - trigamma(own/2)
	if beyond <= 0 {
		return prior{math.Inf(1), math.Exp(mean)}
	}
	freedom := 2 * inverseTrigamma(beyond)
	return prior{freedom, math.Exp(mean + mathext.Digamma(freedom/2) - math.Log(freedom/2))}
}

// moderate draws a function's own ratio towards the middle, the more the less the
// functions differ, and returns the degrees of freedom with which it is known then.
func (p prior) moderate(ratio, own float64) (moderated, freedom float64) {
	switch {
	case math.IsInf(p.freedom, 1):
		return p.overall, p.freedom
	case p.freedom == 0:
		return ratio, own
	}
	freedom = own + p.freedom
	return (p.freedom*p.overall + own*ratio) / freedom, freedom
}

// outlier tells a ratio that the distribution does not explain, with own degrees of freedom.
func (p prior) outlier(ratio, own float64) bool {
	f := ratio / p.overall
	if math.IsInf(p.freedom, 1) {
		return mathext.GammaIncRegComp(own/2, own*f/2) < ordinary
	}
	// The upper tail of F with own and p.freedom degrees of freedom.
	return mathext.RegIncBeta(p.freedom/2, own/2, p.freedom/(p.freedom+own*f)) < ordinary
}

func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// inverseTrigamma solves trigamma(x) = y, which falls from infinity to 0, by
// bisection of the logarithm.
func inverseTrigamma(y float64) float64 {
	low, high := 1e-6, 1e6
	for range 100 {
		middle := math.Sqrt(low * high)
		if trigamma(middle) > y {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Sqrt(low * high)
}
