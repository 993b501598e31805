package convert

import (
	"hash/maphash"
	"math/bits"
)

// locationTable maps keys to locations. It is an open-addressing table with the
// keys in its slots, one cache miss a look-up where a map has two or three.
type locationTable struct {
	slots []locationSlot
	used  int
	seen  uint64 // keeps the loads of fetch
	seed  uint64 // differs from run to run, so that no recording can make all keys collide
}

type locationSlot struct {
	key  locationKey
	loc  uint32
	used bool
}

func newLocationTable() locationTable {
	return locationTable{slots: make([]locationSlot, 1<<10), seed: maphash.String(maphash.MakeSeed(), "locations")}
}

func (t *locationTable) hash(k locationKey) uint64 {
	hi, lo := bits.Mul64(k.addr^t.seed, uint64(uint32(k.obj))<<8^uint64(k.kind)^0xa0761d6478bd642f)
	return hi ^ lo
}

// fetch loads the slot where a key may be.
func (t *locationTable) fetch(k locationKey) {
	t.seen += t.slots[int(t.hash(k)>>1)&(len(t.slots)-1)].key.addr
}

// find returns the slot of a key and true, or where to put it and false.
func (t *locationTable) find(k locationKey) (slot int, known bool) {
	mask := len(t.slots) - 1
	for i := int(t.hash(k)>>1) & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if !s.used {
			return i, false
		}
		if s.key == k {
			return i, true
		}
	}
}

// put fills the slot that find returned.
func (t *locationTable) put(slot int, k locationKey, loc uint32) {
	t.slots[slot] = locationSlot{k, loc, true}
	if t.used++; t.used*4 <= len(t.slots)*3 {
		return
	}
	old := t.slots
	t.slots = make([]locationSlot, 2*len(old))
	for _, s := range old {
		if s.used {
			i, _ := t.find(s.key)
			t.slots[i] = s
		}
	}
}
