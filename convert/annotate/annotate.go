// Package annotate shows where in the code of a function samples fell: its instructions with
// what they cost themselves and with what they call, and the source lines they come from.
package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/spelling"
	"kprof/symbolize"
	"kprof/symbolize/disasm"
	"kprof/symbolize/elfsym"
)

// Options say what of a Set is annotated. The zero value is the first column of the first
// event.
type Options struct {
	Event  int // index into Set.Events
	Column int // which of the event's values
	// Root is a directory that debug files are looked up in. Default: the machine's.
	Root string
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

// Annotation is what there is of a function: several Listings where several files have one
// of its name, or a compiler has put it in pieces, the costliest first.
type Annotation struct {
	Listings []*Listing
	Missing  []Missing
	Total    int64 // of all samples of the event
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
// columns, *UnknownFunctionError and *InlinedError.
func Function(s *stacks.Set, name string, files *symbolize.Symbolizer, o Options) (*Annotation, error) {
	if err := s.CheckColumn(o.Event, o.Column); err != nil {
		return nil, err
	}
	is, err := locations(s, name)
	if err != nil {
		return nil, err
	}
	c := count(s, is, o)
	a := &Annotation{Total: c.total}
	byMapping := map[int32][]uint32{}
	for loc, of := range is {
		if of && c.cum[loc] != 0 {
			m := s.Locations[loc].Mapping
			byMapping[m] = append(byMapping[m], uint32(loc))
		}
	}
	for m, locs := range byMapping {
		a.add(s, m, locs, c, files, o)
	}
	slices.SortFunc(a.Listings, func(a, b *Listing) int {
		return cmp.Or(cmp.Compare(b.Cum, a.Cum), cmp.Compare(b.Self, a.Self), strings.Compare(a.Path, b.Path), strings.Compare(a.Function, b.Function))
	})
	slices.SortFunc(a.Missing, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(b.Cum, a.Cum), strings.Compare(a.Mapping.File, b.Mapping.File))
	})
	return a, nil
}

// locations marks those of the function called name.
func locations(s *stacks.Set, name string) (is []bool, err error) {
	called := make([]bool, len(s.Functions))
	known := false
	for i := range s.Functions {
		called[i] = s.Functions[i].Name == name || s.Functions[i].SystemName == name
		known = known || called[i]
	}
	is = make([]bool, len(s.Locations))
	found := false
	var into []string
	for loc := range is {
		lines := s.Lines(uint32(loc))
		if len(lines) == 0 {
			continue
		}
		outer := lines[len(lines)-1].Function
		is[loc] = called[outer]
		found = found || is[loc]
		if !is[loc] && slices.ContainsFunc(lines, func(l stacks.Line) bool { return called[l.Function] }) {
			into = append(into, s.Functions[outer].Name)
		}
	}
	switch {
	case found:
		return is, nil
	case len(into) > 0:
		slices.Sort(into)
		return nil, &InlinedError{Name: name, Into: slices.Compact(into)}
	case known: // a function that no location has
		return nil, &UnknownFunctionError{Name: name}
	}
	names := make([]string, len(s.Functions))
	for i := range names {
		names[i] = s.Functions[i].Name
	}
	return nil, &UnknownFunctionError{Name: name, Near: spelling.Closest(name, names)}
}

// costs are sums by location.
type costs struct {
	self, cum []int64
	total     int64
	s         *stacks.Set
	o         Options
}

// count adds up the samples at and above the marked locations.
func count(s *stacks.Set, is []bool, o Options) *costs {
	c := &costs{self: make([]int64, len(is)), cum: make([]int64, len(is)), s: s, o: o}
	seen := make([]int, len(is)) // the last row that a location was counted for, plus 1
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if x.Event != o.Event {
			continue
		}
		v := x.Values[o.Column]
		c.total += v
		for j, loc := range s.Stack(x.Stack) {
			if !is[loc] {
				continue
			}
			if j == 0 {
				c.self[loc] += v
			}
			if seen[loc] != i+1 {
				seen[loc] = i + 1
				c.cum[loc] += v
			}
		}
	}
	return c
}

// sum adds up what the samples cost that have one of the locations.
func (c *costs) sum(locs []uint32) (self, cum int64) {
	of := make([]bool, len(c.self))
	for _, loc := range locs {
		of[loc] = true
		self += c.self[loc]
	}
	for i := range c.s.NumSamples() {
		x := c.s.Sample(i)
		if x.Event == c.o.Event && slices.ContainsFunc(c.s.Stack(x.Stack), func(loc uint32) bool { return of[loc] }) {
			cum += x.Values[c.o.Column]
		}
	}
	return self, cum
}

var errNoMapping = errors.New("the profile does not say where its code is")

// errOutside says that a file does not have the code of an address.
var errOutside = errors.New("the file has no function there")

// add annotates the locations of one mapping.
func (a *Annotation) add(s *stacks.Set, mapping int32, locs []uint32, c *costs, files *symbolize.Symbolizer, o Options) {
	m := stacks.Mapping{}
	missing := func(locs []uint32, err error) {
		if len(locs) > 0 {
			self, cum := c.sum(locs)
			a.Missing = append(a.Missing, Missing{Mapping: m, Self: self, Cum: cum, Err: err})
		}
	}
	if mapping < 0 {
		missing(locs, errNoMapping)
		return
	}
	m = s.Mappings[mapping]
	code, err := files.Code(m)
	if err != nil {
		missing(locs, err)
		return
	}
	file, err := disasm.Open(code.Path)
	if err != nil {
		missing(locs, err)
		return
	}
	defer file.Close()
	// Without debug information there are no lines.
	lines, err := elfsym.Open(code.Path, elfsym.Options{DWARF: true, Root: o.Root, Module: m.Kind == stacks.KindModule})
	if err == nil {
		defer lines.Close()
	}
	functions := map[elfsym.Symbol][]place{}
	var outside []uint32
	for _, loc := range locs {
		addr := s.Locations[loc].Addr
		if s.Locations[loc].Kind.ByOffset() {
			addr += m.Offset - m.Start
		}
		vaddr, ok := code.Vaddr(addr)
		symbol, known := file.At(vaddr)
		if !ok || !known {
			outside = append(outside, loc)
			continue
		}
		functions[symbol] = append(functions[symbol], place{loc, vaddr - symbol.Start})
	}
	missing(outside, errOutside)
	for symbol, places := range functions {
		here := make([]uint32, len(places))
		for i := range places {
			here[i] = places[i].loc
		}
		list, err := file.Function(symbol)
		if err != nil || len(list) == 0 {
			missing(here, cmp.Or(err, errOutside))
			continue
		}
		l := &Listing{Function: symbol.Name, Mapping: m, Path: code.Path, Rows: rows(list, places, c)}
		l.Self, l.Cum = c.sum(here)
		if lines != nil {
			l.addSources(lines, symbol.Start)
		}
		a.Listings = append(a.Listings, l)
	}
}

// place is a location at an offset of a function.
type place struct {
	loc uint32
	off uint64
}

// rows gives instructions what samples in them cost.
func rows(list []disasm.Instruction, places []place, c *costs) []Row {
	rows := make([]Row, len(list))
	for i := range list {
		rows[i].Off, rows[i].Text = list[i].Off, list[i].Text
	}
	for _, p := range places {
		i, found := slices.BinarySearchFunc(rows, p.off, func(r Row, off uint64) int { return cmp.Compare(r.Off, off) })
		if !found {
			i = max(i-1, 0)
		}
		rows[i].Self += c.self[p.loc]
		rows[i].Cum += c.cum[p.loc]
	}
	return rows
}

// addSources finds the lines that instructions come from. What pads a function behind its
// last line is left out.
func (l *Listing) addSources(lines *elfsym.File, start uint64) {
	var found []elfsym.Function
	end := 0
	for i := range l.Rows {
		found = lines.AppendFunctions(found[:0], start+l.Rows[i].Off, true)
		if len(found) > 0 && found[0].Line > 0 {
			l.Rows[i].Source = Source{Function: found[0].Name, File: found[0].File, Line: found[0].Line}
			end = i + 1
		} else if l.Rows[i].Cum != 0 {
			end = i + 1
		}
	}
	if slices.ContainsFunc(l.Rows, func(r Row) bool { return r.Source.Line > 0 }) {
		l.Rows = l.Rows[:end]
	}
}
