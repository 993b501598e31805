package timeline

// timed is something that holds from a time on.
type timed interface{ start() uint64 }

// history is what held one after the other, in order of time, ties in order of
// arrival. What arrives late is kept apart until merge: however many come late,
// each of the others is moved once for all of them.
type history[T timed] struct {
	all  []T
	late *[]T // in order; nil for none
}

// startedBy returns how many of all hold since t or before.
func startedBy[T timed](all []T, t uint64) int {
	lo, hi := 0, len(all)
	if hi == 0 || all[hi-1].start() <= t {
		return hi
	}
	for lo < hi {
		if m := (lo + hi) / 2; all[m].start() <= t {
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
	if n := len(h.all); n > 0 && h.all[n-1].start() > x.start() {
		if late = h.late == nil; late {
			h.late = new([]T)
		}
		to = h.late
	}
	i := startedBy(*to, x.start())
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
	if i := startedBy(h.all, t); i > 0 {
		x = &h.all[i-1]
	}
	if h.late == nil {
		return x
	}
	if i := startedBy(*h.late, t); i > 0 && (x == nil || (*x).start() <= (*h.late)[i-1].start()) {
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
		if i >= 0 && h.all[i].start() > late[j].start() {
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
		j := startedBy(*h.late, t)
		rest = (*h.late)[j:]
		*h.late = (*h.late)[:j:j]
	}
	i := startedBy(h.all, t)
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
	if n := startedBy(h.all, t-1) - keep; n > 0 && n >= len(h.all)/2 {
		h.all = append([]T(nil), h.all[n:]...)
	}
}
