package stacks

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"
)

// MaxDepth is the largest number of locations a stack may have.
const MaxDepth = blockSize - chainHead

// MaxColumns is the largest number of value columns an event may have.
const MaxColumns = valueBlock

// blockSize is the number of words in a block of the chain arena, a power of 2.
const blockSize = 1 << 18

// maxBlocks is what a 32-bit word index reaches.
const maxBlocks = 1 << 32 / blockSize

// chainTable interns slices of uint32. Chains lie in blocks that never move, each
// behind a head of two words: its length, and a word for the rowTable, which so
// finds it where memory has just been touched. pos[id] is the global word index
// of the head.
// The hash table holds a tag beside each id so that a miss seldom touches the
// arena. Ids are given in order of first appearance, whatever the hash.
type chainTable struct {
	blocks [][]uint32
	pos    []uint32
	low    []uint32 // of each chain's hash, the half that is no tag
	slots  []slot
	seed   uint64

	fetched uint32 // keeps the loads of fetch.go
}

// slot is an entry of an open-addressing table: id+1, or 0 for an empty one.
type slot struct{ tag, id uint32 }

func (t *chainTable) init() {
	t.slots = make([]slot, 1<<8)
	t.seed = randomSeed()
}

// randomSeed differs from run to run, so that no file can be made whose stacks
// all collide.
func randomSeed() uint64 { return maphash.String(maphash.MakeSeed(), "stacks") }

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

func (t *chainTable) intern(c []uint32) uint32 { return t.internHashed(c, hashWords(t.seed, c)) }

func (t *chainTable) internHashed(c []uint32, h uint64) uint32 {
	tag, mask := uint32(h>>32), uint32(len(t.slots)-1)
	i := uint32(h) & mask
	for ; t.slots[i].id != 0; i = (i + 1) & mask {
		if t.slots[i].tag == tag && slices.Equal(t.at(t.slots[i].id-1), c) {
			return t.slots[i].id - 1
		}
	}
	id := uint32(len(t.pos))
	if len(t.pos) == cap(t.pos) { // twice, where append would copy at every 1.25
		t.pos = slices.Grow(t.pos, len(t.pos)+1)
		t.low = slices.Grow(t.low, len(t.low)+1)
	}
	t.pos = append(t.pos, t.store(c))
	t.low = append(t.low, uint32(h))
	t.slots[i] = slot{tag, id + 1}
	if len(t.pos)*4 > len(t.slots)*3 {
		t.grow()
	}
	return id
}

// store copies c into the arena and returns its position.
func (t *chainTable) store(c []uint32) uint32 {
	if len(c) > MaxDepth {
		panic(fmt.Sprintf("stacks: a stack of %d locations, at most %d can be stored", len(c), MaxDepth))
	}
	last := len(t.blocks) - 1
	if last < 0 || blockSize-len(t.blocks[last]) < len(c)+chainHead {
		t.blocks = append(t.blocks, make([]uint32, 0, blockSize))
		last++
	}
	if last >= maxBlocks {
		panic("stacks: 16 GiB of stacks, no more can be numbered")
	}
	b := t.blocks[last]
	p := uint32(last*blockSize + len(b))
	b = append(b, uint32(len(c)), 0)
	t.blocks[last] = append(b, c...)
	return p
}

// grow doubles the table. Old slots go to two stretches of the new ones, in order.
func (t *chainTable) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	mask := uint32(len(t.slots) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		i := t.low[s.id-1] & mask
		for t.slots[i].id != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}

// hashWords folds 128-bit products over c, four words a round, in the manner of
// wyhash (github.com/wangyi-fudan/wyhash, public domain).
func hashWords(seed uint64, c []uint32) uint64 {
	const k0, k1 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	h := seed ^ uint64(len(c))*k0
	for len(c) >= 4 {
		h = fold(uint64(c[0])|uint64(c[1])<<32^k0^h, uint64(c[2])|uint64(c[3])<<32^k1^h)
		c = c[4:]
	}
	var a, b uint64
	switch len(c) {
	case 3:
		b = uint64(c[2]) | 1<<32
		fallthrough
	case 2:
		a = uint64(c[0]) | uint64(c[1])<<32
	case 1:
		a = uint64(c[0])
	}
	return fold(a^k1^h, b^k0^bits.RotateLeft64(h, 32))
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// Rows and their values lie in blocks that never move: a slice that grows would
// be copied again and again, and half of it be empty.
const (
	rowBlock   = 1 << 13
	valueBlock = 1 << 14
)

// rowTable sums values by (event, stack, labels). The first row of a stack is
// found by the mark of its chain; only the others are hashed. Most stacks have
// one row.
type rowTable struct {
	n      int
	rows   [][]row
	values [][]int64
	slots  []slot // of rows that are not the first of their stack
	hashed int    // of these
	seed   uint64
}

// row is what values belong to; value is the global index of the first.
type row struct{ event, stack, labels, value uint32 }

func (t *rowTable) init() {
	t.slots = make([]slot, 1<<8)
	t.seed = randomSeed()
}

func (t *rowTable) hash(event, stack, labels uint32) uint64 {
	return fold(uint64(stack)|uint64(labels)<<32^t.seed, uint64(event)^0xa0761d6478bd642f)
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
	h := t.hash(event, stack, labels)
	tag, mask := uint32(h>>32), uint32(len(t.slots)-1)
	i := uint32(h) & mask
	for ; t.slots[i].id != 0; i = (i + 1) & mask {
		if t.slots[i].tag == tag && t.addTo(t.slots[i].id-1, event, stack, labels, values) {
			return t.slots[i].id - 1
		}
	}
	t.push(row{event, stack, labels, t.store(values)})
	t.slots[i] = slot{tag, uint32(t.n)}
	if t.hashed++; t.hashed*4 > len(t.slots)*3 {
		t.grow()
	}
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
		t.values = append(t.values, make([]int64, 0, valueBlock))
		last++
	}
	p := uint32(last*valueBlock + len(t.values[last]))
	t.values[last] = append(t.values[last], values...)
	return p
}

func (t *rowTable) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	mask := uint32(len(t.slots) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		r := t.at(int(s.id - 1))
		i := uint32(t.hash(r.event, r.stack, r.labels)) & mask
		for t.slots[i].id != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}

// labelTable interns lists of labels.
type labelTable struct {
	sets [][]Label
	ids  map[string]LabelsID
	key  []byte // scratch
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
	}
	return id
}
