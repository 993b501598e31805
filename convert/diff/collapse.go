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
	type count struct{ named, all float64 }
	var counts [2]map[string]*count
	for side := range r.runs {
		counts[side] = map[string]*count{}
		for i := range r.runs[side] {
			run := &r.runs[side][i]
			s := run.Set
			mappings := make([]*count, len(s.Mappings))
			for m := range s.Mappings {
				key := mappingKey(&s.Mappings[m])
				if counts[side][key] == nil {
					counts[side][key] = &count{}
				}
				mappings[m] = counts[side][key]
			}
			names := make([]bool, len(s.Locations))
			for loc := range names {
				names[loc] = named(s, uint32(loc))
			}
			for id, v := range run.stackValues() {
				stack := s.Stack(stacks.StackID(id))
				if v == 0 || len(stack) == 0 {
					continue
				}
				for _, loc := range stack {
					m := s.Locations[loc].Mapping
					if m < 0 {
						continue
					}
					mappings[m].all += float64(v)
					if names[loc] {
						mappings[m].named += float64(v)
					}
				}
			}
		}
	}
	var collapsed map[string]bool
	for _, key := range slices.Sorted(maps.Keys(counts[0])) {
		a, b := counts[0][key], counts[1][key]
		if b == nil || a.all == 0 || b.all == 0 || key == "." || key == "" {
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

var sideText = [...]string{"the base", "the new side"}

// named tells whether a location has the name of a function, and not of its file.
func named(s *stacks.Set, loc uint32) bool {
	lines := s.Lines(loc)
	return len(lines) > 0 && !strings.HasPrefix(s.Functions[lines[0].Function].Name, "[")
}
