package stacks

import (
	"strconv"
	"strings"

	"kprof/convert/intern"
)

// Names gives every location the names of its frames, each distinct name once:
// what folded stacks, flame graphs and tables show and merge by.
type Names struct {
	Names []string // distinct names
	// frames[offsets[loc]:offsets[loc+1]] are indices into Names, innermost first.
	frames  []uint32
	offsets []uint32
}

// Names returns the names of all locations. A location without a function is
// called by what holds it (see Mapping.Unnamed), so every location has at least
// one name.
func (s *Set) Names() *Names { return s.names(false) }

// NamesWithLines is Names with the base name of the source file and the line
// behind each, as in "main main.c:12", where they are known.
func (s *Set) NamesWithLines() *Names { return s.names(true) }

func (s *Set) names(lines bool) *Names {
	n := &Names{offsets: make([]uint32, 1, len(s.Locations)+1)}
	var all intern.Strings
	for loc := range s.Locations {
		for _, l := range s.Lines(uint32(loc)) {
			f := &s.Functions[l.Function]
			name := f.Name
			if lines && f.File != "" && l.Line > 0 {
				name += " " + f.File[strings.LastIndexByte(f.File, '/')+1:] + ":" + strconv.FormatInt(l.Line, 10)
			}
			n.frames = append(n.frames, all.ID(name))
		}
		if s.Locations[loc].lines == 0 {
			n.frames = append(n.frames, all.ID(s.PlaceName(uint32(loc))))
		}
		n.offsets = append(n.offsets, uint32(len(n.frames)))
	}
	n.Names = all.All
	return n
}

// Of returns the frames of a location as indices into n.Names, innermost first,
// at least one. The slice belongs to n.
func (n *Names) Of(loc uint32) []uint32 {
	return n.frames[n.offsets[loc]:n.offsets[loc+1]]
}

// PlaceName is what a location without a function is called: by what holds it, as in
// "[gzip]" (see Mapping.Unnamed).
func (s *Set) PlaceName(loc uint32) string {
	if m := s.Locations[loc].Mapping; m >= 0 {
		return s.Mappings[m].Unnamed()
	}
	switch s.Locations[loc].Kind {
	case KindHypervisor:
		return "[hypervisor]"
	case KindGuest:
		return "[guest]"
	}
	return "[unknown]"
}

// IsLabel reports whether a location stands for the value of a label, as convert.Profile.Reshape
// makes them: in no mapping, with a function that only has a name and, for its file, the label's key.
func (s *Set) IsLabel(loc uint32) bool {
	l, lines := &s.Locations[loc], s.Lines(loc)
	if l.Mapping >= 0 || l.Addr != 0 || len(lines) != 1 {
		return false
	}
	f := &s.Functions[lines[0].Function]
	return f.SystemName == "" && f.File != "" && f.Name != "" && f.StartLine == 0
}

// DropAddresses leaves locations their names alone: for addresses that only told them apart
// until they had some.
func (s *Set) DropAddresses() {
	for i := range s.Locations {
		s.Locations[i].Addr, s.Locations[i].Mapping = 0, NoMapping
	}
	s.Mappings = s.Mappings[:0]
}
