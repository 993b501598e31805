package diff

import (
	"strings"

	"kprof/convert/stacks"
)

// nameTable numbers the functions of both sides by their folded names. A name as
// a profile has it is an original; several may be one function.
type nameTable struct {
	names      *Names
	functions  []string
	byName     map[string]uint32
	originals  []original
	byOriginal map[originalKey]uint32
	function   []uint32 // by original
}

type originalKey struct {
	name string
	user bool
}

type original struct {
	name  string
	rules []Rule
	sides [2]bool // which have it
}

func newNameTable(n *Names) *nameTable {
	return &nameTable{names: n, byName: make(map[string]uint32), byOriginal: make(map[originalKey]uint32)}
}

// original returns the number of a name that a side has.
func (t *nameTable) original(k originalKey, side int) uint32 {
	o, ok := t.byOriginal[k]
	if !ok {
		folded, rules := t.names.Fold(k.name, k.user)
		if t.names.isTracer(k.name, k.user) {
			rules = append(rules, RuleTracer)
		}
		fn, known := t.byName[folded]
		if !known {
			fn = uint32(len(t.functions))
			t.byName[folded] = fn
			t.functions = append(t.functions, folded)
		}
		o = uint32(len(t.originals))
		t.byOriginal[k] = o
		t.originals = append(t.originals, original{name: k.name, rules: rules})
		t.function = append(t.function, fn)
	}
	t.originals[o].sides[side] = true
	return o
}

// frames holds the originals at each location of a Set, innermost first.
type frames struct {
	table *nameTable
	// one[loc] is the original of a location with a single frame, else many|i, of
	// which the frames are lists[i].
	one   []uint32
	lists [][]uint32
	empty uint32 // the original of a stack without frames
	// tracers are the locations that count for their callers: see Names.isTracer. Nil where none does.
	tracers []bool
	// unnamed are the keys of the mappings whose functions are not told apart.
	unnamed map[string]bool
}

const many = 1 << 31

// hasInline tells whether a profile knows inlined functions.
func hasInline(s *stacks.Set) bool {
	for loc := range s.Locations {
		if len(s.Lines(uint32(loc))) > 1 {
			return true
		}
	}
	return false
}

// newFrames names the locations of a Set. Of inlined functions those are left
// out, to count for their callers, for which keep, if it is not nil, is false.
func newFrames(t *nameTable, s *stacks.Set, side int, collapsed map[string]bool, keep func(fn uint32) bool) *frames {
	f := &frames{table: t, unnamed: collapsed, one: make([]uint32, len(s.Locations))}
	f.empty = t.original(originalKey{name: "[unknown]"}, side)
	unnamed := make([]uint32, len(s.Mappings))
	for i := range s.Mappings {
		unnamed[i] = many
	}
	for loc := range s.Locations {
		l := &s.Locations[loc]
		lines := s.Lines(uint32(loc))
		switch {
		case len(lines) > 0 && !(l.Mapping >= 0 && f.unnamed[mappingKey(&s.Mappings[l.Mapping])]):
			user := l.Kind == stacks.KindUser
			f.one[loc] = f.lines(s, lines, user, side, keep)
			if t.names.isTracer(s.Functions[lines[len(lines)-1].Function].Name, user) {
				if f.tracers == nil {
					f.tracers = make([]bool, len(s.Locations))
				}
				f.tracers[loc] = true
			}
		case l.Mapping >= 0:
			if unnamed[l.Mapping] == many {
				name := s.Mappings[l.Mapping].Unnamed()
				if key := mappingKey(&s.Mappings[l.Mapping]); f.unnamed[key] {
					name = "[" + strings.Trim(key, "[]") + "]"
				}
				unnamed[l.Mapping] = t.original(originalKey{name: name}, side)
			}
			f.one[loc] = unnamed[l.Mapping]
		default:
			f.one[loc] = f.empty
		}
	}
	return f
}

func (f *frames) lines(s *stacks.Set, lines []stacks.Line, user bool, side int, keep func(uint32) bool) uint32 {
	var list []uint32
	for i, l := range lines {
		outermost := i == len(lines)-1
		key := originalKey{s.Functions[l.Function].Name, user}
		if !outermost && keep != nil {
			folded, _ := f.table.names.Fold(key.name, user)
			if fn, known := f.table.byName[folded]; !known || !keep(fn) {
				continue
			}
		}
		o := f.table.original(key, side)
		if outermost && len(list) == 0 {
			return o
		}
		list = append(list, o)
	}
	f.lists = append(f.lists, list)
	return many | uint32(len(f.lists)-1)
}

// counts tells whether location i of a stack is a frame of its own: the outermost always is.
func (f *frames) counts(stack []uint32, i int) bool {
	return f.tracers == nil || !f.tracers[stack[i]] || i == len(stack)-1
}

// leaf returns the original that a stack of at least one location has the values of itself.
func (f *frames) leaf(stack []uint32) uint32 {
	i := 0
	for !f.counts(stack, i) {
		i++
	}
	o := f.one[stack[i]]
	if o >= many {
		o = f.lists[o&^many][0]
	}
	return o
}

// appendFunctions appends the functions of a stack, leaf first, at least one.
// Neighbours that are one function by another name, such as a system call and its
// wrapper, become one; a function that calls itself does not.
func (f *frames) appendFunctions(dst []uint32, stack []uint32) []uint32 {
	if len(stack) == 0 {
		return append(dst, f.table.function[f.empty])
	}
	last, before := uint32(many), uint32(many)
	for i, loc := range stack {
		if !f.counts(stack, i) {
			continue
		}
		o := f.one[loc]
		if o < many {
			if fn := f.table.function[o]; fn != last || o == before {
				dst, last = append(dst, fn), fn
			}
			before = o
			continue
		}
		for _, o := range f.lists[o&^many] {
			if fn := f.table.function[o]; fn != last || o == before {
				dst, last = append(dst, fn), fn
			}
			before = o
		}
	}
	return dst
}

// align names the locations of all runs of both sides by one table. onlyIn is the
// side that alone has inlined functions, or -1.
//
// Inlined functions are frames where both sides know them. Where one side knows
// none, those of the other are kept that are functions of their own on the first:
// these are what its compiler did not inline. The rest counts for the callers, as
// it does on the first.
func align(runs [2][]Run, n *Names, collapsed map[string]bool) (t *nameTable, f [2][]*frames, onlyIn int) {
	t = newNameTable(n)
	var inline [2]bool
	for side := range runs {
		for _, r := range runs[side] {
			inline[side] = inline[side] || hasInline(r.Set)
		}
	}
	name := func(side int, keep func(uint32) bool) {
		for _, r := range runs[side] {
			f[side] = append(f[side], newFrames(t, r.Set, side, collapsed, keep))
		}
	}
	if inline[0] == inline[1] {
		name(0, nil)
		name(1, nil)
		return t, f, -1
	}
	with := 0
	if inline[1] {
		with = 1
	}
	name(1-with, nil)
	physical := uint32(len(t.functions))
	name(with, func(fn uint32) bool { return fn < physical })
	return t, f, with
}
