//go:build linux

package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// shape is what lines that differ only in the names of frames have in common.
type shape struct {
	comm   string
	frames int
}

func shapeOf(line string) shape {
	comm, _, _ := strings.Cut(line, ";")
	return shape{comm, strings.Count(line, ";")}
}

// settle takes the lines with a boundary from the lines that they stand for.
// It returns the weight that found no line.
func settle(atStart, lines map[string]uint64) (unsettled map[string]uint64) {
	byShape := map[shape][]string{}
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		byShape[shapeOf(line)] = append(byShape[shapeOf(line)], line)
	}
	// What fits in fewest ways goes first: few boundaries, each standing for a
	// frame. Then those that stand for none.
	boundaries := func(line string) int { return strings.Count(line, boundary) }
	unsettled = maps.Clone(atStart)
	order := slices.SortedFunc(maps.Keys(atStart), func(a, b string) int {
		return cmp.Or(boundaries(a)-boundaries(b), strings.Compare(a, b))
	})
	for without := 0; len(unsettled) > 0 && without < 64; without++ {
		for _, b := range order {
			weight, left := unsettled[b]
			if !left || without > boundaries(b) {
				continue
			}
			want, s := strings.Split(b, ";"), shapeOf(b)
			s.frames -= without
			for _, line := range byShape[s] {
				n := min(weight, lines[line])
				if n == 0 || !fits(want, strings.Split(line, ";")) {
					continue
				}
				weight -= n
				if lines[line] -= n; lines[line] == 0 {
					delete(lines, line)
				}
			}
			if unsettled[b] = weight; weight == 0 {
				delete(unsettled, b)
			}
		}
	}
	return unsettled
}

// fits reports whether frames are those wanted, a boundary being any other than
// perf's, or none.
func fits(want, frames []string) bool {
	// rest[j] is whether frames[j:] are what is wanted from one frame on: of a chain
	// with many boundaries each can be a frame or none.
	rest := make([]bool, len(frames)+1)
	rest[len(frames)] = true
	for _, frame := range slices.Backward(want) {
		theirs, odd := strings.CutPrefix(frame, boundary)
		for j := range frames {
			rest[j] = odd && (rest[j] || theirs != frames[j] && rest[j+1]) || !odd && theirs == frames[j] && rest[j+1]
		}
		rest[len(frames)] = odd && rest[len(frames)]
	}
	return rest[0]
}

func TestFits(t *testing.T) {
	type stacks struct{ want, frames string }
	livetest.Table(t, func(s stacks) bool {
		var frames []string
		if s.frames != "" {
			frames = strings.Split(s.frames, ";")
		}
		return fits(strings.Split(s.want, ";"), frames)
	}, map[stacks]bool{
		{"a;b", "a;b"}:                     true,
		{"a;b", "a"}:                       false,
		{"a", "a;b"}:                       false,
		{"a;" + boundary + "b;c", "a;c"}:   true,
		{"a;" + boundary + "b;c", "a;x;c"}: true,
		{"a;" + boundary + "b;c", "a;b;c"}: false,
		{boundary + "b", ""}:               true,
		{strings.Repeat(boundary+"b;", 100) + "c", strings.Repeat("x;", 60) + "d"}: false,
	})
}
