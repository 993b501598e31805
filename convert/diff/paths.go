package diff

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// paths fills in the call paths of the first functions that changed. The
// differences of all paths of a function sum to that of the function.
func (r *Result) paths(d *data) {
	wanted := make(map[uint32]*pathTable)
	for i := range r.Functions {
		f := &r.Functions[i]
		if i >= r.Options.Paths || f.Verdict == Noise {
			break
		}
		wanted[r.table.byName[f.Name]] = &pathTable{cum: f.Changed() != &f.Self, at: make(map[string]int)}
	}
	if len(wanted) == 0 {
		return
	}
	var fns []uint32
	for side := range r.runs {
		for i := range r.runs[side] {
			share := 1 / d.denominators[side][i] / float64(len(r.runs[side]))
			fns = r.addPaths(wanted, side, i, share, fns)
		}
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		t := wanted[r.table.byName[f.Name]]
		if t == nil {
			continue
		}
		f.NumPaths = len(t.paths)
		f.Paths, f.OtherPaths = t.largest(r.PathsEach, r.table.functions)
		delete(wanted, r.table.byName[f.Name])
		if len(wanted) == 0 {
			break
		}
	}
}

func (r *Result) addPaths(wanted map[uint32]*pathTable, side, i int, share float64, fns []uint32) []uint32 {
	run, f := &r.runs[side][i], r.names[side][i]
	var cum []uint32 // wanted anywhere in a stack
	for fn, t := range wanted {
		if t.cum {
			cum = append(cum, fn)
		}
	}
	slices.Sort(cum)
	for id, v := range run.stackValues() {
		if v == 0 {
			continue
		}
		stack := run.Set.Stack(stacks.StackID(id))
		if len(cum) == 0 && len(stack) > 0 && wanted[f.table.function[f.leaf(stack)]] == nil {
			continue
		}
		fns = f.appendFunctions(fns[:0], stack)
		if t := wanted[fns[0]]; t != nil && !t.cum {
			t.add(fns, side, float64(v)*share)
		}
		for _, fn := range cum {
			// The way to the first call of it: what it calls itself is below.
			for at := len(fns) - 1; at >= 0; at-- {
				if fns[at] == fn {
					wanted[fn].add(fns[at:], side, float64(v)*share)
					break
				}
			}
		}
	}
	return fns
}

// pathTable sums up the paths of a function.
type pathTable struct {
	cum   bool // ways to it, not stacks that end in it
	at    map[string]int
	paths []countedPath
	key   []byte
}

type countedPath struct {
	fns       []uint32 // leaf first
	base, new float64
}

func (t *pathTable) add(fns []uint32, side int, cost float64) {
	t.key = t.key[:0]
	for _, fn := range fns {
		t.key = binary.LittleEndian.AppendUint32(t.key, fn)
	}
	i, ok := t.at[string(t.key)]
	if !ok {
		i = len(t.paths)
		t.at[string(t.key)] = i
		t.paths = append(t.paths, countedPath{fns: slices.Clone(fns)})
	}
	if side == 0 {
		t.paths[i].base += cost
	} else {
		t.paths[i].new += cost
	}
}

// largest returns the paths that differ most, and the sum of the others.
func (t *pathTable) largest(limit int, names []string) (paths []Path, others Path) {
	slices.SortFunc(t.paths, func(a, b countedPath) int {
		return cmp.Or(cmp.Compare(abs(b.new-b.base), abs(a.new-a.base)), cmp.Compare(b.new, a.new),
			slices.CompareFunc(a.fns, b.fns, func(x, y uint32) int { return strings.Compare(names[x], names[y]) }))
	})
	for i, p := range t.paths {
		if i >= limit {
			others.Base += p.base
			others.New += p.new
			continue
		}
		path := Path{Base: p.base, New: p.new}
		for _, fn := range slices.Backward(p.fns) {
			path.Stack = append(path.Stack, names[fn])
		}
		paths = append(paths, path)
	}
	return paths, others
}
