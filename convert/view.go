package convert

import (
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
)

// What an address may be looked up in, by the mode the CPU was in.
const (
	viewUser = iota
	viewKernel
	viewHypervisor
	viewGuestKernel
	viewGuestUser
	viewBeforeExec // the user's, before it was replaced
	numViews
)

// view is what a stretch of a callchain is looked up in.
type view struct {
	space *space // nil: nothing is known
	kind  stacks.Kind
	state uint64
	time  uint64
}

// view returns the view of s at time t; kind is that of addresses which nothing
// maps.
func (l *locator) view(s *space, t uint64, kind stacks.Kind) view {
	s, t = s.mapping(t) // shares what is cached for the parent
	v := view{space: s, kind: kind, time: t, state: uint64(kind)}
	if s != nil {
		v.state = uint64(l.tl.indexed(s).serial)<<32 | uint64(uint32(s.epoch(t)))<<4 | uint64(kind)
	}
	return v
}

// views are the views of one sample, each made when it is first needed: most
// samples need the kernel's and the user's.
type views struct {
	tl    *timeline
	state state
	made  [numViews]bool
	views [numViews]view
}

// of makes vs those of a sample with the given state.
func (vs *views) of(tl *timeline, st *state) {
	vs.tl, vs.state = tl, *st
	vs.made = [numViews]bool{}
}

func (vs *views) at(l *locator, which int) *view {
	v := &vs.views[which]
	if !vs.made[which] {
		vs.made[which] = true
		*v = vs.view(l, which)
	}
	return v
}

func (vs *views) view(l *locator, which int) view {
	st := &vs.state
	switch which {
	case viewUser:
		return l.view(st.user, st.asOf, stacks.KindUnknown)
	case viewKernel:
		return l.view(&vs.tl.kernel, st.time, stacks.KindKernel)
	case viewGuestKernel:
		return l.view(&vs.tl.guest, st.time, stacks.KindGuest)
	case viewGuestUser:
		return l.view(nil, st.time, stacks.KindGuest)
	case viewHypervisor:
		return l.view(nil, st.time, stacks.KindHypervisor)
	}
	if st.process == nil {
		return l.view(nil, st.time, stacks.KindUnknown)
	}
	before, t := st.process.spaceBefore(st.time)
	return l.view(before, t, stacks.KindUnknown)
}

func viewOf(m abi.Misc) int {
	switch m.CPUMode() {
	case abi.MiscKernel:
		return viewKernel
	case abi.MiscHypervisor:
		return viewHypervisor
	case abi.MiscGuestKernel:
		return viewGuestKernel
	case abi.MiscGuestUser:
		return viewGuestUser
	}
	return viewUser
}
