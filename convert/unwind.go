package convert

import (
	"slices"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
	"kprof/symbolize/unwind"
)

// Unwind walks the stacks of which samples carry copies (perf record --call-graph
// dwarf). Recordings of other machines need their files for it, as for names.
type Unwind struct {
	Machine unwind.Machine
	// Frames returns the call frame information of a mapping's file, nil if the
	// file is not there.
	Frames func(symbolize.Mapping) *unwind.Table
}

// maxUnwindFiles bounds the files that are looked for to walk stacks in them.
const maxUnwindFiles = 1 << 14

// unwinder walks the stack of one sample after the other.
type unwinder struct {
	opts    *Unwind
	locator *locator
	view    *view // of the sample's process

	layouts map[*perfdata.Event]*unwind.Layout // nil where registers are missing
	tables  map[int32]*unwind.Table            // by object
	regs    unwind.Registers
	stack   unwind.Stack
	addrs   []uint64
}

func newUnwinder(opts *Unwind, l *locator) *unwinder {
	return &unwinder{opts: opts, locator: l, layouts: map[*perfdata.Event]*unwind.Layout{}, tables: map[int32]*unwind.Table{}}
}

// copiesStack reports whether a sample carries a copy of the user's stack that stands
// for the user part of its callchain.
func copiesStack(e *perfdata.Event, s *abi.Sample) bool {
	if e.Attr.SampleType&abi.SampleStackUser == 0 || len(s.UserStack) == 0 || slices.Contains(s.Callchain, abi.ContextUser) {
		return false
	}
	// Without a marker the chain is of the mode that the sample was taken in.
	return len(s.Callchain) == 0 || s.Callchain[0] >= abi.ContextMax || viewOf(s.Misc) != viewUser
}

// append appends the locations of a user stack, and returns false if it could not
// be walked to its end.
func (u *unwinder) append(dst []uint32, e *perfdata.Event, s *abi.Sample, views *views) (_ []uint32, whole bool) {
	layout, known := u.layouts[e]
	if !known {
		if l, ok := u.opts.Machine.LayoutOf(e.Attr.SampleRegsUser); ok {
			layout = &l
		}
		u.layouts[e] = layout
	}
	const abi64 = 2 // PERF_SAMPLE_REGS_ABI_64
	if layout == nil || s.UserABI != abi64 {
		return dst, false
	}
	sp, ok := layout.Registers(&u.regs, s.UserRegs)
	if !ok {
		return dst, false
	}
	u.stack = unwind.Stack{Base: sp, Data: s.UserStack}
	u.view = views.at(u.locator, viewUser)
	var end unwind.End
	u.addrs, end = u.opts.Machine.Walk(u.addrs[:0], &u.regs, &u.stack, u)
	for i, addr := range u.addrs {
		if i == 0 && viewOf(s.Misc) == viewKernel {
			dst = append(dst, u.locator.entered(addr, views))
		} else {
			dst = append(dst, u.locator.at(u.view, addr))
		}
	}
	return dst, end == unwind.Outermost
}

// Find is of unwind.Finder.
func (u *unwinder) Find(pc uint64) (t *unwind.Table, off uint64, mapped bool) {
	tl := u.locator.tl
	if u.view.space == nil {
		return nil, 0, false
	}
	a := tl.area(u.view.space, pc, u.view.time)
	if a == nil {
		return nil, 0, false
	}
	t, known := u.tables[a.obj]
	if !known && len(u.tables) < maxUnwindFiles {
		m := tl.mapping(a)
		t = u.opts.Frames(symbolMapping(&m))
		u.tables[a.obj] = t
	}
	return t, pc - a.start + a.off, true
}
