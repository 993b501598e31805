package stacks

import "strings"

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
func (s *Set) Names() *Names {
	n := &Names{offsets: make([]uint32, 1, len(s.Locations)+1)}
	ids := make(map[string]uint32)
	id := func(name string) uint32 {
		i, ok := ids[name]
		if !ok {
			i = uint32(len(n.Names))
			ids[name] = i
			n.Names = append(n.Names, name)
		}
		return i
	}
	for loc := range s.Locations {
		for _, l := range s.Lines(uint32(loc)) {
			n.frames = append(n.frames, id(s.Functions[l.Function].Name))
		}
		if s.Locations[loc].lines == 0 {
			n.frames = append(n.frames, id(s.unnamed(uint32(loc))))
		}
		n.offsets = append(n.offsets, uint32(len(n.frames)))
	}
	return n
}

// Of returns the frames of a location as indices into n.Names, innermost first,
// at least one. The slice belongs to n.
func (n *Names) Of(loc uint32) []uint32 {
	return n.frames[n.offsets[loc]:n.offsets[loc+1]]
}

func (s *Set) unnamed(loc uint32) string {
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

// Unnamed is what a frame in m is called when its function is not known: the
// last element of the file's path in brackets, as stackcollapse-perf.pl has it,
// or "[unknown]" where no file is known either.
func (m *Mapping) Unnamed() string {
	name := m.File[strings.LastIndexByte(m.File, '/')+1:]
	if name == "" {
		return "[unknown]"
	}
	return "[" + name + "]"
}
