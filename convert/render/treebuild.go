package render

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"kprof/convert/stacks"
)

// treeBuilder makes a Tree from the outermost frame on, as a radix sort does. All
// samples that went along one path are a range of entries:
//
//  1. The next frame of each is looked up, and counted by name. An entry without
//     one ends here and is left behind.
//  2. The entries are moved, into the other of two buffers, so that those of one
//     name are beside each other: the children, in the order of their names.
//  3. Each child whose value is large enough becomes a node and is treated alike.
//
// What is below a node too small to be shown is never looked at.
type treeBuilder struct {
	o     TreeOptions
	scale float64 // of the base's values in a comparison, 0 for equal totals
	min   float64 // weight that a node has at least
	sides []side

	tree    *Tree
	entries [2][]entry
	next    []uint32 // name of the next frame of each entry

	// By name, while the entries of a node are counted; zero in between.
	count []uint32
	sums  [][2]int64

	touched []uint32 // stack of the names of the nodes being split
	kids    []kid    // stack of their children
}

// side is one of the Sets that are merged.
type side struct {
	set           *stacks.Set
	event, column int
	names         *stacks.Names
	rename        []uint32 // from names.Names to Tree.Names
	comm          []uint32 // name in Tree.Names by LabelsID, or none
}

// entry is a row that is being sorted.
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

func (b *treeBuilder) build() (*Tree, error) {
	b.sides[0].event, b.sides[0].column = b.o.Event, b.o.Column
	for i := range b.sides {
		if err := b.sides[i].check(); err != nil {
			return nil, err
		}
	}
	b.tree = &Tree{Nodes: []TreeNode{{Kind: FrameProcess}}}
	b.nameAll()
	var sum [2]int64
	if b.o.ByTime {
		if err := b.collectByTime(&sum); err != nil {
			return nil, err
		}
		b.tree.Start = make([]int64, 1)
	} else {
		for side := range b.sides {
			if err := b.collect(side, &sum); err != nil {
				return nil, err
			}
		}
		b.entries[1] = make([]entry, len(b.entries[0]))
	}
	b.next = make([]uint32, len(b.entries[0]))
	b.count = make([]uint32, len(b.tree.Names))
	b.sums = make([][2]int64, len(b.tree.Names))
	if err := b.root(sum); err != nil {
		return nil, err
	}
	if b.o.ByTime {
		b.splitByTime(0, len(b.entries[0]), 0)
	} else {
		b.split(0, 0, len(b.entries[0]), 0)
	}
	return b.tree, nil
}

// root gives the root its values.
func (b *treeBuilder) root(sum [2]int64) error {
	t := b.tree
	if b.o.Total != 0 && b.o.Total < sum[0] {
		return fmt.Errorf("the samples add up to %d, more than a total of %d", sum[0], b.o.Total)
	}
	t.Sum = sum[0]
	t.Nodes[0].Value = max(t.Sum, b.o.Total)
	if len(b.sides) > 1 {
		if t.Scale = b.scale; t.Scale == 0 && sum[1] > 0 {
			t.Scale = float64(t.Nodes[0].Value) / float64(sum[1])
		}
		t.Base = []int64{sum[1]}
	}
	b.min = b.o.Min * t.weight(0)
	return nil
}

func (d *side) check() error {
	s := d.set
	if d.event < 0 || d.event >= len(s.Events) {
		return fmt.Errorf("no event %d among %d", d.event, len(s.Events))
	}
	if n := len(s.Events[d.event].Values); d.column < 0 || d.column >= n {
		return fmt.Errorf("no column %d among %d of event %q", d.column, n, s.Events[d.event].Name)
	}
	return nil
}

// nameAll gives the frames and comms of all sides their names.
func (b *treeBuilder) nameAll() {
	ids := make(map[string]uint32)
	var names []string
	id := func(name string) uint32 {
		if name == "" {
			name = "[unknown]"
		}
		i, ok := ids[name]
		if !ok {
			i = uint32(len(names))
			ids[name] = i
			names = append(names, name)
		}
		return i
	}
	for i := range b.sides {
		d := &b.sides[i]
		d.names = d.set.Names()
		d.rename = make([]uint32, len(d.names.Names))
		for j, n := range d.names.Names {
			d.rename[j] = id(n)
		}
		d.comm = make([]uint32, d.set.NumLabels())
		for l := range d.comm {
			d.comm[l] = none
			if c, ok := d.rootName(stacks.LabelsID(l), b.o); ok {
				d.comm[l] = id(c)
			}
		}
	}
	// Sorted names, so that their ids sort as they do.
	order := make([]uint32, len(names))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return cmp.Compare(names[x], names[y]) })
	rank := make([]uint32, len(names))
	b.tree.Names = make([]string, len(names))
	for r, i := range order {
		rank[i] = uint32(r)
		b.tree.Names[r] = names[i]
	}
	for i := range b.sides {
		d := &b.sides[i]
		for j := range d.rename {
			d.rename[j] = rank[d.rename[j]]
		}
		for l, c := range d.comm {
			if c != none {
				d.comm[l] = rank[c]
			}
		}
	}
}

// rootName is the frame before those of samples with these labels.
func (d *side) rootName(l stacks.LabelsID, o TreeOptions) (string, bool) {
	if !o.Comm {
		return "", false
	}
	c, ok := d.set.Label(l, "comm")
	if !ok {
		return "", false
	}
	if o.ByTime { // which keeps threads apart
		if tid, ok := d.set.Label(l, "tid"); ok {
			return c.Str + "/" + strconv.FormatInt(tid.Num, 10), true
		}
	}
	return c.Str, true
}

var (
	errNegative = errors.New("has values below 0, as comparisons do: give the two profiles that it was made of instead")
	errTooMuch  = errors.New("has values whose sum is too large")
)

// add adds an entry, and its value to the sum.
func (b *treeBuilder) add(side int, sum *[2]int64, x stacks.Sample, value int64) error {
	switch {
	case value < 0:
		return errNegative
	case value > math.MaxInt64-sum[side]:
		return errTooMuch
	case value == 0:
		return nil
	}
	sum[side] += value
	b.entries[0] = append(b.entries[0], entry{value: value, stack: x.Stack, root: b.sides[side].comm[x.Labels], side: uint8(side)})
	return nil
}

// collect makes entries of the rows of a side.
func (b *treeBuilder) collect(side int, sum *[2]int64) error {
	d := &b.sides[side]
	b.entries[0] = slices.Grow(b.entries[0], d.set.NumSamples())
	for i := range d.set.NumSamples() {
		if x := d.set.Sample(i); x.Event == d.event {
			if err := b.add(side, sum, x, x.Values[d.column]); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectByTime makes entries of the samples, thread by thread.
func (b *treeBuilder) collectByTime(sum *[2]int64) error {
	s := b.sides[0].set
	if len(s.Moments) == 0 {
		return errors.New("has no times of samples to show in their order")
	}
	threads := newThreads(s)
	moments := slices.DeleteFunc(slices.Clone(s.Moments), func(m stacks.Moment) bool {
		return s.Sample(int(m.Sample)).Event != b.o.Event
	})
	slices.SortStableFunc(moments, func(x, y stacks.Moment) int {
		return cmp.Compare(threads.of(x), threads.of(y))
	})
	b.entries[0] = make([]entry, 0, len(moments))
	for _, m := range moments {
		if err := b.add(0, sum, s.Sample(int(m.Sample)), m.Value); err != nil {
			return err
		}
	}
	return nil
}

// threads orders the threads of samples: by comm, process and thread.
type threads struct {
	set  *stacks.Set
	rank []int // by LabelsID
}

func newThreads(s *stacks.Set) threads {
	type thread struct {
		comm     string
		pid, tid int64
	}
	t := threads{s, make([]int, s.NumLabels())}
	all := make([]thread, s.NumLabels())
	order := make([]int, s.NumLabels())
	for i := range all {
		l := stacks.LabelsID(i)
		comm, _ := s.Label(l, "comm")
		pid, _ := s.Label(l, "pid")
		tid, _ := s.Label(l, "tid")
		all[i], order[i] = thread{comm.Str, pid.Num, tid.Num}, i
	}
	compare := func(x, y int) int {
		a, b := all[x], all[y]
		return cmp.Or(cmp.Compare(a.comm, b.comm), cmp.Compare(a.pid, b.pid), cmp.Compare(a.tid, b.tid))
	}
	slices.SortFunc(order, compare)
	for i := 1; i < len(order); i++ { // other labels do not part a thread
		t.rank[order[i]] = t.rank[order[i-1]]
		if compare(order[i-1], order[i]) != 0 {
			t.rank[order[i]]++
		}
	}
	return t
}

func (t threads) of(m stacks.Moment) int { return t.rank[t.set.Sample(int(m.Sample)).Labels] }
