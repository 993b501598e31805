package calltree

import (
	"cmp"
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// Cost is what one function, or one group of samples, has of an event's values.
type Cost struct {
	Name    string
	Mapping string // base name of what holds it; "several" if more than one does
	Self    int64  // of samples with it as leaf
	Cum     int64  // of samples with it anywhere in the stack, each counted once
}

// Costs returns what each function costs whose samples of an event there are, the
// costliest by itself first, ties by name, and the total. Functions are told apart by
// name, and with Options.Lines by line. What has no frames is "[unknown]".
// Of o, Event, Column and Lines count.
func Costs(s *stacks.Set, o Options) (costs []Cost, total int64, err error) {
	if err := s.CheckColumn(o.Event, o.Column); err != nil {
		return nil, 0, err
	}
	n := s.Names()
	if o.Lines {
		n = s.NamesWithLines()
	}
	costs = make([]Cost, len(n.Names))
	seen := make([]uint32, len(n.Names)) // the last row a name was counted for, plus 1
	var sum stacks.Sum
	var frameless *Cost // what has no stack; nil for nothing
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if x.Event != o.Event {
			continue
		}
		v := x.Values[o.Column]
		if err := sum.Add(v, &s.Events[o.Event], o.Column); err != nil {
			return nil, 0, err
		}
		stack := s.Stack(x.Stack)
		if len(stack) == 0 {
			if frameless == nil {
				frameless = &Cost{Name: unknownName, Mapping: unknownName}
			}
			frameless.Self += v
			frameless.Cum += v
		}
		for j, loc := range stack {
			names := n.Of(loc)
			if j == 0 {
				costs[names[0]].Self += v
			}
			for _, id := range names {
				if seen[id] != uint32(i)+1 {
					seen[id] = uint32(i) + 1
					costs[id].Cum += v
				}
			}
		}
	}
	for loc := range s.Locations {
		for _, id := range n.Of(uint32(loc)) {
			if seen[id] == 0 {
				continue
			}
			c := &costs[id]
			switch base := MappingName(s, uint32(loc)); c.Mapping {
			case "":
				c.Mapping = base
			case base:
			default:
				c.Mapping = "several"
			}
		}
	}
	shown := costs[:0]
	for id, c := range costs {
		if seen[id] != 0 {
			c.Name = n.Names[id]
			shown = append(shown, c)
		}
	}
	if frameless != nil {
		shown = withFrameless(shown, frameless)
	}
	slices.SortFunc(shown, func(a, b Cost) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Cum, a.Cum), strings.Compare(a.Name, b.Name))
	})
	return shown, sum.Total, nil
}

// withFrameless adds what has no frames to the functions, where there may be one without a name.
func withFrameless(costs []Cost, x *Cost) []Cost {
	i := slices.IndexFunc(costs, func(c Cost) bool { return c.Name == x.Name })
	if i < 0 {
		return append(costs, *x)
	}
	c := &costs[i]
	c.Self += x.Self
	c.Cum += x.Cum
	if c.Mapping != x.Mapping {
		c.Mapping = "several"
	}
	return costs
}

// MappingName is the base name of what holds a location.
func MappingName(s *stacks.Set, loc uint32) string {
	m := s.Locations[loc].Mapping
	if m < 0 {
		return unknownName
	}
	file := s.Mappings[m].File
	if base := file[strings.LastIndexByte(file, '/')+1:]; base != "" {
		return base
	}
	return unknownName
}
