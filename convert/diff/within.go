package diff

import (
	"slices"
	"strings"
)

// mostCost is the share of a function's cost that its callers must have to speak
// for it.
const mostCost = 0.8

// movedWithin finds functions that only one side has, although the functions that
// call them cost what they did: frames that were inlined, split or renamed, with
// the same work below. It is for those whose cum changed and whose self did not.
func (r *Result) movedWithin() {
	suspects := make(map[uint32]int) // by function, the side that has it
	for fn := range r.Functions {
		f := &r.Functions[fn]
		if side, ok := f.onlyOn(); ok && f.Verdict != Noise && f.Verdict != Moved && !f.Self.Significant {
			suspects[uint32(fn)] = side
		}
	}
	if len(suspects) == 0 {
		return
	}
	for fn, below := range r.callers(suspects) {
		f := &r.Functions[fn]
		var unchanged int64
		var most caller
		for _, c := range below {
			host := &r.Functions[c.fn].Cum
			change := abs(f.Cum.Diff) * float64(c.value) / float64(f.BaseCum+f.NewCum)
			if abs(host.Diff) <= remainder*change && (r.Per != PerShare || movedShare(host, change)) {
				unchanged += c.value
				if c.value > most.value || c.value == most.value && c.fn < most.fn {
					most = c
				}
			}
		}
		if unchanged > 0 && float64(unchanged) >= mostCost*float64(f.BaseCum+f.NewCum) {
			f.Verdict, f.Within = Moved, r.Functions[most.fn].Name
		}
	}
}

// movedAround finds functions that only one side has, which cost next to nothing but in
// functions below them that both sides have and that did not change alike: wrappers, and
// other ways to the same work.
func (r *Result) movedAround() {
	suspects := make(map[uint32]map[uint32]float64) // by function, what functions below have of it
	for fn := range r.Functions {
		f := &r.Functions[fn]
		if _, ok := f.onlyOn(); ok && f.Verdict != Noise && f.Verdict != Moved {
			suspects[uint32(fn)] = make(map[uint32]float64)
		}
	}
	if len(suspects) == 0 {
		return
	}
	r.eachStack(nil, func(_ int, fns []uint32, v int64) {
		for at, fn := range fns {
			below := suspects[fn]
			if below == nil || slices.Contains(fns[at+1:], fn) {
				continue
			}
			for _, callee := range slices.Backward(fns[:at]) {
				if _, only := r.Functions[callee].onlyOn(); !only && !strings.HasPrefix(r.Functions[callee].Name, "[") {
					below[callee] += float64(v)
					break
				}
			}
		}
	})
	for fn, below := range suspects {
		f := &r.Functions[fn]
		all := float64(f.BaseCum + f.NewCum)
		var same, changed float64
		most := uint32(0)
		for callee, v := range below {
			if v > below[most] || v == below[most] && callee < most {
				most = callee
			}
			same += v
			if c := &r.Functions[callee].Cum; c.Significant && (c.Diff > 0) == (f.Cum.Diff > 0) {
				changed += min(v, abs(c.Diff)/abs(f.Cum.Diff)*all)
			}
		}
		if same >= mostCost*all && changed <= remainder*all {
			f.Verdict, f.Around = Moved, r.Functions[most].Name
		}
	}
}

// caller is a function with what another has of values below it.
type caller struct {
	fn    uint32
	value int64
}

// callers returns, for each suspect on the side that has it, the nearest callers
// that the other side has too, by their numbers.
func (r *Result) callers(suspects map[uint32]int) map[uint32]map[uint32]caller {
	found := make(map[uint32]map[uint32]caller)
	r.eachStack(nil, func(side int, fns []uint32, v int64) {
		r.eachCaller(fns, side, suspects, func(fn, by uint32) {
			if found[fn] == nil {
				found[fn] = make(map[uint32]caller)
			}
			found[fn][by] = caller{by, found[fn][by].value + v}
		})
	})
	return found
}

// eachCaller calls yield with each suspect in a stack, leaf first, and the caller
// next to its first call that the other side has.
func (r *Result) eachCaller(fns []uint32, side int, suspects map[uint32]int, yield func(fn, by uint32)) {
	by, some := uint32(0), false
	for at := len(fns) - 1; at >= 0; at-- {
		fn := fns[at]
		if only, ok := r.Functions[fn].onlyOn(); !ok || only != side {
			by, some = fn, true
			continue
		}
		if s, ok := suspects[fn]; ok && s == side && some && !slices.Contains(fns[at+1:], fn) {
			yield(fn, by)
		}
	}
}
