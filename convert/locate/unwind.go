package locate

import (
	"slices"

	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/symbolize/unwind"
)

// Unwind walks the stacks of which samples carry copies (perf record --call-graph
// dwarf), and finds callers that callchains leave out. Recordings of other machines need
// their files for it, as for names.
type Unwind struct {
	// Machine is 0 where the recording does not say it, or says it later: the
	// registers that samples have tell then.
	Machine unwind.Machine
	// Frames returns the call frame information of a mapping's file, nil if the
	// file is not there. It is not called before the first sample to be walked.
	Frames func(stacks.Mapping) *unwind.Table
}

// maxUnwindFiles bounds the files that are looked for to walk stacks in them.
const maxUnwindFiles = 1 << 14

// unwinder walks the stack of one sample after the other.
type unwinder struct {
	opts    *Unwind
	locator *Locator
	view    *timeline.View // of the sample's process

	plans  map[planKey]*walkPlan
	plan   *walkPlan               // of the sample
	tables map[int32]*unwind.Table // by object
	leaf   uint64                  // where the program was
	regs   unwind.Registers
	stack  unwind.Stack
	addrs  []uint64
}

// planKey tells the dumps of registers that look alike.
type planKey struct {
	event *perfdata.Event
	abi   uint64
}

// walkPlan says how to walk the stacks of an event's samples.
type walkPlan struct {
	machine unwind.Machine
	layout  unwind.Layout
	walks   bool // it is known how; otherwise no more than where the program was
}

func newUnwinder(opts *Unwind, l *Locator) *unwinder {
	return &unwinder{opts: opts, locator: l, plans: map[planKey]*walkPlan{}, tables: map[int32]*unwind.Table{}}
}

// planOf returns how to walk the stack of a sample.
func (u *unwinder) planOf(e *perfdata.Event, s *abi.Sample) *walkPlan {
	key := planKey{e, s.UserABI}
	p := u.plans[key]
	if p != nil {
		return p
	}
	p = &walkPlan{machine: u.opts.Machine}
	u.plans[key] = p
	mask := e.Attr.SampleRegsUser
	if p.machine == 0 {
		p.machine = unwind.MachineOf(mask)
	}
	p.layout, p.walks = p.machine.LayoutOf(mask)
	switch width, narrow := s.UserABI&^abi.RegsABISIMD, p.machine.Narrow(); {
	case width == abi.RegsABI64:
		p.walks = p.walks && p.machine != narrow
	case width == abi.RegsABI32 && narrow != 0:
		p.machine = narrow
		p.layout, p.walks = narrow.LayoutOf(mask)
	default:
		p.walks = false
	}
	if e.Layout.Order == abi.BigEndian { // of arm64: stacks and call frame information are read as little-endian
		p.walks = false
	}
	return p
}

// copiesStack reports whether a sample is of a task with a user stack, of which it carries
// a copy: an empty one where the stack could not be read, as while it grows by a page.
func copiesStack(e *perfdata.Event, s *abi.Sample) bool {
	return e.Attr.SampleType&abi.SampleStackUser != 0 && (len(s.UserStack) > 0 || s.UserABI != 0)
}

// userPart returns where in a sample's callchain the user part begins and ends, without
// the marker before it; from is -1 where there is none.
func userPart(chain []uint64, misc abi.Misc) (from, to int) {
	switch i := slices.Index(chain, abi.ContextUser); {
	case i >= 0:
		from = i + 1
	case len(chain) == 0 || chain[0] >= abi.ContextMax || timeline.ModeOf(misc) != timeline.User:
		return -1, -1
	} // else there is no marker: the chain is of the mode that the sample was taken in
	for to = from; to < len(chain) && chain[to] < abi.ContextMax; to++ {
	}
	return from, to
}

// outcome says how far the copy of a stack could be walked.
type outcome uint8

const (
	walkedWhole outcome = iota
	walkedPart
	notWalked // of a machine whose stacks nobody here can walk
)

// append appends the locations of a user stack: where the program was, which the
// registers tell in any case, and its callers as far as they are found. Where the
// copy ends before the stack does, known goes on: the user part of the callchain that
// the kernel made by frame pointers, if there is one and it meets the stack.
func (u *unwinder) append(dst []uint32, e *perfdata.Event, s *abi.Sample, views *views, known []uint64) ([]uint32, outcome) {
	u.plan = u.planOf(e, s)
	u.addrs = u.addrs[:0]
	result := notWalked
	if sp, ok := u.plan.layout.Registers(&u.regs, s.UserRegs); ok && u.plan.walks {
		u.stack = unwind.Stack{Base: sp, Data: s.UserStack}
		u.view, u.leaf = views.at(timeline.User), u.regs.PC
		var end unwind.End
		u.addrs, end = u.plan.machine.Walk(u.addrs, &u.regs, &u.stack, u)
		if result = walkedWhole; end != unwind.Outermost {
			result = walkedPart
			u.addrs = join(u.addrs, u.code(known), u.locator.exact)
		}
	} else if pc, ok := u.plan.layout.PC(s.UserRegs); ok {
		u.addrs = join(append(u.addrs, pc), known, u.locator.exact)
	}
	if len(u.addrs) == 0 {
		u.addrs = join(u.addrs, known, u.locator.exact)
	}
	for i, addr := range u.addrs {
		if i == 0 && timeline.ModeOf(s.Misc) == timeline.Kernel {
			dst = append(dst, u.locator.entered(addr, views))
		} else {
			dst = append(dst, u.locator.at(views.at(timeline.User), addr))
		}
	}
	return dst, result
}

// code is the beginning of a chain up to where it is of no code.
func (u *unwinder) code(chain []uint64) []uint64 {
	for i, addr := range chain {
		if i > 0 && !u.locator.exact {
			addr--
		}
		if _, _, mapped := u.Find(addr); i > 0 && !mapped {
			return chain[:i]
		}
	}
	return chain
}

// join continues a walked stack by a chain of return addresses, from the outermost
// caller on that both have. That they have the leaf in common says nothing of the callers:
// in code without frame pointers the chain is of whatever else the register holds. So it
// takes the place only of a stack of which no caller is known.
func join(walked, chain []uint64, exact bool) []uint64 {
	if len(chain) == 0 {
		return walked
	}
	call := func(i int) uint64 { // as walked has it
		if i == 0 || exact || chain[i] == 0 {
			return chain[i]
		}
		return chain[i] - 1
	}
	from := 0
	if len(walked) == 1 && call(0) == walked[0] {
		from = 1
	}
	for n := len(walked) - 1; n > 0; n-- {
		i := 1
		for i < len(chain) && call(i) != walked[n] {
			i++
		}
		if i < len(chain) {
			walked, from = walked[:n+1], i+1
			break
		}
		if n == 1 {
			return walked // they have nothing in common
		}
	}
	if from == 0 {
		walked = walked[:0]
	}
	for i := from; i < len(chain); i++ {
		walked = append(walked, call(i))
	}
	return walked
}

// Find is of unwind.Finder.
func (u *unwinder) Find(pc uint64) (t *unwind.Table, off uint64, mapped bool) {
	tl := u.locator.tl
	a := tl.Find(u.view, pc)
	if a == nil {
		return nil, 0, false
	}
	o := tl.Object(a.Object)
	if o.Data && pc != u.leaf { // what was taken for a return address is none
		return nil, 0, false
	}
	if u.plan.machine == unwind.I386 && o.Kind == stacks.KindVDSO {
		return unwind.Vsyscall, 0, true // there is a copy of the one of 64-bit programs alone
	}
	t, known := u.tables[a.Object]
	if !known && len(u.tables) < maxUnwindFiles {
		m := tl.Mapping(a)
		t = u.opts.Frames(m)
		u.tables[a.Object] = t
	}
	return t, pc - a.Start + a.Offset, true
}

// copied appends the locations of a sample with a copy of its user stack.
func (l *Locator) copied(dst []uint32, e *perfdata.Event, s *abi.Sample) []uint32 {
	chain := s.Callchain
	if !s.HasChain {
		chain = nil
	}
	from, to := userPart(chain, s.Misc)
	if l.unwind == nil {
		if from == to {
			l.stats.UnwalkedStacks++
		}
		return l.chain(dst, s.Misc, chain, &l.views)
	}
	var user []uint64
	if from >= 0 {
		chain, user = chain[:from], chain[from:to]
	}
	dst = l.chain(dst, s.Misc, chain, &l.views)
	dst, how := l.unwind.append(dst, e, s, &l.views, user)
	switch {
	case how == notWalked && from == to:
		l.stats.UnwalkedStacks++
	case how == walkedPart:
		l.stats.TruncatedStacks++
	}
	return dst
}
