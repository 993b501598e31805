package calltree

import (
	"slices"

	"kprof/convert/stacks"
)

// Frames is what the locations of a Set stand for: the frames that outputs show, each
// distinct one once.
type Frames struct {
	Names []string // distinct
	All   []Frame
	// Nothing is the frame of a stack without any, an index into All.
	Nothing uint32

	// ids[offsets[loc]:offsets[loc+1]] are the frames of a location, innermost first,
	// at least one.
	ids     []uint32
	offsets []uint32

	unknown uint32           // the name "[unknown]"
	known   map[Frame]uint32 // while they are found
}

// Frame is a function, and where it is from.
type Frame struct {
	Name    uint32 // index into Frames.Names
	Kind    FrameKind
	Code    stacks.Kind // of the location
	Mapping int32       // index into Set.Mappings, or stacks.NoMapping
	File    string      // source file, "" if unknown
	// StartLine is where the function begins in File, Line the place in it: 0 if
	// unknown, and without FrameOptions.Lines; StartLine is there with Starts too.
	StartLine, Line int64
}

// FrameOptions say what frames are told apart by, besides name, code and files.
type FrameOptions struct {
	// Lines tells them apart by their lines.
	Lines bool
	// Starts tells them apart by where functions begin.
	Starts bool
	// LineNames makes the line a part of the name, where it is known.
	LineNames bool
}

// unknownName is what a function without a name is called, and a stack without frames.
const unknownName = "[unknown]"

// NewFrames finds the frames of a Set. A function without a name is called
// "[unknown]".
func NewFrames(s *stacks.Set, o FrameOptions) *Frames {
	n := s.Names()
	if o.LineNames {
		n = s.NamesWithLines()
	}
	t := &Frames{Names: n.Names, ids: make([]uint32, 0, len(s.Locations)), offsets: make([]uint32, 1, len(s.Locations)+1), known: make(map[Frame]uint32)}
	t.unknown = t.name(unknownName)
	// place is what a Frame depends on, without the text.
	type place struct {
		name, function uint32
		mapping        int32
		code           stacks.Kind
		inlined        bool
		line           int64
	}
	places := make(map[place]uint32)
	for i := range s.Locations {
		loc, names, lines := &s.Locations[i], n.Of(uint32(i)), s.Lines(uint32(i))
		t.ids = append(t.ids, names...)
		ids := t.ids[len(t.ids)-len(names):]
		for j, name := range slices.Backward(names) {
			p := place{name: name, function: none, mapping: loc.Mapping, code: loc.Kind, inlined: j < len(names)-1}
			if len(lines) > 0 {
				p.function = lines[j].Function
				if o.Lines {
					p.line = lines[j].Line
				}
			}
			id, ok := places[p]
			if !ok {
				f := Frame{Name: name, Kind: KindOf(loc, p.inlined, t.Names[name]), Code: p.code, Mapping: p.mapping, Line: p.line}
				if p.function != none {
					fn := &s.Functions[p.function]
					if f.File = fn.File; o.Lines || o.Starts {
						f.StartLine = fn.StartLine
					}
				}
				id = t.id(f)
				places[p] = id
			}
			ids[j] = id
		}
		t.offsets = append(t.offsets, uint32(len(t.ids)))
	}
	t.known = nil
	t.Nothing = t.Add(unknownName)
	return t
}

// Add returns a frame that is no code, called name.
func (t *Frames) Add(name string) uint32 {
	f := Frame{Name: t.name(name), Kind: FrameUnknown, Mapping: stacks.NoMapping}
	if i := slices.Index(t.All, f); i >= 0 {
		return uint32(i)
	}
	t.All = append(t.All, f)
	return uint32(len(t.All) - 1)
}

func (t *Frames) id(f Frame) uint32 {
	if t.Names[f.Name] == "" {
		f.Name = t.unknown
	}
	id, ok := t.known[f]
	if !ok {
		id = uint32(len(t.All))
		t.known[f] = id
		t.All = append(t.All, f)
	}
	return id
}

// name is the number of a name, which is added if it is new.
func (t *Frames) name(name string) uint32 {
	if i := slices.Index(t.Names, name); i >= 0 {
		return uint32(i)
	}
	t.Names = append(t.Names, name)
	return uint32(len(t.Names) - 1)
}

// Of returns the frames of a location as indices into All, innermost first, at
// least one. The slice belongs to t.
func (t *Frames) Of(loc uint32) []uint32 { return t.ids[t.offsets[loc]:t.offsets[loc+1]] }

// AppendStack appends the frames of a stack, outermost first, at least one.
func (t *Frames) AppendStack(dst, stack []uint32) []uint32 {
	if len(stack) == 0 {
		return append(dst, t.Nothing)
	}
	for _, loc := range slices.Backward(stack) {
		for _, id := range slices.Backward(t.Of(loc)) {
			dst = append(dst, id)
		}
	}
	return dst
}
