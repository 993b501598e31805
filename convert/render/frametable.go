package render

import "kprof/convert/stacks"

// frameTable gives the locations of a Set frames by number: what an export names
// once and then refers to.
type frameTable struct {
	set       *stacks.Set
	functions []function
	frames    []frameLine
	// ids[offsets[loc]:offsets[loc+1]] are the frames of a location, innermost
	// first.
	ids     []uint32
	offsets []uint32
	nothing uint32 // the frame of a stack without any
}

// function is what frames are told apart by: a name in one file of code.
type function struct {
	name      string
	kind      stacks.Kind
	mapping   int32  // the first of that file and build id, or NoMapping
	source    string // file, "" if unknown
	startLine int64  // 0 if unknown
}

// frameLine is a function, and the line in it where lines are known.
type frameLine struct {
	function uint32
	line     int64 // 0 if unknown
}

func newFrameTable(s *stacks.Set) *frameTable {
	t := &frameTable{set: s, offsets: make([]uint32, 1, len(s.Locations)+1)}
	type key struct {
		name    uint32
		kind    stacks.Kind
		mapping int32
	}
	functions, frames := map[key]uint32{}, map[frameLine]uint32{}
	mappings := distinctMappings(s)
	names := s.Names()
	for loc := range s.Locations {
		l := &s.Locations[loc]
		k := key{kind: l.Kind, mapping: stacks.NoMapping}
		if l.Mapping >= 0 {
			k.mapping = mappings[l.Mapping]
		}
		lines := s.Lines(uint32(loc))
		for i, name := range names.Of(uint32(loc)) {
			k.name = name
			id, ok := functions[k]
			if !ok {
				id = uint32(len(t.functions))
				functions[k] = id
				t.functions = append(t.functions, function{name: names.Names[name], kind: k.kind, mapping: k.mapping})
			}
			f := frameLine{function: id}
			if len(lines) > 0 {
				f.line = lines[i].Line
				if from := &s.Functions[lines[i].Function]; t.functions[id].source == "" {
					t.functions[id].source, t.functions[id].startLine = from.File, from.StartLine
				}
			}
			n, ok := frames[f]
			if !ok {
				n = uint32(len(t.frames))
				frames[f] = n
				t.frames = append(t.frames, f)
			}
			t.ids = append(t.ids, n)
		}
		t.offsets = append(t.offsets, uint32(len(t.ids)))
	}
	t.addNothing()
	return t
}

// addNothing adds the frame "[unknown]", if a stack has no frames.
func (t *frameTable) addNothing() {
	for id := range t.set.NumStacks() {
		if len(t.set.Stack(stacks.StackID(id))) == 0 {
			t.nothing = uint32(len(t.frames))
			t.frames = append(t.frames, frameLine{function: uint32(len(t.functions))})
			t.functions = append(t.functions, function{name: "[unknown]", mapping: stacks.NoMapping})
			return
		}
	}
}

// distinctMappings returns for each mapping the first of the same file and build
// id.
func distinctMappings(s *stacks.Set) []int32 {
	type key struct{ file, build string }
	first := make(map[key]int32)
	of := make([]int32, len(s.Mappings))
	for i := range s.Mappings {
		k := key{s.Mappings[i].File, s.Mappings[i].BuildID}
		if _, ok := first[k]; !ok {
			first[k] = int32(i)
		}
		of[i] = first[k]
	}
	return of
}

// appendFrames appends the frames of a stack, outermost first, at least one.
func (t *frameTable) appendFrames(dst []uint32, id stacks.StackID) []uint32 {
	stack := t.set.Stack(id)
	if len(stack) == 0 {
		return append(dst, t.nothing)
	}
	for i := len(stack) - 1; i >= 0; i-- {
		of := t.ids[t.offsets[stack[i]]:t.offsets[stack[i]+1]]
		for k := len(of) - 1; k >= 0; k-- {
			dst = append(dst, of[k])
		}
	}
	return dst
}

// appendFunctions appends the functions of a stack, outermost first.
func (t *frameTable) appendFunctions(dst []uint32, id stacks.StackID) []uint32 {
	start := len(dst)
	dst = t.appendFrames(dst, id)
	for i := range dst[start:] {
		dst[start+i] = t.frames[dst[start+i]].function
	}
	return dst
}

// file is what a function is from: its source file, or what holds its code.
func (t *frameTable) file(f *function) string {
	switch {
	case f.source != "":
		return f.source
	case f.mapping >= 0:
		return t.set.Mappings[f.mapping].File
	}
	return ""
}
