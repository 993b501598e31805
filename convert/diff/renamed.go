package diff

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
)

// What makes two functions, each of one side only, one that was renamed or rewritten. Of
// 1, how much they have in common: callers, callees, cost and name, and code, where it is
// known.
const (
	weightCallers = 0.3
	weightCallees = 0.25
	weightCost    = 0.15
	weightName    = 0.3
	weightCode    = 0.5

	// leastAlike is what pairs have in common, and leastCallers of their callers, since
	// functions that nobody calls alike do not stand for each other, but for those with
	// a name of which leastSameName is the same.
	leastAlike    = 0.5
	leastCallers  = 0.4
	leastSameName = 0.7

	// Functions that are called alike and cost alike may still be others: their names or
	// instructions must speak for a pair too, or what they call; but then the cost must
	// be alike, since one function may have become several.
	leastName    = 0.4
	leastCallees = 0.3
	leastCost    = 0.6
	leastCode    = 0.8

	// What is called otherwise, and costs more or less than chance explains, costs this at least,
	// unless its name has the same words in another order.
	leastFraction = 0.1
	sameWords     = 0.95

	// Where nearly all callers and callees are the same, and those of no other function are, half
	// the cost is enough: one function did not become two.
	leastAround = 0.9
	leastHalf   = 0.5

	// What calls so much of the same, or is called by it, is as deep in the stack.
	leastDeep = 0.75

	// Of names that are not nearly the same the code must be of like size, as far as that is
	// known.
	leastSize = 0.35

	// Of what is called once, cost tells little: the names must be nearly one.
	leastCalledName = 0.7

	// pairRounds is how often callers and callees that were found to be one are looked
	// at again.
	pairRounds = 4
	// mostSide squared bounds the pairs that are looked at: of more functions of a side, it is
	// those that cost most.
	mostSide = 1 << 11
	// mostNameWords squared bounds the words of names that are held against each other, likewise.
	mostNameWords = 1 << 13

	// leastExpected is how many samples the other side would have of a function if it
	// cost the same there, where nobody knows whether that build has it; leastSeen how
	// many there are in any case: fewer have no callers to go by. Where it is known that each
	// has one of the two, seldom are enough for names of which leastSameName is the same; and
	// nearly the same names, of leastNearly, or leastNearest if hardly a sample is of one, need
	// to have less in common, since what calls a function is often inlined otherwise, or rewritten.
	leastExpected = 8
	leastSeen     = 3
	seldom        = 1
	leastNearly   = 0.75
	leastNearest  = 0.85
	leastNamed    = 0.4
)

// pair is a function that only the base has, and one that only the new side has, which
// stand for each other.
type pair struct {
	base, new uint32
	alike     float64
	rewritten bool // under another name altogether
	around    bool // nearly all callers and callees are the same
	only      bool // and that speaks for it, and nothing else
	beside    bool // it has the same callers, and costs about the same
	alone     bool // and nothing else speaks for it but code of like size
}

// renamed finds the pairs of functions that have another name on the new side than on the
// base. Where functions are matched by their names as they are, there are none.
func (r *Result) renamed(c [2][]*cost) []pair {
	if r.Names.Exact {
		return nil
	}
	var totals, samples [2]float64
	var cum [2][]float64
	for side := range c {
		cum[side] = make([]float64, len(r.table.functions))
		for _, x := range slices.Concat(c[side], r.inside[side]) {
			if r.inside[side] == nil || x == r.inside[side][0] { // which has the total of all
				totals[side] += float64(x.total)
				samples[side] += float64(x.total) / x.weight
			}
			for fn, v := range x.cum {
				cum[side][fn] += float64(v)
			}
		}
		for fn := range cum[side] {
			cum[side][fn] /= totals[side]
		}
	}
	var only [2][]uint32
	var asked []string
	enough := float64(leastSeen)
	if r.Builds != nil {
		enough = seldom - 0.01 // of sums
	}
	for fn, name := range r.table.functions {
		side := 0
		if cum[0][fn] == 0 {
			side = 1
		}
		if cum[1-side][fn] == 0 && cum[side][fn]*samples[side] >= enough && !strings.HasPrefix(name, "[") {
			only[side] = append(only[side], uint32(fn))
			asked = append(asked, name)
		}
	}
	if len(only[0]) == 0 || len(only[1]) == 0 {
		return nil
	}
	var builds map[string]Presence
	if r.Builds != nil {
		builds = r.Builds(asked)
	}
	around := make(map[uint32]*neighbours)
	for side := range only {
		only[side] = slices.DeleteFunc(only[side], func(fn uint32) bool {
			p := builds[r.table.functions[fn]]
			seen := cum[side][fn] * samples[side]
			expected := cum[side][fn] * samples[1-side]
			if p.Known[1-side] && p.In[1-side] {
				// Its name may have stayed for what calls the one that has its code now.
				return !p.Known[side] || seen < leastSeen || expected < leastExpected
			}
			if p.Known[1-side] {
				return seen < leastSeen && !p.Known[side]
			}
			return seen < leastSeen || expected < leastExpected
		})
	}
	names := newNames(r.table.functions)
	for side := range only {
		n := max(mostSide, mostSide*mostSide/max(len(only[1-side]), 1))
		words := max(mostNameWords, mostNameWords*mostNameWords/max(names.words(only[1-side]), 1))
		if len(only[side]) > n || names.words(only[side]) > words {
			slices.SortStableFunc(only[side], func(a, b uint32) int { return cmp.Compare(cum[side][b], cum[side][a]) })
			only[side] = names.first(only[side][:min(n, len(only[side]))], words)
		}
		for _, fn := range only[side] {
			p := builds[r.table.functions[fn]]
			around[fn] = &neighbours{
				callers: map[uint32]float64{}, callees: map[uint32]float64{}, beyond: map[uint32]float64{}, below: map[uint32]float64{}, cum: cum[side][fn],
				samples: cum[side][fn] * samples[side], expected: cum[side][fn] * samples[1-side],
				known: p.Known[0] && p.Known[1], stayed: p.In[1-side],
			}
		}
	}
	r.lookAround(around)
	return r.match(only, around, names)
}

// neighbours are the functions around one, with what they have of its cost, of 1. What it
// costs itself, and what nobody calls, is that of number many.
type neighbours struct {
	callers, callees map[uint32]float64
	beyond, below    map[uint32]float64 // the nearest ones that are not of one side only
	cum              float64            // share of the side's total
	samples          float64
	expected         float64 // samples of the other side, if it cost the same there
	known            bool    // which builds have it
	stayed           bool    // the other build has it too, and no samples of it
}

func (n *neighbours) seldom() bool { return n.samples < leastSeen }

// lookAround sums up who calls functions, and whom they call.
func (r *Result) lookAround(around map[uint32]*neighbours) {
	look := func(_ int, fns []uint32, v int64) {
		for at, fn := range fns {
			n := around[fn]
			if n == nil || slices.Contains(fns[:at], fn) {
				continue
			}
			callee, caller := uint32(many), uint32(many)
			if at > 0 {
				callee = fns[at-1]
			}
			if at+1 < len(fns) {
				caller = fns[at+1]
			}
			n.callees[callee] += float64(v)
			n.callers[caller] += float64(v)
			n.beyond[nearest(slices.Values(fns[at+1:]), around)] += float64(v)
			n.below[nearest(backward(fns[:at]), around)] += float64(v)
		}
	}
	r.eachStack(nil, look)
	r.eachInterrupt(look)
	for _, n := range around {
		for _, m := range []map[uint32]float64{n.callers, n.callees, n.beyond, n.below} {
			var sum float64
			for _, v := range m {
				sum += v
			}
			for fn := range m {
				m[fn] /= sum
			}
		}
	}
}

// nearest is the first function that is not of one side only; many if there is none.
func nearest(fns iter.Seq[uint32], around map[uint32]*neighbours) uint32 {
	for fn := range fns {
		if around[fn] == nil {
			return fn
		}
	}
	return many
}

func backward(fns []uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, fn := range slices.Backward(fns) {
			if !yield(fn) {
				return
			}
		}
	}
}

// match finds the pairs that have most in common, the best first; those that are found
// are one function to the next round.
func (r *Result) match(only [2][]uint32, around map[uint32]*neighbours, names names) []pair {
	similar := slices.Repeat([]float64{-1}, len(only[0])*len(only[1])) // names; not known yet
	same := make(map[uint32]uint32)                                    // of the new side to the base
	taken := make(map[uint32]bool)
	var pairs []pair
	for range pairRounds {
		var found []pair
		ways := make(map[uint32]int)    // how many have around them what a function has
		besides := make(map[uint32]int) // how many are called by what calls it, and cost the same
		for i, a := range only[0] {
			for j, b := range only[1] {
				if taken[a] || taken[b] {
					continue
				}
				name := &similar[i*len(only[1])+j]
				if *name < 0 {
					*name = names.similar(a, b)
				}
				p, ok := r.alike(a, b, around, *name, same)
				if p.around {
					ways[a]++
					ways[b]++
				}
				if p.beside {
					besides[a]++
					besides[b]++
				}
				if ok {
					found = append(found, p)
				}
			}
		}
		found = slices.DeleteFunc(found, func(p pair) bool {
			return p.only && max(ways[p.base], ways[p.new]) > 1 || p.alone && max(besides[p.base], besides[p.new]) > 1
		})
		slices.SortFunc(found, func(a, b pair) int {
			return cmp.Or(cmp.Compare(b.alike, a.alike), strings.Compare(r.table.functions[a.base], r.table.functions[b.base]),
				strings.Compare(r.table.functions[a.new], r.table.functions[b.new]))
		})
		before := len(pairs)
		for _, p := range found {
			if !taken[p.base] && !taken[p.new] {
				taken[p.base], taken[p.new] = true, true
				same[p.new] = p.base
				pairs = append(pairs, p)
			}
		}
		if len(pairs) == before {
			break
		}
	}
	return pairs
}

// alike says what two functions have in common, of which name is how like their names are, and
// whether that is enough to be one.
func (r *Result) alike(base, new uint32, around map[uint32]*neighbours, name float64, same map[uint32]uint32) (pair, bool) {
	a, b := around[base], around[new]
	if (a.seldom() || b.seldom()) && name < leastSameName || a.stayed && b.stayed {
		return pair{}, false
	}
	callers := common(a.callers, b.callers, same)
	callees := common(a.callees, b.callees, same)
	called := callees - min(a.callees[many], b.callees[many])
	// What is called by the same, or calls the same, is as deep in the stack: there may be other
	// functions between it and the others around it.
	switch {
	case called >= leastDeep:
		callers = max(callers, common(a.beyond, b.beyond, same))
	case callers >= leastDeep:
		callees = max(callees, common(a.below, b.below, same))
		called = max(called, callees-min(a.below[many], b.below[many]))
	}
	if callers < leastCallers && (name < leastSameName || a.stayed || b.stayed) {
		return pair{}, false
	}
	if r.Measured() && (name < leastCalledName || callers < leastCallers) {
		return pair{}, false
	}
	cost := min(a.cum, b.cum) / max(a.cum, b.cum)
	if (a.stayed || b.stayed) && cost < leastCost {
		return pair{}, false
	}
	if callers < leastCallers && name < sameWords && !byChance(a, b) {
		if cost < leastFraction || cost < leastCost && name < leastNearly {
			return pair{}, false
		}
	}
	score := weightCallers*callers + weightCallees*callees + weightCost*cost + weightName*name
	spoken := name >= leastSameName || name >= leastName && cost >= leastCost/2 || called >= leastCallees && cost >= leastCost
	p := pair{
		base: base, new: new, around: min(callers, called) >= leastAround,
		beside: callers >= leastAround && cost >= leastCost,
	}
	sized := false // their code is of like size
	if r.SimilarCode != nil && score >= leastAlike/2 {
		if code, known := r.SimilarCode(r.table.functions[base], r.table.functions[new]); known {
			if name < leastSameName && code < leastSize {
				return p, false
			}
			sized = code >= leastSize
			score = (score + weightCode*code) / (1 + weightCode)
			spoken = spoken || code >= leastCode
		}
	}
	p.alike = score
	nearly := leastNearly
	if a.seldom() || b.seldom() {
		nearly = leastNearest
	}
	if a.known && b.known && name >= nearly && !a.stayed && !b.stayed {
		return p, score >= leastNamed
	}
	p.rewritten = name < leastName
	p.only = !spoken && p.around && cost >= leastHalf
	if (spoken || p.only) && score >= leastAlike {
		return p, true
	}
	// What calls nothing is inlined in one build, and not in the other.
	p.alone = p.beside && sized && min(a.samples, b.samples) >= leastExpected && max(a.callees[many], b.callees[many]) <= leastHalf
	return p, p.alone
}

// byChance tells whether two functions may cost the same, for the number of their samples.
func byChance(a, b *neighbours) bool {
	const deviations = 2
	x, y := a.expected, b.samples
	return math.Abs(x-y) <= deviations*math.Sqrt(x+y)
}

// common is how much of two distributions is the same.
func common(base, new map[uint32]float64, same map[uint32]uint32) (sum float64) {
	for fn, v := range new {
		if other, ok := same[fn]; ok {
			fn = other
		}
		sum += min(v, base[fn])
	}
	return sum
}

// pairUp makes one function of each pair: the new side's, which has then what the base
// has of the other, too.
func (r *Result) pairUp(pairs []pair, c [2][]*cost) {
	to := make(map[uint32]uint32)
	for _, p := range pairs {
		to[p.base] = p.new
		for _, x := range slices.Concat(c[0], r.inside[0]) {
			x.move(p.base, p.new)
		}
	}
	for o, fn := range r.table.function {
		if other, ok := to[fn]; ok {
			r.table.function[o] = other
		}
	}
	r.pairs = pairs
}

// move gives what one function costs to another that costs nothing.
func (c *cost) move(from, to uint32) {
	c.self[to], c.self[from] = c.self[from], 0
	c.cum[to], c.cum[from] = c.cum[from], 0
	for _, blocks := range [][]int64{c.selfBlocks, c.cumBlocks} {
		if blocks != nil {
			copy(blocksOf(blocks, to), blocksOf(blocks, from))
			clear(blocksOf(blocks, from))
		}
	}
}

// name tells the functions that were paired of the names that the base has for them.
func (r *Result) name() {
	for _, p := range r.pairs {
		f := &r.Functions[p.new]
		f.Pair, f.Rewritten = r.table.functions[p.base], p.rewritten
		if f.Verdict == Noise {
			f.Verdict = Renamed
		}
	}
}
