package unwind

import "slices"

// text is the code of a file of AArch64, by its addresses.
type text []Section

// at returns the instruction at addr.
func (t text) at(addr uint64) (ins uint32, ok bool) {
	for _, s := range t {
		if off := addr - s.Addr; off < uint64(len(s.Data)) && uint64(len(s.Data))-off >= 4 {
			return le.Uint32(s.Data[off:]), true
		}
	}
	return 0, false
}

// coarse reports whether the call frame information is one of functions whose frames are there all
// at once, as some thousand that are spread over the file have it.
func (t *Table) coarse() bool {
	const probed = 1 << 13
	for _, frames := range t.frames {
		n := frames.len()
		for i := 0; i < n; i += max(1, n/probed) {
			if off, ok := frames.at(i); ok {
				if f, ok := frames.fde(off); ok && f.coarse() {
					return true
				}
			}
		}
	}
	return false
}

// coarse reports whether the function has a frame that takes two instructions or more to make, such
// as those that store three registers, which is said at once, and stays for ever.
func (f *fdeData) coarse() bool {
	const end = 1<<64 - 1
	cie := program{fde: f}
	if !cie.run(f.initial, end) {
		return false
	}
	p := program{fde: f, now: cie.now, initial: cie.now}
	return p.run(f.program, end) && p.frames == 1 && p.framed >= f.start+8 && !p.restores &&
		(p.saved > 2 || p.now.cfa.kind == register && p.now.cfa.reg != cie.now.cfa.reg)
}

// maxAhead bounds how many instructions are looked at for one address.
const maxAhead = 128

// between returns the row of the instruction at addr of the function f if the instructions there say
// that r, which the call frame information has, is not true; nil else. entry reports whether there is
// information of the code at an address, and whether a function begins there.
//
//	sub sp, sp, #32
//	stp x30, x19, [sp,#16]  the CFA is sp+32, and the return address in x30: r says sp
//	...                     r says sp+32
//	ldp x30, x19, [sp,#16]
//	add sp, sp, #32
//	ret                     the CFA is sp, and the return address in x30: r still says sp+32
func (t text) between(f *fdeData, addr uint64, r *row, entry func(addr uint64) (begins, known bool)) *row {
	switch {
	case f.ra != armLR || r.signal || r.outermost() || r.cfa.kind != register:
		return nil
	case r.cfa.reg == armSP && r.cfa.off == 0:
		if made := t.prologue(f, addr); made != nil {
			return made
		}
	case r.cfa.reg != armSP && r.cfa.reg != armFP:
		return nil
	}
	left := t.epilogue(f, addr, entry)
	if left == nil || r.cfa.reg == armSP && r.cfa.off == left.cfa.off ||
		r.cfa.reg == armFP && left.has(armFP) { // then the frame pointer is still this function's
		return nil
	}
	return left
}

// outermost reports whether there is no caller.
func (r *row) outermost() bool {
	return slices.ContainsFunc(r.regs, func(rr regRule) bool { return rr.reg == r.ra && rr.kind == undefined })
}

// has reports whether there is a rule for a register.
func (r *row) has(reg uint8) bool {
	return slices.ContainsFunc(r.regs, func(rr regRule) bool { return rr.reg == reg })
}

// prologue returns the row at addr if instructions right before it have made a frame, nil else. The
// registers that they have saved, and the link register, are as they were.
func (t text) prologue(f *fdeData, addr uint64) *row {
	var moved int64 // the stack pointer, until addr
	var saved int64 // where the frame pointer is, from the stack pointer at addr on
	var isSaved, makes bool
	for at := addr - 4; at >= f.start && at < addr && addr-at <= 4*maxAhead; at -= 4 {
		ins, ok := t.at(at)
		if !ok {
			break
		}
		e := effectOf(ins)
		if e.kind == unknown || e.kind > makesFP || e.kind == load || e.moves > 0 {
			break
		}
		moved += e.moves
		makes = makes || e.kind == makesFP
		for i, reg := range e.regs {
			if e.kind == store && reg == armFP && !isSaved {
				saved, isSaved = e.at+int64(i)*e.size-moved, true
			}
		}
	}
	if moved == 0 || makes && !isSaved {
		return nil
	}
	r := &row{cfa: rule{kind: register, reg: armSP, off: -moved}, ra: armLR}
	if makes {
		r.regs = []regRule{{armFP, rule{kind: offset, off: saved + moved}}}
	}
	return r
}

// epilogue returns the row at addr if the program goes on from there in a straight line to the
// return of the function, or to another one instead; nil else.
func (t text) epilogue(f *fdeData, addr uint64, entry func(addr uint64) (begins, known bool)) *row {
	var moved int64 // the stack pointer, since addr
	var restored [numRegs]struct {
		at int64 // from the stack pointer at addr on
		is bool
	}
	row := func() *row {
		r := &row{cfa: rule{kind: register, reg: armSP, off: moved}, ra: armLR}
		for reg := firstSaved; reg < armSP; reg++ {
			if where := restored[reg]; where.is {
				r.regs = append(r.regs, regRule{uint8(reg), rule{kind: offset, off: where.at - moved}})
			}
		}
		return r
	}
	inStub := false
	at := addr
	for range maxAhead {
		ins, ok := t.at(at)
		if !ok {
			return nil
		}
		e := effectOf(ins)
		at += 4
		switch e.kind {
		case returns:
			return row()
		case branch:
			at += uint64(e.target) - 4
			if at-f.start < f.size {
				return nil
			}
			begins, known := entry(at)
			if begins {
				return row()
			}
			if inStub = true; known { // a part of this function
				return nil
			}
			continue // of a linkage table, or a linker's that comes back
		case branchBy:
			if moved <= 0 && !inStub { // it may be to a part of this function
				return nil
			}
			return row()
		case makesFP, unknown:
			return nil
		}
		for i, reg := range e.regs {
			switch {
			case reg < firstSaved || reg >= armSP:
			case e.kind == store:
				return nil // a function begins here
			case e.kind == load:
				restored[reg].at, restored[reg].is = moved+e.at+int64(i)*e.size, e.size == 8
			}
		}
		moved += e.moves
	}
	return nil
}
