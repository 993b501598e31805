// Package difftest judges by simulated trials how often a comparison is right.
package difftest

import "math"

// Rate is a question about how often something happens in trials that do not depend on
// each other: as often as it should, with a probability of Good, or of Bad.
type Rate struct {
	Good, Bad float64
	// Most is how many trials there are at the most, at least 1.
	Most int
}

// doubt is the probability with which a judgement is wrong, where the probability is Good
// or Bad.
const doubt = 0.01

// Judge runs trials, each with its number from 0 on, until they tell whether the
// probability is nearer to Good than to Bad. hits is in how many of the n trials it happened.
//
// It is Wald's sequential test (The Annals of Mathematical Statistics 16, 1945): after each
// trial the logarithm of how much likelier Bad makes all of them than Good does is held
// against bounds. Whichever probability is the true one, the judgement is wrong in one of a
// hundred cases; and what is clear is so soon. Where Most trials are not enough, the
// likelier one is taken.
func (r Rate) Judge(trial func(n uint64) bool) (hits, n int, good bool) {
	hit, miss := math.Log(r.Bad/r.Good), math.Log((1-r.Bad)/(1-r.Good))
	bound := math.Log(1/doubt - 1)
	bad := 0.0
	for n < r.Most && math.Abs(bad) < bound {
		if trial(uint64(n)) {
			hits++
			bad += hit
		} else {
			bad += miss
		}
		n++
	}
	return hits, n, bad < 0
}
