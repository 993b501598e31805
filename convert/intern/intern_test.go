package intern

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"
)

// words numbers slices of words, as users of an Index do.
type words struct {
	index Index
	all   [][]uint32
	hash  func([]uint32) uint64
}

func (w *words) of(c []uint32) uint32 {
	p := w.index.Probe(w.hash(c))
	for id, ok := p.Next(); ok; id, ok = p.Next() {
		if string(bytesOf(w.all[id])) == string(bytesOf(c)) {
			return id
		}
	}
	w.all = append(w.all, c)
	w.index.Put(p, uint32(len(w.all)-1))
	return uint32(len(w.all) - 1)
}

func bytesOf(c []uint32) (b []byte) {
	for _, x := range c {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// checkModel numbers what next returns, until it is nil, and compares with a map.
func checkModel(t *testing.T, hash func([]uint32) uint64, next func() []uint32) {
	t.Helper()
	w := words{index: NewIndex(4), hash: hash}
	model := map[string]uint32{}
	var hashes []uint64
	for c := next(); c != nil; c = next() {
		key := string(bytesOf(c))
		want, known := model[key]
		if !known {
			want = uint32(len(model))
			model[key] = want
		}
		if got := w.of(c); got != want {
			t.Fatalf("%v has number %d, want %d", c, got, want)
		}
		hashes = append(hashes, hash(c))
	}
	if w.index.Len() != len(model) || w.index.Slots()*3 < w.index.Len()*4 || w.index.Slots() > max(4, 4*w.index.Len()) {
		t.Errorf("%d numbers in %d slots, want %d", w.index.Len(), w.index.Slots(), len(model))
	}
	for _, id := range w.index.Candidates(nil, hashes) {
		if int(id) >= len(model) {
			t.Errorf("%d is a candidate, of %d", id, len(model))
		}
	}
	// The same again, by Add, in another order.
	x := NewIndex(4)
	for id := len(w.all) - 1; id >= 0; id-- {
		x.Add(hash(w.all[id]), uint32(id))
	}
	for id, c := range w.all {
		p := x.Probe(hash(c))
		found := false
		for got, ok := p.Next(); ok; got, ok = p.Next() {
			found = found || int(got) == id
		}
		if !found {
			t.Fatalf("%d was added and is not found", id)
		}
	}
	x.Clear()
	if p := x.Probe(1); x.Len() != 0 {
		if _, ok := p.Next(); ok {
			t.Error("an empty table has something")
		}
	}
}

// hashes that are good, that have few values, and that are all the same.
func hashesOf(seed uint64) map[string]func([]uint32) uint64 {
	return map[string]func([]uint32) uint64{
		"good": func(c []uint32) uint64 { return Words(seed, c) },
		"few":  func(c []uint32) uint64 { return Words(seed, c) & 0xf000000f },
		"same": func([]uint32) uint64 { return 7 },
	}
}

// TestIndex numbers short words, which come again and again, and long ones.
func TestIndex(t *testing.T) {
	for name, hash := range hashesOf(Seed()) {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			n := 3000
			checkModel(t, hash, func() []uint32 {
				if n--; n < 0 {
					return nil
				}
				c := make([]uint32, r.IntN(10), 10)
				for i := range c {
					c[i] = uint32(r.IntN(3))
				}
				return c
			})
		})
	}
}

// FuzzIndex takes bytes as words of up to three bytes, each.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("abcabcabd"), byte(3))
	f.Add([]byte("aaaaaaaaaaaaaaaabaaaaaaaaaaaaaab"), byte(1))
	f.Fuzz(func(t *testing.T, b []byte, size byte) {
		n := 1 + int(size%3)
		for _, hash := range hashesOf(Seed()) {
			rest := b
			checkModel(t, hash, func() []uint32 {
				if len(rest) < n {
					return nil
				}
				c := make([]uint32, n)
				for i := range c {
					c[i] = uint32(rest[i])
				}
				rest = rest[n:]
				return c
			})
		}
	})
}

// TestKeys numbers words against a map.
func TestKeys(t *testing.T) {
	var n Keys[uint64]
	r := rand.New(rand.NewPCG(5, 6))
	want := map[uint64]int32{}
	for range 10 * keysBlock {
		k := r.Uint64N(5 * keysBlock)
		if _, ok := want[k]; !ok {
			want[k] = int32(len(want))
		}
		if got := n.Of(k); got != want[k] || *n.At(got) != k {
			t.Fatalf("%d has number %d, want %d", k, got, want[k])
		}
	}
	if n.Len() != len(want) {
		t.Errorf("%d keys, want %d", n.Len(), len(want))
	}
}

// TestWords: words that differ in one bit, or in how many there are, have other hashes;
// and the low bits of hashes of what is counted up are spread.
func TestWords(t *testing.T) {
	seen := map[uint64][]uint32{}
	for n := range 9 {
		c := make([]uint32, n)
		for bit := -1; bit < 32*n; bit++ {
			if bit >= 0 {
				c[bit/32] ^= 1 << (bit % 32)
			}
			h := Words(1, c)
			if other, ok := seen[h]; ok {
				t.Errorf("%v and %v have one hash", other, c)
			}
			seen[h] = append([]uint32(nil), c...)
			if bit >= 0 {
				c[bit/32] ^= 1 << (bit % 32)
			}
		}
	}
	var slots [1 << 10]int
	for i := range uint32(len(slots)) {
		slots[Words(1, []uint32{i, 5})%uint64(len(slots))]++
	}
	empty := 0
	for _, n := range slots {
		if n == 0 {
			empty++
		}
	}
	if empty > len(slots)/2 { // of random ones 37 %
		t.Errorf("%d of %d slots are empty", empty, len(slots))
	}
}

const benchKeys = 1 << 20

// BenchmarkIndex looks up a million words, in no order, and BenchmarkMap the same in a
// map.
func BenchmarkIndex(b *testing.B) {
	all := make([]uint64, benchKeys)
	seed := Seed()
	x := NewIndex(1 << 10)
	for i := range all {
		all[i] = uint64(i) * 0x9e3779b97f4a7c15
		x.Add(Pair(seed, all[i], 0), uint32(i))
	}
	i, sum := 0, 0
	for b.Loop() {
		k := all[i*7919%benchKeys]
		p := x.Probe(Pair(seed, k, 0))
		for id, ok := p.Next(); ok; id, ok = p.Next() {
			if all[id] == k {
				sum++
				break
			}
		}
		i++
	}
	if sum != i {
		b.Fatal("not all are found")
	}
}

func BenchmarkMap(b *testing.B) {
	all := make([]uint64, benchKeys)
	m := map[uint64]uint32{}
	for i := range all {
		all[i] = uint64(i) * 0x9e3779b97f4a7c15
		m[all[i]] = uint32(i)
	}
	i, sum := 0, 0
	for b.Loop() {
		if _, ok := m[all[i*7919%benchKeys]]; ok {
			sum++
		}
		i++
	}
	if sum != i {
		b.Fatal("not all are found")
	}
}

// The hash has to spread what stacks look like: small numbers, differing in one
// place. Expected collisions of n keys in 2^32 are n²/2^33.
func TestHashSpreads(t *testing.T) {
	for _, half := range []uint{0, 32} {
		seen := map[uint32]bool{}
		n, hits := 0, 0
		for depth := 1; depth <= 33; depth++ {
			c := make([]uint32, depth)
			for i := range c {
				for v := uint32(1); v < 300; v++ {
					c[i] = v
					h := uint32(Words(42, c) >> half)
					n++
					if seen[h] {
						hits++
					}
					seen[h] = true
				}
				c[i] = 0
			}
		}
		if want := float64(n) * float64(n) / (1 << 33); float64(hits) > 3*want+10 {
			t.Errorf("half %d: %d collisions of %d keys, expected %.1f", half, hits, n, want)
		}
	}
}

func TestSlotSize(t *testing.T) {
	if got := reflect.TypeFor[slot]().Size(); got != SlotSize {
		t.Errorf("%d bytes, not %d", got, SlotSize)
	}
}
