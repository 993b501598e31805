package intern

import "hash/maphash"

// Keys gives distinct keys numbers, from 0 on in order of appearance. The zero value has
// none.
type Keys[K comparable] struct {
	index  Index
	seed   maphash.Seed
	blocks [][]K // never copied when more come
	n      int
}

const keysBlock = 1 << 10

// Of returns the number of k.
func (t *Keys[K]) Of(k K) int32 {
	if t.index.slots == nil {
		t.index, t.seed = NewIndex(1<<6), maphash.MakeSeed()
	}
	p := t.index.Probe(maphash.Comparable(t.seed, k))
	for id, ok := p.Next(); ok; id, ok = p.Next() {
		if *t.At(int32(id)) == k {
			return int32(id)
		}
	}
	if t.n%keysBlock == 0 {
		t.blocks = append(t.blocks, make([]K, 0, keysBlock))
	}
	last := &t.blocks[len(t.blocks)-1]
	*last = append(*last, k)
	t.index.Put(p, uint32(t.n))
	t.n++
	return int32(t.n - 1)
}

// At returns the key with a number. It stays where it is.
func (t *Keys[K]) At(n int32) *K { return &t.blocks[n/keysBlock][n%keysBlock] }

// Len is how many keys there are.
func (t *Keys[K]) Len() int { return t.n }
