// Package annotate shows where in the code of a function samples fell: its instructions with
// what they cost themselves and with what they call, and the source lines they come from.
package annotate

import (
	"fmt"
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/spelling"
	"kprof/symbolize"
)

// Options say what of a Set is annotated. The zero value is the first column of the first
// event.
type Options struct {
	// Event is an index into Set.Events, Column which of its values is added up.
	Event, Column int
}

// Listing is a function with its instructions.
type Listing struct {
	Function string // as its file calls it
	Mapping  stacks.Mapping
	Path     string // of the file with the code
	// Self is what the function cost itself, Cum that with all it calls, as the sum over
	// Rows may not be: a function that calls itself has a sample in several.
	Self, Cum int64
	Rows      []Row
}

// Row is an instruction, or as many nops in a row as there are.
type Row struct {
	Off  uint64 // from the start of the function
	Text string // GNU's syntax
	// Self is of samples that were taken at the instruction, Cum also of those whose stack
	// has it, as a call has what is called.
	Self, Cum int64
	Source    Source
}

// Source is the line that an instruction comes from, zero where it is not known.
type Source struct {
	Function string // the innermost inlined one
	File     string
	Line     int
}

// Missing is code with samples of the function whose instructions are not to be had.
type Missing struct {
	Mapping   stacks.Mapping
	Self, Cum int64
	Err       error
}

// Inlined is code that a function was inlined into, with what that cost: its instructions are in
// the listing of what has them.
type Inlined struct {
	Into      string // the function that has its instructions
	Self, Cum int64
}

// Annotation is what there is of a function: several Listings where several files have one
// of its name, or a compiler has put it in pieces, the costliest first.
type Annotation struct {
	Listings []*Listing
	Missing  []Missing
	Inlined  []Inlined // where it has code of its own too, the costliest first
	Total    int64     // of all samples of the event
}

// UnknownFunctionError says that no stack has a function.
type UnknownFunctionError struct {
	Name string
	Near []string // names that are much alike
}

func (e *UnknownFunctionError) Error() string {
	return fmt.Sprintf("no stack has a function %q%s", e.Name, spelling.Question(e.Near))
}

// InlinedError says that a function has no code of its own.
type InlinedError struct {
	Name string
	Into []string // functions that have its instructions, sorted
}

func (e *InlinedError) Error() string {
	return fmt.Sprintf("%s was inlined into %s", e.Name, strings.Join(e.Into, ", "))
}

// Function annotates a function, by the name that the Set has for it or that of the linker.
// Where none of its code is to be had, Listings is empty. Errors are those of the Set's
// columns, *UnknownFunctionError and *InlinedError: no sample of the event is in code of its own.
func Function(s *stacks.Set, name string, files *symbolize.Symbolizer, o Options) (*Annotation, error) {
	if err := s.CheckColumn(o.Event, o.Column); err != nil {
		return nil, err
	}
	is, into, err := locations(s, name)
	if err != nil {
		return nil, err
	}
	g := newGroups(len(s.Locations))
	byPath := map[string][]place{}
	at := map[string]*symbolize.Code{} // by path
	code := map[int32]*symbolize.Code{}
	failed := map[int32]error{}
	for loc := range is {
		if !is[loc] {
			continue
		}
		m := s.Locations[loc].Mapping
		if code[m] == nil && failed[m] == nil {
			if m < 0 {
				failed[m] = errNoMapping
			} else {
				if code[m], failed[m] = files.Code(s.Mappings[m]); failed[m] == nil {
					failed[m] = code[m].Unplaced
				}
			}
		}
		if failed[m] != nil {
			g.miss(m, uint32(loc), failed[m])
			continue
		}
		p, path := place{loc: uint32(loc)}, code[m].Path
		addr := s.Locations[loc].Addr
		if s.Locations[loc].Kind.ByOffset() {
			addr += s.Mappings[m].Offset - s.Mappings[m].Start
		}
		p.vaddr, p.in = code[m].Vaddr(addr)
		byPath[path], at[path] = append(byPath[path], p), code[m]
	}
	for path, places := range byPath {
		g.find(s, at[path], places)
	}
	c := count(s, g, o)
	a := g.annotation(s, c)
	a.Inlined = into.count(s, o)
	if len(a.Listings)+len(a.Missing) == 0 && len(a.Inlined) > 0 {
		e := &InlinedError{Name: name}
		for _, x := range a.Inlined {
			e.Into = append(e.Into, x.Into)
		}
		slices.Sort(e.Into)
		return nil, e
	}
	return a, nil
}

// locations marks those of the function called name, and where it was inlined.
func locations(s *stacks.Set, name string) (is []bool, in inlined, err error) {
	called := make([]bool, len(s.Functions))
	known := false
	for i := range s.Functions {
		called[i] = s.Functions[i].Name == name || s.Functions[i].SystemName == name
		known = known || called[i]
	}
	is = make([]bool, len(s.Locations))
	found := false
	in = inlined{}
	for loc := range is {
		lines := s.Lines(uint32(loc))
		if len(lines) == 0 {
			continue
		}
		outer := lines[len(lines)-1].Function
		is[loc] = called[outer]
		found = found || is[loc]
		if at := slices.IndexFunc(lines, func(l stacks.Line) bool { return called[l.Function] }); !is[loc] && at >= 0 {
			in[uint32(loc)] = inlinedAt{into: s.Functions[outer].Name, innermost: at == 0}
		}
	}
	switch {
	case found:
		return is, in, nil
	case len(in) > 0:
		return nil, nil, &InlinedError{Name: name, Into: in.names()}
	case known: // a function that no location has
		return nil, nil, &UnknownFunctionError{Name: name}
	}
	names := make([]string, len(s.Functions))
	for i := range names {
		names[i] = s.Functions[i].Name
	}
	return nil, nil, &UnknownFunctionError{Name: name, Near: spelling.Closest(name, names)}
}
