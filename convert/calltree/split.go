package calltree

import (
	"slices"

	"kprof/convert/stacks"
)

// splitter lays stacks over each other, from the outermost frame on, as a radix sort
// does. All stacks that go along one path are a range of entries:
//
//  1. The next frame of each is looked up, and counted by name. An entry without
//     one ends here and is left behind.
//  2. The entries are moved, into the other of two buffers, so that those of one
//     name are beside each other: the children, in the order of their names, or in
//     that in which they come.
//  3. Each child that the visitor takes is treated alike.
//
// What is below a node that is not taken is never looked at.
type splitter struct {
	sides   []side
	reverse bool // from the innermost frame on
	sorted  bool // children are in the order of their names
	visitor visitor

	entries [2][]entry
	next    []uint32 // name of the next frame of each entry

	// By name, while the entries of a node are counted; zero in between.
	count []uint32
	sums  [][2]int64

	touched []uint32 // stack of the names of the nodes being split
	kids    []kid    // stack of their children
}

// visitor makes nodes, in preorder.
type visitor interface {
	// last is the number of the last node made.
	last() int
	// node makes a child of which e is the first entry, or leaves it out with all
	// below.
	node(k kid, e *entry, depth uint32) bool
	// single makes the nodes of all frames that are left of an entry, below the last
	// node.
	single(e entry, depth uint32)
	// ended is an entry whose frames end at a node.
	ended(node int, e *entry)
	// leftOut are the entries of a child of a node that is left out.
	leftOut(node int, entries []entry, depth uint32)
	// done tells that all below a node is made.
	done(node int)
}

// none is no name, no frame and no node.
const none = ^uint32(0)

// side is one of the Sets that are merged.
type side struct {
	set           *stacks.Set
	event, column int
	frames        *Frames
	names         []uint32 // by frame: its name, as nodes have it
	comm          []uint32 // name by LabelsID, or none
	nothing       uint32   // name of a stack without frames
}

// entry is a stack that is being sorted.
type entry struct {
	value int64
	stack stacks.StackID
	// What of the stack is behind: locations, and frames of the one after.
	locations, frames uint32
	root              uint32 // name of the frame before the stack's, or none
	side              uint8
	rootDone          bool
}

// kid is a child of a node being split, and where its entries are.
type kid struct {
	name   uint32
	lo, hi int
	sum    [2]int64
	start  int64
}

// prepare makes room for the entries in the first buffer, of so many names.
func (b *splitter) prepare(names int) {
	b.entries[1] = nil
	b.next = make([]uint32, len(b.entries[0]))
	b.count = make([]uint32, names)
	b.sums = make([][2]int64, names)
}

// splitAll makes all nodes below the one there is.
func (b *splitter) splitAll() {
	b.entries[1] = make([]entry, len(b.entries[0]))
	b.split(0, 0, len(b.entries[0]), 0)
}

// step moves an entry on by one frame and returns the frame's name, or none when
// there is no other.
func (b *splitter) step(e *entry) uint32 {
	if !e.rootDone && !b.reverse {
		e.rootDone = true
		if e.root != none {
			return e.root
		}
	}
	d := &b.sides[e.side]
	stack := d.set.Stack(e.stack)
	if int(e.locations) < len(stack) {
		frames := d.frames.Of(b.location(stack, e.locations))
		id := frames[b.inner(len(frames), e.frames)]
		if e.frames++; int(e.frames) == len(frames) {
			e.locations, e.frames = e.locations+1, 0
		}
		return d.names[id]
	}
	if !e.rootDone {
		e.rootDone = true
		return e.root // or none
	}
	return none
}

// location is the location of a stack after n others, on the way of the Tree.
func (b *splitter) location(stack []uint32, n uint32) uint32 {
	if b.reverse {
		return stack[n]
	}
	return stack[len(stack)-1-int(n)]
}

// inner is the index of the frame of a location with frames in all after n
// others, on the way of the Tree.
func (b *splitter) inner(frames int, n uint32) int {
	if b.reverse {
		return int(n)
	}
	return frames - 1 - int(n)
}

// frame is the one whose name step has just returned for e, or none for the root.
func (b *splitter) frame(e *entry) uint32 {
	d := &b.sides[e.side]
	if e.locations == 0 && e.frames == 0 || b.reverse && e.rootDone {
		return none
	}
	at := e.locations
	if e.frames == 0 {
		at--
	}
	frames := d.frames.Of(b.location(d.set.Stack(e.stack), at))
	n := e.frames
	if n == 0 {
		n = uint32(len(frames))
	}
	return frames[b.inner(len(frames), n-1)]
}

// split makes the nodes below the last one, of the entries lo to hi in buffer
// from, and ends that node.
func (b *splitter) split(from, lo, hi int, depth uint32) {
	if hi-lo == 1 {
		b.visitor.single(b.entries[from][lo], depth)
		return
	}
	at := b.visitor.last()
	touched, kids := len(b.touched), len(b.kids)
	entries := b.entries[from][lo:hi]
	next := b.next[lo:hi]
	ended := 0
	for i := range entries {
		e := &entries[i]
		name := b.step(e)
		next[i] = name
		if name == none {
			ended++
			b.visitor.ended(at, e)
			continue
		}
		if b.count[name] == 0 {
			b.touched = append(b.touched, name)
		}
		b.count[name]++
		b.sums[name][e.side] += e.value
	}
	names := b.touched[touched:]
	if b.sorted {
		slices.Sort(names)
	}
	pos := lo
	for _, name := range names {
		n := int(b.count[name])
		b.kids = append(b.kids, kid{name: name, lo: pos, hi: pos + n, sum: b.sums[name]})
		b.count[name], b.sums[name] = uint32(pos), [2]int64{} // now where the next goes
		pos += n
	}
	if len(names) == 1 && ended == 0 {
		b.count[names[0]] = 0 // they all are in place
	} else {
		to := b.entries[1-from]
		for i, name := range next {
			if name != none {
				to[b.count[name]] = entries[i]
				b.count[name]++
			}
		}
		for _, name := range names {
			b.count[name] = 0
		}
		from = 1 - from
	}
	b.touched = b.touched[:touched]
	for i := kids; i < len(b.kids); i++ {
		k := b.kids[i]
		if b.visitor.node(k, &b.entries[from][k.lo], depth+1) {
			b.split(from, k.lo, k.hi, depth+1)
		} else {
			b.visitor.leftOut(at, b.entries[from][k.lo:k.hi], depth+1)
		}
	}
	b.kids = b.kids[:kids]
	b.visitor.done(at)
}
