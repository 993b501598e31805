package stacks

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"

	"kprof/convert/intern"
)

// MaxDepth is the largest number of locations a stack may have.
const MaxDepth = blockSize - chainHead

// MaxColumns is the largest number of value columns an event may have.
const MaxColumns = 1 << 14

// blockSize is the number of words in a block of the chain arena, a power of 2.
const blockSize = 1 << 18

// firstBlock is the number of words that the first block has room for when it is made.
const firstBlock = 1 << 12

// maxBlocks is what a 32-bit word index reaches.
const maxBlocks = 1 << 32 / blockSize

// chainTable interns slices of uint32. Chains lie in blocks that hardly ever move (the
// first one grows, as most profiles are small), each behind a head of two words: its length, and a word for the rowTable, which so
// finds it where memory has just been touched. pos[id] is the global word index
// of the head. Ids are given in order of first appearance, whatever the hash.
type chainTable struct {
	blocks [][]uint32
	pos    []uint32
	index  intern.Index
	seed   uint64

	fetched uint32 // keeps the loads of fetch.go
}

func (t *chainTable) init() { t.index, t.seed = intern.NewIndex(1<<8), intern.Seed() }

func (t *chainTable) at(id uint32) []uint32 {
	p := t.pos[id]
	b := t.blocks[p/blockSize]
	o := p % blockSize
	n := b[o]
	return b[o+chainHead : o+chainHead+n : o+chainHead+n]
}

// chainHead is the number of words before a chain.
const chainHead = 2

// mark returns the second word of the head of a chain, 0 at first.
func (t *chainTable) mark(id uint32) *uint32 {
	p := t.pos[id]
	return &t.blocks[p/blockSize][p%blockSize+1]
}

func (t *chainTable) intern(c []uint32) uint32 { return t.internHashed(c, intern.Words(t.seed, c)) }

func (t *chainTable) internHashed(c []uint32, h uint64) uint32 {
	p := t.index.Probe(h)
	for id, ok := p.Next(); ok; id, ok = p.Next() {
		if slices.Equal(t.at(id), c) {
			return id
		}
	}
	id := uint32(len(t.pos))
	if len(t.pos) == cap(t.pos) { // twice, where append would copy at every 1.25
		t.pos = slices.Grow(t.pos, len(t.pos)+1)
	}
	t.pos = append(t.pos, t.store(c))
	t.index.Put(p, id)
	return id
}

// knows reports whether a chain has an id.
func (t *chainTable) knows(c []uint32) bool {
	p := t.index.Probe(intern.Words(t.seed, c))
	for id, ok := p.Next(); ok; id, ok = p.Next() {
		if slices.Equal(t.at(id), c) {
			return true
		}
	}
	return false
}

// store copies c into the arena and returns its position.
func (t *chainTable) store(c []uint32) uint32 {
	if len(c) > MaxDepth {
		panic(fmt.Sprintf("stacks: a stack of %d locations, at most %d can be stored", len(c), MaxDepth))
	}
	last := len(t.blocks) - 1
	if last < 0 || blockSize-len(t.blocks[last]) < len(c)+chainHead {
		size := blockSize
		if last < 0 {
			size = firstBlock
		}
		t.blocks = append(t.blocks, make([]uint32, 0, size))
		last++
	}
	if last >= maxBlocks {
		panic("stacks: 16 GiB of stacks, no more can be numbered")
	}
	b := t.blocks[last]
	if room := cap(b) - len(b); room < len(c)+chainHead {
		b = slices.Grow(b, min(max(len(b), len(c)+chainHead), blockSize-len(b)))
	}
	p := uint32(last*blockSize + len(b))
	b = append(b, uint32(len(c)), 0)
	t.blocks[last] = append(b, c...)
	return p
}

// Rows and their values lie in blocks that never move: a slice that grows would
// be copied again and again, and half of it be empty.
const (
	rowBlock   = 1 << 12
	valueBlock = 1 << 13
)

// rowTable sums values by (event, stack, labels). The first row of a stack is
// found by the mark of its chain; only the others are hashed. Most stacks have
// one row.
type rowTable struct {
	n      int
	rows   [][]row
	values [][]int64
	room   int          // of values, whether or not any are there
	index  intern.Index // of rows that are not the first of their stack
	seed   uint64
}

// row is what values belong to; value is the global index of the first.
type row struct{ event, stack, labels, value uint32 }

func (t *rowTable) init() { t.index, t.seed = intern.NewIndex(1<<8), intern.Seed() }

func (t *rowTable) hash(event, stack, labels uint32) uint64 {
	return intern.Pair(t.seed, uint64(stack)|uint64(labels)<<32, uint64(event))
}

func (t *rowTable) at(i int) *row { return &t.rows[i/rowBlock][i%rowBlock] }

func (t *rowTable) valuesAt(p uint32, n int) []int64 {
	if n == 0 {
		return nil
	}
	o := int(p % valueBlock)
	return t.values[p/valueBlock][o : o+n : o+n]
}

// add adds values to a row and returns its id. first is the mark of the stack's
// chain.
func (t *rowTable) add(event, stack, labels uint32, values []int64, first *uint32) uint32 {
	if *first == 0 {
		t.push(row{event, stack, labels, t.store(values)})
		*first = uint32(t.n)
		return *first - 1
	}
	if t.addTo(*first-1, event, stack, labels, values) {
		return *first - 1
	}
	p := t.index.Probe(t.hash(event, stack, labels))
	for id, ok := p.Next(); ok; id, ok = p.Next() {
		if t.addTo(id, event, stack, labels, values) {
			return id
		}
	}
	t.push(row{event, stack, labels, t.store(values)})
	t.index.Put(p, uint32(t.n-1))
	return uint32(t.n - 1)
}

// addTo adds values to row id if it is the one meant.
func (t *rowTable) addTo(id, event, stack, labels uint32, values []int64) bool {
	r := t.at(int(id))
	if r.stack != stack || r.labels != labels || r.event != event {
		return false
	}
	sums := t.valuesAt(r.value, len(values))
	for c, v := range values {
		sums[c] += v
	}
	return true
}

func (t *rowTable) push(r row) {
	if t.n%rowBlock == 0 {
		t.rows = append(t.rows, make([]row, 0, rowBlock))
	}
	last := &t.rows[len(t.rows)-1]
	*last = append(*last, r)
	t.n++
}

// store copies values into a block and returns their position.
func (t *rowTable) store(values []int64) uint32 {
	if len(values) == 0 {
		return 0
	}
	last := len(t.values) - 1
	if last < 0 || valueBlock-len(t.values[last]) < len(values) {
		size := max(valueBlock, len(values)) // of more than a block, one row alone
		t.values = append(t.values, make([]int64, 0, size))
		t.room += size
		last++
	}
	p := uint32(last*valueBlock + len(t.values[last]))
	t.values[last] = append(t.values[last], values...)
	return p
}

// functionTable finds functions by what they are.
type functionTable struct {
	index intern.Index
	seed  maphash.Seed
}

// init makes room for n functions.
func (t *functionTable) init(n int) {
	t.index, t.seed = intern.NewIndexFor(n), maphash.MakeSeed()
}

func (t *functionTable) hash(f *Function) uint64 {
	h := maphash.String(t.seed, f.Name)
	if f.SystemName != f.Name {
		h = intern.Pair(h, maphash.String(t.seed, f.SystemName), 1)
	}
	if f.File != "" {
		h = intern.Pair(h, maphash.String(t.seed, f.File), 2)
	}
	return intern.Pair(h, uint64(f.StartLine), 3)
}

// labelTable interns lists of labels.
type labelTable struct {
	sets [][]Label
	ids  map[string]LabelsID
	key  []byte // scratch
	size int    // in memory, about
}

func (t *labelTable) init() {
	t.sets = [][]Label{nil}
	t.ids = map[string]LabelsID{"": 0}
}

func (t *labelTable) intern(l []Label) LabelsID {
	k := t.key[:0]
	for _, x := range l {
		for _, f := range [...]string{x.Key, x.Str, x.Unit} {
			k = binary.AppendUvarint(k, uint64(len(f)))
			k = append(k, f...)
		}
		k = binary.AppendVarint(k, x.Num)
	}
	t.key = k
	id, ok := t.ids[string(k)] // does not allocate
	if !ok {
		id = LabelsID(len(t.sets))
		t.sets = append(t.sets, slices.Clone(l))
		t.ids[string(k)] = id
		t.size += perLabelEntry + len(l)*labelSize + len(k)
	}
	return id
}
