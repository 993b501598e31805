package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/symbolize"
	"kprof/symbolize/disasm"
	"kprof/symbolize/elfsym"
)

// place is a location in a file.
type place struct {
	loc   uint32
	vaddr uint64
	in    bool // the file has that address
}

// group is the locations of one function in one file, or those of a mapping of which there is
// no code.
type group struct {
	path    string // empty without code
	symbol  elfsym.Symbol
	mapping int32 // of what has no code
}

// groups tell which group a location is of.
type groups struct {
	all   []group
	rows  [][]Row // instructions of a group
	errs  []error // why a group has none
	index map[group]int
	of    []int    // by location: index of the group, plus 1
	row   []uint32 // by location: of the group's rows
}

func newGroups(locations int) *groups {
	return &groups{index: map[group]int{}, of: make([]int, locations), row: make([]uint32, locations)}
}

// add says that a location is of a group, and returns its index.
func (g *groups) add(x group, loc uint32) int {
	i, known := g.index[x]
	if !known {
		i = len(g.all)
		g.index[x] = i
		g.all, g.rows, g.errs = append(g.all, x), append(g.rows, nil), append(g.errs, nil)
	}
	g.of[loc] = i + 1
	return i
}

// miss says that there is no code of a location; of several in a mapping the first reason
// counts.
func (g *groups) miss(mapping int32, loc uint32, err error) {
	i := g.add(group{mapping: mapping}, loc)
	if g.errs[i] == nil {
		g.errs[i] = err
	}
}

var errNoMapping = errors.New("the profile does not say where its code is")

// errOutside says that a file does not have the code of an address.
var errOutside = errors.New("the file has no function there")

// find disassembles the functions of a file that places are in.
func (g *groups) find(s *stacks.Set, code *symbolize.Code, places []place) {
	lines, err := code.Open()
	var file *disasm.File
	if err == nil {
		if file, err = disasm.New(lines); err != nil {
			err = fmt.Errorf("%s: %w", code.Path, err)
		}
	}
	if err != nil {
		for _, p := range places {
			g.miss(s.Locations[p.loc].Mapping, p.loc, err)
		}
		return
	}
	defer file.Close()
	for _, p := range places {
		symbol, known := file.At(p.vaddr)
		x := group{symbol: symbol, path: code.Path}
		if !p.in || !known {
			g.miss(s.Locations[p.loc].Mapping, p.loc, errOutside)
			continue
		}
		i, seen := g.index[x]
		if !seen {
			list, err := file.Function(symbol)
			if err == nil && len(list) == 0 {
				err = errOutside
			}
			if err != nil {
				g.miss(s.Locations[p.loc].Mapping, p.loc, err)
				continue
			}
			i = g.add(x, p.loc)
			g.rows[i] = rowsOf(list)
			addSources(g.rows[i], lines, symbol.Start) // without debug information there are none
		}
		g.add(x, p.loc)
		g.row[p.loc] = rowAt(g.rows[i], p.vaddr-symbol.Start)
	}
}

// rowsOf are instructions without costs.
func rowsOf(list []disasm.Instruction) []Row {
	rows := make([]Row, len(list))
	for i := range list {
		rows[i].Off, rows[i].Text = list[i].Off, list[i].Text
	}
	return rows
}

// rowAt is the instruction that an offset is in.
func rowAt(rows []Row, off uint64) uint32 {
	i, found := slices.BinarySearchFunc(rows, off, func(r Row, off uint64) int { return cmp.Compare(r.Off, off) })
	if !found {
		i = max(i-1, 0)
	}
	return uint32(i)
}

// addSources finds the lines that instructions come from.
func addSources(rows []Row, lines *elfsym.File, start uint64) {
	var found []elfsym.Function
	for i := range rows {
		found = lines.AppendFunctions(found[:0], start+rows[i].Off, true)
		if len(found) > 0 && found[0].Line > 0 {
			rows[i].Source = Source{Function: found[0].Name, File: found[0].File, Line: found[0].Line}
		}
	}
}

// costs are the sums of each group; those of instructions are in its rows.
type costs struct {
	self, cum []int64
	total     int64
}

// count adds up the samples that have locations of the groups, in one pass.
func count(s *stacks.Set, g *groups, o Options) *costs {
	c := &costs{self: make([]int64, len(g.all)), cum: make([]int64, len(g.all))}
	// The last sample that was counted for a group and for a location, plus 1.
	groupSeen, seen := make([]int, len(g.all)), make([]int, len(g.of))
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if x.Event != o.Event {
			continue
		}
		v := x.Values[o.Column]
		c.total += v
		for j, loc := range s.Stack(x.Stack) {
			at := g.of[loc] - 1
			if at < 0 {
				continue
			}
			if groupSeen[at] != i+1 {
				groupSeen[at] = i + 1
				c.cum[at] += v
			}
			var row *Row
			if rows := g.rows[at]; rows != nil {
				row = &rows[g.row[loc]]
			}
			if j == 0 {
				c.self[at] += v
				if row != nil {
					row.Self += v
				}
			}
			if row != nil && seen[loc] != i+1 {
				seen[loc] = i + 1
				row.Cum += v
			}
		}
	}
	return c
}

// annotation is what groups have of samples, the costliest first.
func (g *groups) annotation(s *stacks.Set, c *costs) *Annotation {
	a := &Annotation{Total: c.total}
	mapping := make([]int32, len(g.all)) // of any location
	for loc, of := range g.of {
		if of > 0 {
			mapping[of-1] = s.Locations[loc].Mapping
		}
	}
	for i, x := range g.all {
		if c.cum[i] == 0 {
			continue
		}
		var m stacks.Mapping
		if mapping[i] >= 0 {
			m = s.Mappings[mapping[i]]
		}
		if err := g.errs[i]; err != nil {
			a.Missing = append(a.Missing, Missing{Mapping: m, Self: c.self[i], Cum: c.cum[i], Err: err})
			continue
		}
		name := x.symbol.Name
		if x.symbol.PLT {
			name += "@plt" // as names have it
		}
		a.Listings = append(a.Listings, &Listing{Function: name, Mapping: m, Path: x.path, Self: c.self[i], Cum: c.cum[i], Rows: trimmed(g.rows[i])})
	}
	slices.SortFunc(a.Listings, func(a, b *Listing) int {
		return cmp.Or(cmp.Compare(b.Cum, a.Cum), cmp.Compare(b.Self, a.Self), strings.Compare(a.Path, b.Path), strings.Compare(a.Function, b.Function), cmp.Compare(len(a.Rows), len(b.Rows)))
	})
	slices.SortFunc(a.Missing, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(b.Cum, a.Cum), strings.Compare(a.Mapping.File, b.Mapping.File))
	})
	return a
}

// trimmed leaves out what pads a function behind its last line and its last sample.
func trimmed(rows []Row) []Row {
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Source.Line > 0 }) {
		return rows
	}
	end := len(rows)
	for end > 0 && rows[end-1].Source.Line == 0 && rows[end-1].Cum == 0 {
		end--
	}
	return rows[:end]
}
