package pagefile

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"kprof/convert/calltree"
	"kprof/convert/stacks"
)

// frame is one of the page's.
type frame struct {
	line    stacks.Line
	named   bool
	inlined bool
	mapping int32
	kind    stacks.Kind
}

// frameNumbers are the numbers of each frame in head.Frames.
const frameNumbers = 6

// kinds are those of locations with frames of a kind.
var kinds = [calltree.NumFrameKinds]stacks.Kind{
	calltree.FrameUser:   stacks.KindUser,
	calltree.FrameKernel: stacks.KindKernel,
	calltree.FrameModule: stacks.KindModule,
	calltree.FrameBPF:    stacks.KindBPF,
	calltree.FrameJIT:    stacks.KindAnon,
	calltree.FrameGuest:  stacks.KindGuest,
}

func (d *decoder) addFrames() error {
	h := &d.head
	for i, file := range h.Mappings {
		m := stacks.Mapping{File: file}
		if i < len(h.BuildIDs) {
			m.BuildID = h.BuildIDs[i]
		}
		d.set.AddMapping(m)
	}
	known := make([]bool, len(h.Mappings)) // of which the kind is
	for i := 0; i+frameNumbers <= len(h.Frames); i += frameNumbers {
		name, kind, mapping, file, start, kernel := h.Frames[i], h.Frames[i+1], h.Frames[i+2], h.Frames[i+3], h.Frames[i+4], h.Frames[i+5]
		if uint64(name) >= uint64(len(h.Names)) || mapping < stacks.NoMapping || mapping >= int64(len(h.Mappings)) || uint64(file) >= uint64(max(len(h.Files), 1)) {
			return fmt.Errorf("frame %d refers to what is not there", i/frameNumbers)
		}
		f := frame{named: true, mapping: int32(mapping), inlined: kind == int64(calltree.FrameInlined)}
		if uint64(kind) < uint64(len(kinds)) {
			f.kind = kinds[kind]
		}
		if f.kind == stacks.KindUnknown && kernel == 1 {
			f.kind = stacks.KindKernel
		}
		fn := stacks.Function{Name: h.Names[name], SystemName: h.Names[name], StartLine: start}
		if file < int64(len(h.Files)) {
			fn.File = h.Files[file]
		}
		if mapping == stacks.NoMapping {
			f.named = fn.Name != "[unknown]"
		} else {
			m := &d.set.Mappings[mapping]
			f.named = fn.Name != m.Unnamed()
			if !known[mapping] && !f.inlined {
				m.Kind, known[mapping] = f.kind, true
			}
		}
		if f.named {
			f.line.Function = d.set.AddFunction(fn)
		}
		d.frames = append(d.frames, f)
	}
	return nil
}

// places are the locations of frames: of one that others were inlined into, one for each
// list of these.
type places struct {
	alone []uint32 // by frame, plus 1
	lists map[string]uint32
	key   []byte
}

// location returns that of some frames, the innermost first, of which all but the last are
// inlined into the next.
func (d *decoder) location(list []uint32) uint32 {
	p := &d.places
	if p.lists == nil {
		p.alone, p.lists = make([]uint32, len(d.frames)), map[string]uint32{}
	}
	last := list[len(list)-1]
	if len(list) == 1 && p.alone[last] > 0 {
		return p.alone[last] - 1
	}
	p.key = p.key[:0]
	for _, f := range list {
		p.key = binary.LittleEndian.AppendUint32(p.key, f)
	}
	if loc, ok := p.lists[string(p.key)]; ok {
		return loc
	}
	outer := &d.frames[last]
	loc := d.set.AddLocation(outer.mapping, 0, outer.kind)
	var lines []stacks.Line
	for _, f := range list {
		if d.frames[f].named {
			lines = append(lines, d.frames[f].line)
		}
	}
	d.set.SetLines(loc, lines...)
	if len(list) == 1 {
		p.alone[last] = loc + 1
	} else {
		p.lists[string(p.key)] = loc
		d.kept += int64(len(p.key)) + 64
	}
	return loc
}

// addLabels gives the Set the lists of labels. Values of a key are numbers if all of them read
// as such.
func (d *decoder) addLabels() error {
	h := &d.head
	numbers := make([]bool, len(h.Keys))
	for key := range h.Keys {
		if key < len(h.Values) {
			numbers[key] = areNumbers(h.Values[key])
		}
	}
	var list []stacks.Label
	for i, l := range h.Labels {
		list = list[:0]
		for ; len(l) >= 2; l = l[2:] {
			key, value := l[0], l[1]
			if uint64(key) >= uint64(min(len(h.Keys), len(h.Values))) || uint64(value) >= uint64(len(h.Values[key])) {
				return fmt.Errorf("list of labels %d refers to what is not there", i)
			}
			label := stacks.Label{Key: h.Keys[key], Str: h.Values[key][value]}
			if numbers[key] {
				label.Num, _ = strconv.ParseInt(label.Str, 10, 64) // as it was
				label.Str = ""
			}
			list = append(list, label)
		}
		d.labels = append(d.labels, d.set.InternLabels(list))
		if err := d.keep(4, 64); err != nil {
			return err
		}
	}
	return nil
}

func areNumbers(values []string) bool {
	for _, v := range values {
		if n, err := strconv.ParseInt(v, 10, 64); err != nil || strconv.FormatInt(n, 10) != v {
			return false
		}
	}
	return true
}

// readTree reads the nodes.
func (d *decoder) readTree() error {
	for range len(d.frames) + 1 {
		d.from = append(d.from, len(d.callees))
		n, err := d.number(len(d.frames)+1, "number of callees")
		if err != nil {
			return err
		}
		for range n {
			f, err := d.number(len(d.frames), "frame")
			if err != nil {
				return err
			}
			d.callees = append(d.callees, f)
			if err := d.keep(4, 0); err != nil {
				return err
			}
		}
	}
	d.from = append(d.from, len(d.callees))
	d.parent, d.depth, d.frame = []uint32{0}, []uint32{0}, []uint32{uint32(len(d.frames))}
	path := []uint32{0} // the nodes from the root to the last one
	for i := 1; i < d.head.Nodes; i++ {
		up, err := d.number(len(path), "a node's way up")
		if err != nil {
			return err
		}
		path = path[:len(path)-int(up)]
		if len(path) > stacks.MaxDepth {
			return fmt.Errorf("a stack of %d frames, at most %d can be stored", len(path), stacks.MaxDepth)
		}
		d.parent = append(d.parent, path[len(path)-1])
		d.depth = append(d.depth, uint32(len(path)))
		path = append(path, uint32(i))
		if err := d.keep(12, 0); err != nil {
			return err
		}
	}
	for i := 1; i < d.head.Nodes; i++ {
		caller := d.frame[d.parent[i]]
		callees := d.callees[d.from[caller]:d.from[caller+1]]
		rank, err := d.number(len(callees), "callee")
		if err != nil {
			return err
		}
		d.frame = append(d.frame, callees[rank])
	}
	return nil
}

// stack returns the one that ends in a node.
func (d *decoder) stack(node uint32, chain, list []uint32) stacks.StackID {
	list = list[:0]
	if node != 0 && d.parent[node] == 0 {
		if f := &d.frames[d.frame[node]]; !f.named && f.mapping == stacks.NoMapping {
			return d.set.Intern(nil) // which a page shows as one unknown frame
		}
	}
	for ; node != 0; node = d.parent[node] {
		f := d.frame[node]
		list = append(list, f)
		// What calls an inlined function is at the same place.
		if d.frames[f].inlined && d.parent[node] != 0 {
			continue
		}
		chain = append(chain, d.location(list))
		list = list[:0]
	}
	return d.set.Intern(chain)
}
