package calltree

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"kprof/convert/intern"
	"kprof/convert/stacks"
)

// treeBuilder makes a Tree: it is the visitor of its splitter.
type treeBuilder struct {
	splitter
	o     Options
	scale float64 // of the base's values in a comparison, 0 for equal totals
	min   float64 // weight that a node has at least
	tree  *Tree
}

func (b *treeBuilder) build() (*Tree, error) {
	if err := b.begin(); err != nil {
		return nil, err
	}
	if b.o.ByTime && !b.o.Merged {
		b.tree.Start = make([]int64, 1)
		b.splitByTime(0, len(b.entries[0]), 0)
	} else {
		b.splitAll()
	}
	return b.tree, nil
}

// begin makes the names, the entries and the root.
func (b *treeBuilder) begin() error {
	for i := range b.sides {
		if err := b.sides[i].set.CheckColumn(b.sides[i].event, b.sides[i].column); err != nil {
			return err
		}
	}
	b.tree = &Tree{Nodes: []Node{{Kind: FrameProcess}}}
	b.nameAll()
	var sum [2]int64
	if b.o.ByTime {
		if err := b.collectByTime(&sum); err != nil {
			return err
		}
	} else {
		for side := range b.sides {
			if err := b.collect(side, &sum); err != nil {
				return err
			}
		}
	}
	b.prepare(len(b.tree.Names))
	return b.root(sum)
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
	b.min = b.o.Min * t.Weight(0)
	return nil
}

// nameAll gives the frames and comms of all sides their names.
func (b *treeBuilder) nameAll() {
	var all intern.Strings
	id := func(name string) uint32 {
		if name == "" { // a comm
			name = unknownName
		}
		return all.ID(name)
	}
	for i := range b.sides {
		d := &b.sides[i]
		d.frames = NewFrames(d.set, FrameOptions{LineNames: b.o.Lines})
		d.names = make([]uint32, len(d.frames.All))
		for j := range d.names {
			d.names[j] = id(d.frames.Names[d.frames.All[j].Name])
		}
		d.nothing = d.names[d.frames.Nothing]
		d.comm = make([]uint32, d.set.NumLabels())
		for l := range d.comm {
			d.comm[l] = none
			if c, ok := d.rootName(stacks.LabelsID(l), b.o); ok {
				d.comm[l] = id(c)
			}
		}
	}
	names := all.All
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
		for j := range d.names {
			d.names[j] = rank[d.names[j]]
		}
		d.nothing = rank[d.nothing]
		for l, c := range d.comm {
			if c != none {
				d.comm[l] = rank[c]
			}
		}
	}
}

// rootName is the frame before those of samples with these labels.
func (d *side) rootName(l stacks.LabelsID, o Options) (string, bool) {
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
	errNegative = errors.New("has values below 0, which have no width: of a comparison give the two profiles that it was made of, of a field only the samples above 0")
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
	d := &b.sides[side]
	e := entry{value: value, stack: x.Stack, root: d.comm[x.Labels], side: uint8(side)}
	if e.root == none && len(d.set.Stack(x.Stack)) == 0 {
		e.root = d.nothing
	}
	b.entries[0] = append(b.entries[0], e)
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
	if len(s.TimedSamples) == 0 {
		return errors.New("has no times of samples to show in their order")
	}
	threads := newThreads(s)
	moments := slices.DeleteFunc(slices.Clone(s.TimedSamples), func(m stacks.TimedSample) bool {
		return s.Sample(int(m.Sample)).Event != b.o.Event
	})
	slices.SortStableFunc(moments, func(x, y stacks.TimedSample) int {
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

func (t threads) of(m stacks.TimedSample) int { return t.rank[t.set.Sample(int(m.Sample)).Labels] }
