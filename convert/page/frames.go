package page

import (
	"cmp"
	"slices"

	"kprof/convert/calltree"
	"kprof/convert/stacks"
)

// places tells frames apart by name and by what holds them, which a page can show as one:
// a number of each, and how many there are.
func places(s *stacks.Set, t *calltree.Frames) (numbers []uint32, n int) {
	type place struct {
		name, mapping uint32
		kernel        bool
	}
	known, mappings := map[place]uint32{}, newStringTable("")
	for i := range t.All {
		f := &t.All[i]
		p := place{name: f.Name, kernel: inKernel(t, f)}
		if f.Mapping != stacks.NoMapping {
			p.mapping = mappings.id(baseName(s.Mappings[f.Mapping].File))
		}
		id, ok := known[p]
		if !ok {
			id = uint32(len(known))
			known[p] = id
		}
		numbers = append(numbers, id)
	}
	return numbers, len(known)
}

func inKernel(t *calltree.Frames, f *calltree.Frame) bool {
	return calltree.InKernel(&stacks.Location{Mapping: f.Mapping, Kind: f.Code}, t.Names[f.Name])
}

// addFrames numbers frames by how many nodes have them, so that the numbers of
// most nodes are short.
func (d *pageData) addFrames(s *stacks.Set) {
	h, t := &d.head, d.tree.Frames
	nodes := make([]int, len(t.All))
	for _, f := range d.tree.Frame[1:] {
		nodes[f]++
	}
	order := make([]uint32, len(t.All))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(nodes[b], nodes[a]) })
	for len(order) > 0 && nodes[order[len(order)-1]] == 0 {
		order = order[:len(order)-1]
	}

	d.names, h.Frames = newStringTable(), []int64{}
	mappings, buildIDs := newStringTable(), []string{}
	files := newStringTable("")
	d.frames = make([]uint32, len(t.All))
	for i, id := range order {
		d.frames[id] = uint32(i)
		f := &t.All[id]
		mapping := int64(-1)
		if f.Mapping != stacks.NoMapping {
			m := &s.Mappings[f.Mapping]
			mapping = int64(mappings.id(baseName(m.File)))
			if int(mapping) == len(buildIDs) {
				buildIDs = append(buildIDs, m.BuildID)
			} else if buildIDs[mapping] != m.BuildID {
				buildIDs[mapping] = ""
			}
		}
		kernel := int64(0)
		if inKernel(t, f) {
			kernel = 1
		}
		h.Frames = append(h.Frames, int64(d.names.id(t.Names[f.Name])), int64(f.Kind), mapping, int64(files.id(f.File)), max(f.StartLine, 0), kernel)
	}
	h.Names, h.Mappings, h.BuildIDs, h.Files = d.names.All, mappings.All, buildIDs, files.All
	d.addCallees(len(order))
}

// addCallees numbers, for each frame, those that are right below it, the most frequent first:
// there are few, so that the numbers of most nodes are short.
func (d *pageData) addCallees(frames int) {
	type call struct{ caller, callee, nodes uint32 }
	var calls []call
	known := make(map[uint64]uint32) // index into calls, by caller and callee
	root := uint32(frames)
	path := []uint32{root} // of frames, from the root to the node before
	d.ranks = make([]uint32, 0, len(d.tree.Frame)-1)
	for i, f := range d.tree.Frame {
		if i == 0 {
			continue
		}
		depth, frame := d.tree.Depth[i], d.frames[f]
		caller := path[depth-1]
		path = append(path[:depth], frame)
		key := uint64(caller)<<32 | uint64(frame)
		id, ok := known[key]
		if !ok {
			id = uint32(len(calls))
			known[key] = id
			calls = append(calls, call{caller, frame, 0})
		}
		calls[id].nodes++
		d.ranks = append(d.ranks, id)
	}
	order := make([]uint32, len(calls))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(calls[b].nodes, calls[a].nodes), cmp.Compare(a, b)) })
	d.callees = make([][]uint32, frames+1)
	rank := make([]uint32, len(calls))
	for _, id := range order {
		c := calls[id]
		rank[id] = uint32(len(d.callees[c.caller]))
		d.callees[c.caller] = append(d.callees[c.caller], c.callee)
	}
	for i, id := range d.ranks {
		d.ranks[i] = rank[id]
	}
}
