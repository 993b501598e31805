package span

// open is what has begun and not ended, by key. Of each it holds whether records may be
// missing since: then its end may be among them, and what seems to be its end may be that
// of another. Memory is that of what is open, in one slice.
type open[K comparable, V any] struct {
	latest map[K]int32
	items  []item[K, V]
	free   int32 // the first of the unused items, -1 for none

	epoch uint32 // counts beginnings and ends of gaps
	gaps  int    // that are open
	lost  bool   // anything was
}

// item is what is open: below is the one of the same key that began before it, -1 for none.
type item[K comparable, V any] struct {
	key   K
	value V
	since uint64
	epoch uint32
	below int32
}

func newOpen[K comparable, V any]() open[K, V] {
	return open[K, V]{latest: map[K]int32{}, free: -1}
}

// lose is called where a gap begins or ends in which records are missing.
func (o *open[K, V]) lose(begins bool) {
	o.lost = true
	o.epoch++
	if begins {
		o.gaps++
	} else {
		o.gaps = max(o.gaps-1, 0)
	}
}

// sure reports whether what ends now is certain to: no gap was open since it began.
func (o *open[K, V]) sure(x *item[K, V]) bool { return o.gaps == 0 && x.epoch == o.epoch }

// top is the latest of a key, nil for none. It is valid until the next push.
func (o *open[K, V]) top(k K) *item[K, V] {
	i, ok := o.latest[k]
	if !ok {
		return nil
	}
	return &o.items[i]
}

// push adds one.
func (o *open[K, V]) push(k K, since uint64, v V) {
	below, ok := o.latest[k]
	if !ok {
		below = -1
	}
	i := o.free
	if i >= 0 {
		o.free = o.items[i].below
	} else {
		i = int32(len(o.items))
		o.items = append(o.items, item[K, V]{})
	}
	o.items[i] = item[K, V]{k, v, since, o.epoch, below}
	o.latest[k] = i
}

// pop removes the latest of a key, which must be there, and returns it.
func (o *open[K, V]) pop(k K) item[K, V] {
	i := o.latest[k]
	x := o.items[i]
	if x.below >= 0 {
		o.latest[k] = x.below
	} else {
		delete(o.latest, k)
	}
	o.items[i] = item[K, V]{below: o.free}
	o.free = i
	return x
}

// all calls f with each that is open, in no order, and forgets them.
func (o *open[K, V]) all(f func(*item[K, V])) {
	for _, i := range o.latest {
		for ; i >= 0; i = o.items[i].below {
			f(&o.items[i])
		}
	}
	clear(o.latest)
	o.items, o.free = o.items[:0], -1
}
