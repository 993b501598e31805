package viewer

import (
	"slices"

	"kprof/convert/calltree"
	"kprof/convert/stacks"
)

// frameTable gives the frames of a Set the numbers by which an export refers to what
// it names once. Numbers are in the order of locations, those inlined first.
type frameTable struct {
	set       *stacks.Set
	table     *calltree.Frames
	functions []function
	frames    []frameLine
	of        []uint32 // by frame of table, index into frames
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
	t := &frameTable{set: s, table: calltree.NewFrames(s, calltree.FrameOptions{Lines: true})}
	type key struct {
		name    uint32
		kind    stacks.Kind
		mapping int32
	}
	functions, frames := map[key]uint32{}, map[frameLine]uint32{}
	mappings := distinctMappings(s)
	t.of = slices.Repeat([]uint32{none}, len(t.table.All))
	number := func(id uint32) {
		if t.of[id] != none {
			return
		}
		from := &t.table.All[id]
		k := key{from.Name, from.Code, from.Mapping}
		if k.mapping >= 0 {
			k.mapping = mappings[k.mapping]
		}
		fn, ok := functions[k]
		if !ok {
			fn = uint32(len(t.functions))
			functions[k] = fn
			t.functions = append(t.functions, function{name: t.table.Names[k.name], kind: k.kind, mapping: k.mapping})
		}
		if f := &t.functions[fn]; f.source == "" {
			f.source, f.startLine = from.File, from.StartLine
		}
		x := frameLine{fn, from.Line}
		if t.of[id], ok = frames[x]; !ok {
			t.of[id] = uint32(len(t.frames))
			frames[x] = t.of[id]
			t.frames = append(t.frames, x)
		}
	}
	for loc := range s.Locations {
		for _, id := range t.table.Of(uint32(loc)) {
			number(id)
		}
	}
	for id := range s.NumStacks() {
		if len(s.Stack(stacks.StackID(id))) == 0 {
			number(t.table.Nothing)
			break
		}
	}
	return t
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
	start := len(dst)
	dst = t.table.AppendStack(dst, t.set.Stack(id))
	for i := range dst[start:] {
		dst[start+i] = t.of[dst[start+i]]
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
