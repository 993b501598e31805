package diff

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// mappingKey is what a mapping is matched by on both sides.
func mappingKey(m *stacks.Mapping) string {
	if m.Kind == stacks.KindKernel {
		return "[kernel]"
	}
	return path.Base(m.File)
}

const (
	// A side has no names of a mapping if it names less than littleNamed of its samples
	// there, and has them from mostNamed on.
	littleNamed, mostNamed = 0.1, 0.5
)

// collapse finds the mappings of which one side has the names of functions and the
// other has not: of both sides, they are one function each.
func (r *Result) collapse() map[string]bool {
	counts := r.countNamed()
	var collapsed map[string]bool
	for _, key := range slices.Sorted(maps.Keys(counts[0])) {
		a, b := counts[0][key], counts[1][key]
		if b == nil || a.all == 0 || b.all == 0 {
			continue
		}
		base, new := a.named/a.all, b.named/b.all
		with := 0
		switch {
		case base >= mostNamed && new < littleNamed:
		case new >= mostNamed && base < littleNamed:
			with = 1
		default:
			continue
		}
		if collapsed == nil {
			collapsed = map[string]bool{}
		}
		collapsed[key] = true
		r.Notes = append(r.Notes, fmt.Sprintf("only %s has names of the functions in %s: it is compared as one", sideText[with], strings.Trim(key, "[]")))
	}
	return collapsed
}

// ofNames is how much of the samples in a mapping has names.
type ofNames struct {
	named, all      float64
	some, lacksSome bool // locations with names, and without
}

// countNamed sums up the samples in the mappings of both sides, each by their key, as far as one
// of the sides could lack names that the other has.
func (r *Result) countNamed() (counts [2]map[string]*ofNames) {
	var at [2][][]*ofNames // by run and mapping
	for side := range r.runs {
		counts[side] = map[string]*ofNames{}
		for i := range r.runs[side] {
			s := r.runs[side][i].Set
			mappings := make([]*ofNames, len(s.Mappings))
			for m := range s.Mappings {
				key := mappingKey(&s.Mappings[m])
				if counts[side][key] == nil {
					counts[side][key] = &ofNames{}
				}
				mappings[m] = counts[side][key]
			}
			for loc := range s.Locations {
				if m := s.Locations[loc].Mapping; m >= 0 {
					is := named(s, uint32(loc))
					mappings[m].some = mappings[m].some || is
					mappings[m].lacksSome = mappings[m].lacksSome || !is
				}
			}
			at[side] = append(at[side], mappings)
		}
	}
	could := false
	for key, a := range counts[0] {
		b := counts[1][key]
		if b == nil || key == "." || key == "" || !(a.some && b.lacksSome || b.some && a.lacksSome) {
			delete(counts[0], key)
		} else {
			could = true
		}
	}
	if !could {
		return counts
	}
	for side := range r.runs {
		for i := range r.runs[side] {
			run := &r.runs[side][i]
			s := run.Set
			sums := make([]int64, len(s.Locations))
			for id, v := range run.stackValues() {
				if v == 0 {
					continue
				}
				for _, loc := range s.Stack(stacks.StackID(id)) {
					sums[loc] += v
				}
			}
			for loc, v := range sums {
				m := s.Locations[loc].Mapping
				if m < 0 {
					continue
				}
				c := at[side][i][m]
				if c.all += float64(v); named(s, uint32(loc)) {
					c.named += float64(v)
				}
			}
		}
	}
	return counts
}

var sideText = [...]string{"the base", "the new side"}

// named tells whether a location has the name of a function, and not of its file.
func named(s *stacks.Set, loc uint32) bool {
	lines := s.Lines(loc)
	return len(lines) > 0 && !strings.HasPrefix(s.Functions[lines[0].Function].Name, "[")
}
