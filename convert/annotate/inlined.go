package annotate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// inlined are the locations, by index, of code that a function was inlined into.
type inlined map[uint32]inlinedAt

type inlinedAt struct {
	into      string
	innermost bool // nothing else was inlined into it there
}

// names are the functions that have the code, sorted.
func (in inlined) names() []string {
	names := map[string]bool{}
	for _, at := range in {
		names[at.into] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// count adds up the samples that have the locations, by the function that has the code, the
// costliest first. A sample counts once for each.
func (in inlined) count(s *stacks.Set, o Options) []Inlined {
	if len(in) == 0 {
		return nil
	}
	sums := map[string]*Inlined{}
	seen := map[string]int{} // the last sample that was counted, plus 1
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if x.Event != o.Event {
			continue
		}
		v := x.Values[o.Column]
		for j, loc := range s.Stack(x.Stack) {
			at, ok := in[loc]
			if !ok {
				continue
			}
			sum := sums[at.into]
			if sum == nil {
				sum = &Inlined{Into: at.into}
				sums[at.into] = sum
			}
			if j == 0 && at.innermost {
				sum.Self += v
			}
			if seen[at.into] != i+1 {
				seen[at.into] = i + 1
				sum.Cum += v
			}
		}
	}
	var all []Inlined
	for _, sum := range sums {
		if sum.Cum != 0 {
			all = append(all, *sum)
		}
	}
	slices.SortFunc(all, func(a, b Inlined) int {
		return cmp.Or(cmp.Compare(b.Cum, a.Cum), strings.Compare(a.Into, b.Into))
	})
	return all
}
