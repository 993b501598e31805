package diff

import (
	"cmp"
	"math"
	"slices"

	"kprof/convert/stacks"
)

// Sets returns both sides as profiles of the compared event, of all runs of a
// side together, in which functions have the names by which they were matched and
// inlined ones are left out as they were for the comparison. Values are as they were
// recorded: those of runs are added up. Both sides have the same unit, with OneUnit.
func (r *Result) Sets() (base, new *stacks.Set) {
	unit, ok := r.finest()
	if !ok {
		return r.set(0, nil, r.runs[0][0].valueType()), r.set(1, nil, r.runs[1][0].valueType())
	}
	for side, s := range [...]**stacks.Set{&base, &new} {
		weights, t := r.inUnit(side, unit)
		*s = r.set(side, weights, t)
	}
	return base, new
}

// Means returns what Sets does, with the same totals, but each run has the part in them that
// it has in the means which are compared: of shares, all runs the same, however long they took.
// What functions have is in proportion to their Difference.Base and New, but for rounding; see scaled.
func (r *Result) Means() (base, new *stacks.Set) {
	return r.set(0, r.weights[0], r.runs[0][0].valueType()), r.set(1, r.weights[1], r.runs[1][0].valueType())
}

// weigh finds what the values of each run are multiplied with so that their sum is in proportion
// to the mean of what they are divided by denominators, and is as much in all as it is without.
func (s *Side) weigh(denominators []float64) []float64 {
	weights := make([]float64, len(denominators))
	for i, d := range denominators {
		weights[i] = 1
		if len(denominators) > 1 {
			weights[i] = float64(s.Value) / s.Total / d / float64(len(denominators))
		}
	}
	return weights
}

// set makes one profile of the runs of a side, whose values are multiplied by weights; nil is all 1.
// They are of type t then.
func (r *Result) set(side int, weights []float64, t stacks.ValueType) *stacks.Set {
	first := &r.runs[side][0]
	s := stacks.New(stacks.Event{Name: r.Event, Values: []stacks.ValueType{t}})
	s.TimeNanos, s.Comments = first.Set.TimeNanos, first.Set.Comments
	s.Period, s.PeriodType = first.Set.Period, first.Set.PeriodType
	for i := range r.runs[side] {
		s.DurationNanos += r.runs[side][i].Set.DurationNanos
		weight := 1.0
		if weights != nil {
			weight = weights[i]
		}
		r.names[side][i].copy(s, &r.runs[side][i], weight)
	}
	return s
}

// copy adds a run to a Set, its values multiplied by weight.
func (f *frames) copy(s *stacks.Set, r *Run, weight float64) {
	mapping := make([]int32, len(r.Set.Mappings))
	for i, m := range r.Set.Mappings {
		mapping[i] = s.AddMapping(m)
	}
	location := make([]uint32, len(r.Set.Locations))
	for loc := range r.Set.Locations {
		l := r.Set.Locations[loc]
		if l.Mapping >= 0 {
			l.Mapping = mapping[l.Mapping]
		}
		location[loc] = s.AddLocation(l.Mapping, l.Addr, l.Kind)
		s.SetLines(location[loc], f.renamed(s, r.Set, uint32(loc))...)
	}
	stack := make([]stacks.StackID, r.Set.NumStacks())
	var chain []uint32
	for id := range stack {
		chain = f.appendLocations(chain[:0], r.Set.Stack(stacks.StackID(id)))
		for i, loc := range chain {
			chain[i] = location[loc]
		}
		stack[id] = s.Intern(chain)
	}
	labels := make([]stacks.LabelsID, r.Set.NumLabels())
	for i := range labels {
		labels[i] = s.InternLabels(r.Set.Labels(stacks.LabelsID(i)))
	}
	var rows []int
	for row := range r.Set.NumSamples() {
		if x := r.Set.Sample(row); r.compares(&x) {
			rows = append(rows, row)
		}
	}
	values := scaled(r.Set, rows, r.Column, weight)
	for i, row := range rows {
		x := r.Set.Sample(row)
		s.Add(0, stack[x.Stack], labels[x.Labels], values[i])
	}
}

// renamed returns the lines of a location with the names they were matched by.
func (f *frames) renamed(to, s *stacks.Set, loc uint32) []stacks.Line {
	lines := s.Lines(loc)
	if m := s.Locations[loc].Mapping; m >= 0 && f.unnamed[mappingKey(&s.Mappings[m])] {
		return nil
	}
	var left []stacks.Line
	one := [1]uint32{f.one[loc]}
	originals := one[:]
	if one[0] >= many {
		originals = f.lists[one[0]&^many]
	}
	for _, l := range lines {
		fn := s.Functions[l.Function]
		// Lines that were left out have no original; the others are in order.
		if len(originals) == 0 || f.table.originals[originals[0]].name != fn.Name {
			continue
		}
		fn.Name = f.table.functions[f.table.function[originals[0]]]
		originals = originals[1:]
		l.Function = to.AddFunction(fn)
		left = append(left, l)
	}
	return left
}

// appendLocations appends a stack without those frames that are one with their
// neighbour, or count for their caller: see appendFunctions.
func (f *frames) appendLocations(dst, stack []uint32) []uint32 {
	last, before := uint32(many), uint32(many)
	for i, loc := range stack {
		if !f.counts(stack, i) {
			continue
		}
		o := f.one[loc]
		if o >= many {
			list := f.lists[o&^many]
			o = list[len(list)-1]
			dst, last, before = append(dst, loc), f.table.function[o], o
			continue
		}
		if fn := f.table.function[o]; fn != last || o == before {
			dst, last = append(dst, loc), fn
		}
		before = o
	}
	return dst
}

// Scale is what the base's values are multiplied with to be compared with the
// others: the ratio of what both are divided by.
func (r *Result) Scale() float64 {
	return float64(r.New.Value) / r.New.Total / (float64(r.Base.Value) / r.Base.Total)
}

// scaled returns the values of a column of some rows of a Set, multiplied and rounded.
// What rounding takes from one row, or gives it, the next has, in the order of their stacks from
// the root on: so all stacks below a frame sum up to what they should, up to 1, however small each is.
func scaled(s *stacks.Set, rows []int, column int, scale float64) []int64 {
	values, order := make([]int64, len(rows)), make([]int, len(rows))
	for i, row := range rows {
		order[i], values[i] = i, s.Sample(row).Values[column]
	}
	if scale == 1 {
		return values
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := s.Stack(s.Sample(rows[a]).Stack), s.Stack(s.Sample(rows[b]).Stack)
		for i := 1; i <= min(len(x), len(y)); i++ {
			if d := cmp.Compare(x[len(x)-i], y[len(y)-i]); d != 0 {
				return d
			}
		}
		return cmp.Compare(len(x), len(y))
	})
	rest := 0.0
	for _, i := range order {
		exact := scale*float64(values[i]) + rest
		values[i] = int64(math.Floor(exact + 0.5)) // never below 0
		rest = exact - float64(values[i])
	}
	return values
}

// scaledAll is scaled of all rows of a profile with one column.
func scaledAll(s *stacks.Set, scale float64) []int64 {
	rows := make([]int, s.NumSamples())
	for i := range rows {
		rows[i] = i
	}
	return scaled(s, rows, 0, scale)
}

// Both returns both sides, as Means has them, as one profile with two values, new and base; the
// base's are multiplied by Scale, and see scaled.
func (r *Result) Both() *stacks.Set {
	base, new := r.Means()
	unit := new.Events[0].Values[0].Unit
	s := stacks.New(stacks.Event{Name: r.Event, Values: []stacks.ValueType{{Type: "new", Unit: unit}, {Type: "base", Unit: unit}}})
	s.TimeNanos, s.DurationNanos, s.Comments = new.TimeNanos, new.DurationNanos, new.Comments
	add := func(from *stacks.Set, values func(row int) (new, base int64)) {
		mapping := make([]int32, len(from.Mappings))
		for i, m := range from.Mappings {
			mapping[i] = s.AddMapping(m)
		}
		location := make([]uint32, len(from.Locations))
		for loc, l := range from.Locations {
			if l.Mapping >= 0 {
				l.Mapping = mapping[l.Mapping]
			}
			location[loc] = s.AddLocation(l.Mapping, l.Addr, l.Kind)
			var lines []stacks.Line
			for _, x := range from.Lines(uint32(loc)) {
				x.Function = s.AddFunction(from.Functions[x.Function])
				lines = append(lines, x)
			}
			s.SetLines(location[loc], lines...)
		}
		var stack []uint32
		for row := range from.NumSamples() {
			x := from.Sample(row)
			stack = stack[:0]
			for _, loc := range from.Stack(x.Stack) {
				stack = append(stack, location[loc])
			}
			n, b := values(row)
			s.Add(0, s.Intern(stack), s.InternLabels(from.Labels(x.Labels)), n, b)
		}
	}
	of := scaledAll(base, r.Scale())
	add(new, func(row int) (int64, int64) { return new.Sample(row).Values[0], 0 })
	add(base, func(row int) (int64, int64) { return 0, of[row] })
	return s
}

// Negated returns both sides, of Sets or of Means, in one profile, as pprof -diff_base makes it:
// the base's values are negative, and its samples have the label pprof::base. They
// are multiplied by scale, see scaled, with which they are what the new side's values are. It is the
// new side's Set, which becomes the sum.
func Negated(base, new *stacks.Set, scale float64) *stacks.Set {
	negative := stacks.New(new.Events...)
	negative.CopyLocations(base)
	of := scaledAll(base, scale)
	for row := range base.NumSamples() {
		x := base.Sample(row)
		labels := append(slices.Clone(base.Labels(x.Labels)), stacks.Label{Key: "pprof::base", Str: "true"})
		negative.Add(0, negative.Intern(base.Stack(x.Stack)), negative.InternLabels(labels), -of[row])
	}
	new.Merge(negative)
	return new
}
