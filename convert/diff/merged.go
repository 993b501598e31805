package diff

import (
	"slices"
	"strings"
)

// Merged is a function for which several names, or other ones than its own,
// stand in the profiles.
type Merged struct {
	Name      string
	Originals []Original
}

// Original is a name in the profiles.
type Original struct {
	Name      string
	Rules     []Rule
	Base, New bool // which side has it
}

// merged lists the functions whose names were folded.
func (r *Result) merged() {
	at := make(map[uint32]int)
	for o, fn := range r.table.function {
		x := &r.table.originals[o]
		if len(x.rules) == 0 {
			continue
		}
		if _, ok := at[fn]; !ok {
			at[fn] = len(r.Merged)
			r.Merged = append(r.Merged, Merged{Name: r.table.functions[fn]})
		}
	}
	for o, fn := range r.table.function {
		if i, ok := at[fn]; ok {
			x := &r.table.originals[o]
			r.Merged[i].add(Original{x.name, x.rules, x.sides[0], x.sides[1]})
		}
	}
	for _, m := range r.Merged {
		slices.SortFunc(m.Originals, func(a, b Original) int { return strings.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(r.Merged, func(a, b Merged) int { return strings.Compare(a.Name, b.Name) })
}

func (m *Merged) add(o Original) {
	for i := range m.Originals {
		if x := &m.Originals[i]; x.Name == o.Name {
			x.Base, x.New = x.Base || o.Base, x.New || o.New
			return
		}
	}
	m.Originals = append(m.Originals, o)
}
