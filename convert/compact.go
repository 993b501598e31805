package convert

import "hash/maphash"

// list is a slice in pieces: growing never copies what is there, and the front of
// it can be let go.
type list[T any] struct {
	pieces [][]T
	n      int
}

const listPiece = 1 << 10

func (l *list[T]) add(x T) {
	if l.n%listPiece == 0 && l.n/listPiece == len(l.pieces) {
		l.pieces = append(l.pieces, make([]T, 0, listPiece))
	}
	p := &l.pieces[l.n/listPiece]
	*p = append(*p, x)
	l.n++
}

func (l *list[T]) at(i int) *T { return &l.pieces[i/listPiece][i%listPiece] }

// letGo says that element i was the last to be asked for of those up to it.
func (l *list[T]) letGo(i int) {
	if i%listPiece == listPiece-1 {
		l.pieces[i/listPiece] = nil
	}
}

// numbering gives distinct keys numbers, from 0 on in order of appearance. It is
// an open-addressing table of numbers, with the keys beside it, each once.
type numbering[K comparable] struct {
	keys  list[K]
	slots []uint32 // number+1, or 0
	seed  maphash.Seed
}

// of returns the number of k.
func (t *numbering[K]) of(k K) int32 {
	if t.slots == nil {
		t.slots, t.seed = make([]uint32, 1<<6), maphash.MakeSeed()
	}
	i := t.slot(k)
	if t.slots[i] == 0 {
		t.keys.add(k)
		t.slots[i] = uint32(t.keys.n)
		if t.keys.n*4 > len(t.slots)*3 {
			t.grow()
		}
		return int32(t.keys.n - 1)
	}
	return int32(t.slots[i] - 1)
}

// slot returns where k is, or where it belongs.
func (t *numbering[K]) slot(k K) int {
	mask := len(t.slots) - 1
	i := int(maphash.Comparable(t.seed, k)) & mask
	for t.slots[i] != 0 && *t.keys.at(int(t.slots[i] - 1)) != k {
		i = (i + 1) & mask
	}
	return i
}

func (t *numbering[K]) grow() {
	t.slots = make([]uint32, 2*len(t.slots))
	for n := range t.keys.n {
		t.slots[t.slot(*t.keys.at(n))] = uint32(n + 1)
	}
}

// at returns the key with a number.
func (t *numbering[K]) at(n int32) *K { return t.keys.at(int(n)) }

// timed is something that holds from a time on.
type timed interface{ since() uint64 }

// history is what held one after the other, in order of time, ties in order of
// arrival. What arrives late is kept apart until merge: however many come late,
// each of the others is moved once for all of them.
type history[T timed] struct {
	all  []T
	late *[]T // in order; nil for none
}

// bornBy returns how many of all hold since t or before.
func bornBy[T timed](all []T, t uint64) int {
	lo, hi := 0, len(all)
	if hi == 0 || all[hi-1].since() <= t {
		return hi
	}
	for lo < hi {
		if m := (lo + hi) / 2; all[m].since() <= t {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// add adds x behind all that hold since its time, and reports whether it is the
// first that came late.
func (h *history[T]) add(x T) (late bool) {
	to := &h.all
	if n := len(h.all); n > 0 && h.all[n-1].since() > x.since() {
		if late = h.late == nil; late {
			h.late = new([]T)
		}
		to = h.late
	}
	i := bornBy(*to, x.since())
	*to = append(*to, x)
	if i < len(*to)-1 {
		copy((*to)[i+1:], (*to)[i:])
		(*to)[i] = x
	}
	return late
}

// at returns what holds at time t, or nil.
func (h *history[T]) at(t uint64) *T {
	var x *T
	if i := bornBy(h.all, t); i > 0 {
		x = &h.all[i-1]
	}
	if h.late == nil {
		return x
	}
	if i := bornBy(*h.late, t); i > 0 && (x == nil || (*x).since() <= (*h.late)[i-1].since()) {
		x = &(*h.late)[i-1]
	}
	return x
}

// merge puts what came late where it belongs, and returns how many it had to look
// at for that.
func (h *history[T]) merge() int {
	if h.late == nil {
		return 0
	}
	late := *h.late
	h.late = nil
	i, j := len(h.all)-1, len(late)-1
	h.all = append(h.all, late...)
	for k := len(h.all) - 1; j >= 0; k-- {
		if i >= 0 && h.all[i].since() > late[j].since() {
			h.all[k] = h.all[i]
			i--
		} else {
			h.all[k] = late[j]
			j--
		}
	}
	return len(h.all)
}

// cut removes what holds only since after t, and returns it.
func (h *history[T]) cut(t uint64) (after []T) {
	var rest []T
	if h.late != nil {
		j := bornBy(*h.late, t)
		rest = (*h.late)[j:]
		*h.late = (*h.late)[:j:j]
	}
	i := bornBy(h.all, t)
	cut := history[T]{all: h.all[i:]}
	if len(rest) > 0 {
		cut.late = &rest
	}
	h.all = h.all[:i:i]
	h.merge() // what comes next would else be put before what was late
	cut.merge()
	return cut.all
}

// forget drops all but the last keep of what holds since before t, when it is
// worth to move the others.
func (h *history[T]) forget(t uint64, keep int) {
	if t == 0 {
		return
	}
	if n := bornBy(h.all, t-1) - keep; n > 0 && n >= len(h.all)/2 {
		h.all = append([]T(nil), h.all[n:]...)
	}
}
