package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kprof/convert/diff"
)

// A comm that has at least muchMore of one side's total, and less than a tenth of
// that of the other's, is told.
const muchMore, muchLess = 0.03, 0.1

// OneSided is programs that only one side recorded, next to others that both did: on a
// whole machine, what ran besides the load.
type OneSided struct {
	Programs []OneSidedProgram
	Common   string // the program of both sides with the most samples
}

// OneSidedProgram is a program that one side alone recorded.
type OneSidedProgram struct {
	Comm  string
	Side  int     // 0 base, 1 new
	Share float64 // of that side's total
}

var sideNames = [2]string{"base", "new"}

func (o *OneSided) String() string {
	var programs []string
	for _, p := range o.Programs {
		programs = append(programs, fmt.Sprintf("%s (%.0f%% of %s)", p.Comm, 100*p.Share, sideNames[p.Side]))
	}
	return "programs that only one side recorded make differences too: " + strings.Join(programs, ", ")
}

// oneSided finds the programs that only one side recorded, nil for none.
func oneSided(runs [2][]diff.Run) *OneSided {
	var shares [2]map[string]float64
	for side := range runs {
		shares[side] = map[string]float64{}
		for i := range runs[side] {
			r := &runs[side][i]
			of := commShares(r.Set, r.Event, r.Column)
			if of == nil {
				return nil
			}
			for comm, share := range of {
				shares[side][comm] += share / float64(len(runs[side]))
			}
		}
	}
	var one OneSided
	for side := range shares {
		for _, comm := range slices.Sorted(maps.Keys(shares[side])) {
			share := shares[side][comm]
			switch other := shares[1-side][comm]; {
			case share >= muchMore && other < muchLess*share:
				one.Programs = append(one.Programs, OneSidedProgram{comm, side, share})
			case share > 0 && other > 0 && (one.Common == "" || share+other > shares[0][one.Common]+shares[1][one.Common]):
				one.Common = comm
			}
		}
	}
	if len(one.Programs) == 0 || shares[0][one.Common]+shares[1][one.Common] < muchMore {
		return nil
	}
	return &one
}
