package render

import (
	"slices"

	"kprof/convert/stacks"
)

// pageFrame is what a node of a page shows. Nodes are told apart by name only, and
// have the frame that came first.
type pageFrame struct {
	name    uint32 // index into pageFrames.names
	kind    FrameKind
	mapping int32  // index into Set.Mappings, or stacks.NoMapping
	file    string // source file, "" if unknown
}

// pageFrames is the frames that the locations of a Set stand for, each once.
type pageFrames struct {
	names []string
	all   []pageFrame
	// of[offsets[loc]:offsets[loc+1]] are indices into all, outermost first, at
	// least one.
	of      []uint32
	offsets []uint32
	// nothing is what a stack without any location shows, cut what stands for
	// frames that were left out.
	nothing, cut uint32
}

func newPageFrames(s *stacks.Set) *pageFrames {
	n := s.Names()
	t := &pageFrames{names: n.Names, offsets: make([]uint32, 1, len(s.Locations)+1)}
	ids := make(map[pageFrame]uint32)
	id := func(f pageFrame) uint32 {
		i, ok := ids[f]
		if !ok {
			i = uint32(len(t.all))
			ids[f] = i
			t.all = append(t.all, f)
		}
		return i
	}
	unknown := t.name("[unknown]")
	for i := range s.Locations {
		loc, names := &s.Locations[i], n.Of(uint32(i))
		lines := s.Lines(uint32(i))
		for j := len(names) - 1; j >= 0; j-- {
			f := pageFrame{name: names[j], kind: kindOfFrame(loc, j < len(names)-1, n.Names[names[j]]), mapping: loc.Mapping}
			if t.names[f.name] == "" {
				f.name = unknown
			}
			if len(lines) > 0 {
				f.file = s.Functions[lines[j].Function].File
			}
			t.of = append(t.of, id(f))
		}
		t.offsets = append(t.offsets, uint32(len(t.of)))
	}
	t.nothing = id(pageFrame{name: unknown, kind: FrameUnknown, mapping: stacks.NoMapping})
	t.cut = id(pageFrame{name: t.name("…"), kind: FrameUnknown, mapping: stacks.NoMapping})
	return t
}

// name is the number of a name, which is added if it is new.
func (t *pageFrames) name(name string) uint32 {
	if i := slices.Index(t.names, name); i >= 0 {
		return uint32(i)
	}
	t.names = append(t.names, name)
	return uint32(len(t.names) - 1)
}

// at is the frames of a location, outermost first.
func (t *pageFrames) at(loc uint32) []uint32 { return t.of[t.offsets[loc]:t.offsets[loc+1]] }
