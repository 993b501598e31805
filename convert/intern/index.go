// Package intern gives equal things equal numbers, by hash tables that are faster than
// maps where there are millions of them.
//
// An Index is an open-addressing table of numbers. What a number stands for lies with its
// user, who compares:
//
//	hash ──► slot ──► number ──► the user's entry: is it the one?
//	         slot ──► number ──► the user's entry: is it the one?
//	         empty: no
//
// A slot holds 32 bits of the hash beside the number, so that an entry is hardly ever
// looked at in vain, and the table grows without asking for the hashes again.
//
// A table that is larger than the CPU's caches answers at the pace of memory, as long as
// each look-up is made after the one before. Candidates makes them in groups: all of a
// group's loads that do not depend on each other come right behind one another, so that
// the CPU waits for them together.
package intern

import (
	"hash/maphash"
	"math/bits"
)

// Group is how many look-ups are worth to be made together.
const Group = 16

// Index finds numbers by the hashes of what they stand for. Use NewIndex.
type Index struct {
	slots []slot // a power of 2 of them
	n     int
}

// slot is a number and the hash of what it stands for.
type slot struct {
	hash uint32 // its low bits say where the slot belongs
	id   uint32 // the number plus 1, or 0 in an empty slot
}

// SlotSize is what a slot takes, in bytes. An Index has at most 8/3 slots a number, and
// the ones it begins with.
const SlotSize = 8

// NewIndex returns an Index with room for a few numbers; slots, a power of 2, is how much
// it begins with.
func NewIndex(slots int) Index { return Index{slots: make([]slot, slots)} }

// NewIndexFor returns an Index with room for n numbers.
func NewIndexFor(n int) Index {
	slots := 1 << 8
	for slots*3 < n*4 {
		slots *= 2
	}
	return NewIndex(slots)
}

// Len is how many numbers there are.
func (x *Index) Len() int { return x.n }

// Slots is how many slots there are.
func (x *Index) Slots() int { return len(x.slots) }

// Probe is a look-up on its way. It is valid until the Index changes.
type Probe struct {
	slots   []slot
	i, hash uint32
}

// Probe begins to look for a hash, of which the low 32 bits count. They should depend on
// a seed that differs from run to run (Seed), so that no input can be made of which all
// hashes are equal.
func (x *Index) Probe(hash uint64) Probe {
	return Probe{x.slots, uint32(hash), uint32(hash)}
}

// Next returns the next number that has the hash, and false when there is none any more.
func (p *Probe) Next() (id uint32, ok bool) {
	mask := uint32(len(p.slots) - 1)
	for {
		s := p.slots[p.i&mask]
		if s.id == 0 {
			return 0, false
		}
		p.i++
		if s.hash == p.hash {
			return s.id - 1, true
		}
	}
}

// Put adds the number that p did not find, once Next has returned false.
func (x *Index) Put(p Probe, id uint32) {
	x.slots[p.i&uint32(len(x.slots)-1)] = slot{p.hash, id + 1}
	if x.n++; x.n*4 > len(x.slots)*3 {
		x.grow()
	}
}

// Add adds a number without looking for an equal one.
func (x *Index) Add(hash uint64, id uint32) {
	p := x.Probe(hash)
	for _, ok := p.Next(); ok; {
		_, ok = p.Next()
	}
	x.Put(p, id)
}

// Clear removes all numbers.
func (x *Index) Clear() {
	clear(x.slots)
	x.n = 0
}

// grow doubles the table. Old slots go to two stretches of the new ones, in order.
func (x *Index) grow() {
	old := x.slots
	x.slots = make([]slot, 2*len(old))
	mask := uint32(len(x.slots) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		i := s.hash & mask
		for x.slots[i].id != 0 {
			i = (i + 1) & mask
		}
		x.slots[i] = s
	}
}

// Candidates appends to ids the numbers that the hashes are likely to find, at most one
// for each. It brings the slots near, and the caller does well to bring near what the
// numbers stand for, before look-ups are made one by one. Of more than about a Group at
// once the first may have been forgotten by the CPU again.
func (x *Index) Candidates(ids []uint32, hashes []uint64) []uint32 {
	mask := uint32(len(x.slots) - 1)
	for _, h := range hashes {
		if s := x.slots[uint32(h)&mask]; s.hash == uint32(h) && s.id != 0 {
			ids = append(ids, s.id-1)
		}
	}
	return ids
}

// Seed returns a seed for hashes, which differs from call to call and from run to run.
func Seed() uint64 { return maphash.String(maphash.MakeSeed(), "intern") }

const k0, k1 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db

// Words hashes words: it folds 128-bit products over them, four words a round, in the
// manner of wyhash (github.com/wangyi-fudan/wyhash, public domain).
func Words(seed uint64, c []uint32) uint64 {
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

// Pair hashes two numbers.
func Pair(seed, a, b uint64) uint64 { return fold(a^seed, b^k0) }

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
