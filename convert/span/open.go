package span

// open is what has begun and not ended, by key. Of each it holds whether records may be
// missing since: then its end may be among them, and what seems to be its end may be that
// of another. What is known to stay on a CPU is hidden by what is missing of that CPU alone. Memory is
// that of what is open, in one slice.
type open[K comparable, V any] struct {
	latest map[K]int32
	items  []item[K, V]
	free   int32 // the first of the unused items, -1 for none

	total gaps            // of any CPU
	every gaps            // of these, those that may be of every CPU
	cpus  map[int32]*gaps // the others, by CPU
	late  bool            // what began may have begun before the recording did, see Late
}

// gaps are times in which records are missing.
type gaps struct {
	epoch uint32 // counts their beginnings and ends
	open  int
}

// maxGapCPUs is of how many CPUs gaps are told apart; the kernel has 8192 at most (NR_CPUS).
const maxGapCPUs = 1 << 13

// item is what is open: below is the one of the same key that began before it, -1 for none.
type item[K comparable, V any] struct {
	key   K
	value V
	since uint64
	cpu   int32 // on which it is, and nowhere else; -1 for any
	epoch uint32
	below int32
}

func newOpen[K comparable, V any]() open[K, V] {
	return open[K, V]{latest: map[K]int32{}, cpus: map[int32]*gaps{}, free: -1}
}

// lose is called where a gap of a CPU begins or ends in which records are missing; -1 for any CPU.
func (o *open[K, V]) lose(cpu int32, begins bool) {
	o.total.turn(begins)
	g := o.cpus[cpu]
	switch {
	case g != nil:
	case cpu < 0 || len(o.cpus) >= maxGapCPUs:
		g = &o.every
	default:
		g = &gaps{}
		o.cpus[cpu] = g
	}
	g.turn(begins)
}

// turn counts the begin or the end of a gap.
func (g *gaps) turn(begins bool) {
	g.epoch++
	if begins {
		g.open++
	} else {
		g.open = max(g.open-1, 0)
	}
}

// gaps returns those that hide what happens on a CPU, -1 for any.
func (o *open[K, V]) gaps(cpu int32) gaps {
	if cpu < 0 {
		return o.total
	}
	sum := o.every
	if g := o.cpus[cpu]; g != nil {
		sum.epoch += g.epoch
		sum.open += g.open
	}
	return sum
}

// lost reports whether what began on a CPU, -1 for any, may not be known.
func (o *open[K, V]) lost(cpu int32) bool { return o.late || o.gaps(cpu).epoch > 0 }

// sure reports whether what ends now is certain to: no gap was open since it began.
func (o *open[K, V]) sure(x *item[K, V]) bool {
	g := o.gaps(x.cpu)
	return g.open == 0 && x.epoch == g.epoch
}

// top is the latest of a key, nil for none. It is valid until the next push.
func (o *open[K, V]) top(k K) *item[K, V] {
	i, ok := o.latest[k]
	if !ok {
		return nil
	}
	return &o.items[i]
}

// push adds one, which begins and ends on a CPU; -1 for any.
func (o *open[K, V]) push(k K, since uint64, cpu int32, v V) {
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
	o.items[i] = item[K, V]{k, v, since, cpu, o.gaps(cpu).epoch, below}
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
