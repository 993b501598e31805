package unwind

// Stack is a copy of the part of a stack from address Base on.
type Stack struct {
	Base uint64
	Data []byte

	narrow bool // its words have 4 bytes, not 8
}

// read returns the word at addr.
func (s *Stack) read(addr uint64) (uint64, bool) {
	if s.narrow {
		const word = 4
		off := uint64(uint32(addr - s.Base))
		if off < uint64(len(s.Data)) && uint64(len(s.Data))-off >= word {
			return uint64(le.Uint32(s.Data[off:])), true
		}
		return 0, false
	}
	const word = 8
	if off := addr - s.Base; off < uint64(len(s.Data)) && uint64(len(s.Data))-off >= word {
		return le.Uint64(s.Data[off:]), true
	}
	return 0, false
}

// Registers are those of user code at a moment: the program counter, and the
// general ones by their numbers in DWARF. Those that were not recorded are 0.
type Registers struct {
	PC      uint64
	General [numRegs + 1]uint64
}

// End says why a walk came to its end.
type End uint8

// Ends of walks.
const (
	Outermost End = iota // nothing called the last function
	CutOff               // the copy of the stack is too short, or there are maxFrames
	Lost                 // nothing says where the last function was called from
)

// maxFrames is how many frames a walk has at the most: perf's
// PERF_MAX_STACK_DEPTH.
const maxFrames = 127

// Finder finds the table of the file that is mapped at an address, and the offset in
// it; nil for a file that is not there. mapped is false where nothing is mapped.
type Finder interface {
	Find(pc uint64) (t *Table, off uint64, mapped bool)
}

// Walk appends addresses in the functions on a stack, the innermost first: that of
// the instruction to be executed next, in what a signal interrupted too, and in callers one
// within the call. regs is changed.
//
// Where a file has no call frame information for its code, a frame pointer is
// believed if it leads up the stack; of a function that was interrupted, which may be a stub
// without a frame, where it returns to is believed before that. Of one that called and whose
// frame pointer leads to no code, what is where a caller without a frame returns to.
func (m Machine) Walk(dst []uint64, regs *Registers, stack *Stack, f Finder) ([]uint64, End) {
	r := registersOf(m)
	stack.narrow = r.word == 4
	exact := true      // the program counter is not behind a call
	var leaf Registers // of the function before this one, if it was interrupted
	var leafRow *row
	thrown := false // the function before this one has saved registers of another
	searches := 0   // for a frame then: of exceptions in destructors while there is another
	for n := 0; n < maxFrames; n++ {
		at := regs.PC
		if !exact {
			at--
		}
		t, off, mapped := f.Find(at)
		if !mapped && leafRow != nil && leaf.stepPushed(leafRow, r, stack, f) {
			*regs = leaf
			at = regs.PC - 1
			t, off, mapped = f.Find(at)
		}
		if mapped || n == 0 { // where it was is known, whatever is there
			dst = append(dst, at)
		}
		if !mapped || t == nil {
			return dst, Lost
		}
		before, interrupted, frameless := regs.General[r.sp], exact, exact
		var end End
		var more bool
		replaced := thrown
		thrown = false
		row := t.row(off)
		if row == nil && interrupted {
			row = t.signalBefore(off)
		}
		if leafRow = nil; interrupted && r.pc != noRegister && row != nil && row.cfa.kind == register && row.cfa.reg == r.sp {
			leaf, leafRow = *regs, row
		}
		switch {
		case row != nil && r.pc == noRegister && row.ra != armLR:
			// Such as glibc's rawmemchr, which moves it to x15, but not first of all.
			frameless = true
			entered := *regs
			more, end = regs.step(row, r, stack, f, 0)
			if interrupted && (!more || !describes(f, regs.PC)) && entered.stepStub(r, stack, f) {
				*regs, more = entered, true
			}
			exact = false
		case row != nil:
			if replaced && searches < maxSearches {
				regs.findFrame(row, r, stack, f)
				searches++
			}
			more, end = regs.step(row, r, stack, f, 0)
			exact = row.signal
			thrown = more && !interrupted && r.pc == noRegister && row.throws() && regs.stepThrown(before, row, r, stack, f)
		case t == Vsyscall:
			exact = regs.stepSignal(stack)
			more, end = exact || regs.stepVsyscall(r, stack, f), CutOff
		default:
			exact = r.pc == noRegister && regs.stepFrameRecord(stack)
			if more = exact || interrupted && t != FramePointers && regs.stepStub(r, stack, f); !more {
				frameless := *regs
				more, end = regs.stepFramePointer(r, stack, f)
				if !interrupted && !(more && leads(f, regs.PC)) && frameless.stepAligned(r, stack, f) {
					*regs, more = frameless, true
				}
			}
		}
		switch {
		case !more:
			return dst, end
		case regs.PC == 0:
			return dst, Outermost
		case regs.General[r.sp] < before || regs.General[r.sp] == before && !frameless:
			return dst, Lost // up the stack is the only way, but for a leaf without a frame
		}
	}
	return dst, CutOff
}

// signalBefore returns the row of the return from a signal handler that ends right before an
// offset: there the program is while the kernel executes its last instruction.
func (t *Table) signalBefore(off uint64) *row {
	if row := t.row(off - 1); row != nil && row.signal {
		return row
	}
	return nil
}

// special are the numbers of registers that have a role, and what words are like.
type special struct {
	sp, fp uint8
	pc     uint8  // noRegister where no rule refers to it
	word   uint64 // bytes
	mask   uint64 // bits of a register
	strip  uint64 // the most bits of a return address that are one
}

const noRegister = 0xff

func registersOf(m Machine) special {
	const all, low = ^uint64(0), 1<<32 - 1
	switch m {
	case ARM64:
		return special{sp: 31, fp: 29, pc: noRegister, word: 8, mask: all, strip: 1<<48 - 1}
	case I386:
		return special{sp: 4, fp: 5, pc: 8, word: 4, mask: low, strip: low}
	}
	return special{sp: 7, fp: 6, pc: 16, word: 8, mask: all, strip: all}
}

// step goes to the caller by a row, whose frame is shifted by so many bytes more.
func (regs *Registers) step(row *row, r special, stack *Stack, f Finder, shift uint64) (more bool, end End) {
	old := regs.General
	cfa, ok := uint64(0), true
	if row.cfa.kind == register {
		cfa = old[row.cfa.reg] + uint64(row.cfa.off)
	} else {
		cfa, ok = eval(row.cfa.expr, &old, stack)
	}
	if !ok {
		return false, CutOff
	}
	cfa = (cfa + shift) & r.mask
	regs.General[r.sp] = cfa
	for i := range row.regs {
		rr := &row.regs[i]
		if rr.kind == undefined {
			if rr.reg == row.ra {
				return false, Outermost
			}
			continue
		}
		if rr.kind == offset && rr.reg != row.ra && (cfa+uint64(rr.off))&r.mask < old[r.sp] {
			continue // popped already, which compilers do not say
		}
		v, ok := rr.value(cfa, &old, stack)
		if !ok {
			if rr.reg == row.ra {
				return false, CutOff
			}
			v = 0 // it may not be needed
		}
		regs.General[rr.reg] = v & r.mask
		if rr.reg == row.ra && rr.kind == offset && rr.off >= 0 && row.cfa.kind == register && row.cfa.reg == r.sp && r.pc == noRegister {
			// In its caller's frame: a linkage table has pushed it, and glibc's
			// _dl_runtime_resolve takes that for the caller.
			regs.General[r.sp] = cfa + uint64(rr.off) + r.word
		}
	}
	regs.PC = r.returns(regs.General[row.ra], f)
	return true, 0
}

func (rr *regRule) value(cfa uint64, old *[numRegs + 1]uint64, stack *Stack) (uint64, bool) {
	switch rr.kind {
	case offset:
		return stack.read(cfa + uint64(rr.off))
	case valOffset:
		return cfa + uint64(rr.off), true
	case register:
		return old[rr.rule.reg], true
	case expr:
		addr, ok := eval(rr.expr, old, stack, cfa)
		if !ok {
			return 0, false
		}
		return stack.read(addr)
	case valExpr:
		return eval(rr.expr, old, stack, cfa)
	}
	return 0, false
}

// maxPushed is how many words assembly may have pushed on the stack without saying so.
const maxPushed = 3

// stepPushed goes to the caller of an innermost function whose row leads to no code, since it
// has pushed something of which the row knows nothing, as memcpy of glibc on i386 does.
func (regs *Registers) stepPushed(row *row, r special, stack *Stack, f Finder) bool {
	before := *regs
	for n := range uint64(maxPushed) {
		*regs = before
		if more, _ := regs.step(row, r, stack, f, (n+1)*r.word); more && describes(f, regs.PC) {
			return true
		}
	}
	return false
}

// describes reports whether there is call frame information for the call that returns to an
// address.
func describes(f Finder, ret uint64) bool {
	t, off, mapped := f.Find(ret - 1)
	return mapped && t != nil && t.row(off) != nil
}

const (
	maxFrame    = 1 << 14 // bytes of a frame that are looked through
	maxSearches = 4       // for frames in one stack, which a recording may want to take long
)

// throws reports whether the function ends where an exception is caught (__builtin_eh_return): it
// saves registers that others need not.
func (r *row) throws() bool {
	const dataRegs = 4 // x0 to x3 of AArch64
	n := 0
	for _, rr := range r.regs {
		if rr.reg < dataRegs && rr.kind == offset {
			n++
		}
	}
	return n == dataRegs
}

// stepThrown takes the return address of a function that throws from where libgcc has it: that on
// the stack may be another already (uw_install_context_1). In its frame, which begins at from, is
// struct _Unwind_Context of the function itself: pointers to where registers are saved, the CFA and
// the return address. It reports whether that on the stack was another, as the registers before it
// are then.
func (regs *Registers) stepThrown(from uint64, row *row, r special, stack *Stack, f Finder) (replaced bool) {
	const maxPointers = 128 // of AArch64 there are 98
	cfa, slot := regs.General[r.sp], uint64(0)
	for _, rr := range row.regs {
		if rr.reg == row.ra && rr.kind == offset {
			slot = cfa + uint64(rr.off)
		}
	}
	pointer := uint64(0) // where the last one to the return address is
	for at := from; at < cfa && at-from < maxFrame; at += r.word {
		v, ok := stack.read(at)
		if ok && v == slot {
			pointer = at
		}
		if !ok || v != cfa || pointer == 0 || at-pointer > maxPointers*r.word {
			continue // such as a context of before
		}
		ret, ok := stack.read(at + r.word)
		if ret = r.returns(ret, f); !ok || !describes(f, ret) {
			continue
		}
		// While the context is made, it is one of this function.
		if t, off, _ := f.Find(ret - 1); !t.row(off).throws() {
			replaced = regs.PC != ret
			regs.PC = ret
			return replaced
		}
	}
	return false
}

// findFrame sets the frame pointer of a function that needs it, where the one that it has called
// has saved that of the function that catches: the function's own frame is below that, and leads
// to a caller and up.
func (regs *Registers) findFrame(row *row, r special, stack *Stack, f Finder) {
	if row.cfa.kind != register || row.cfa.reg != r.fp {
		return
	}
	sp, catches := regs.General[r.sp], regs.General[r.fp]
	for fp := sp; fp < catches && fp-sp < maxFrame; fp += r.word {
		caller := *regs
		caller.General[r.fp] = fp
		if more, _ := caller.step(row, r, stack, f, 0); more && describes(f, caller.PC) && caller.General[r.fp] > fp {
			regs.General[r.fp] = fp
			return
		}
	}
}

// stepStub goes to the caller of an innermost function that has no frame: of linkers' stubs, and
// of functions of assembly, there may be no call frame information.
func (regs *Registers) stepStub(r special, stack *Stack, f Finder) bool {
	ret, ok := regs.General[armLR], true
	if r.pc != noRegister {
		ret, ok = stack.read(regs.General[r.sp])
	}
	if ret = r.returns(ret, f); !ok || !describes(f, ret) {
		return false
	}
	regs.PC = ret
	if r.pc != noRegister {
		regs.General[r.sp] += r.word
	}
	return true
}

// leads reports whether an address is one that a call returns to, or that of no caller.
func leads(f Finder, ret uint64) bool {
	if ret == 0 {
		return true
	}
	_, _, mapped := f.Find(ret - 1)
	return mapped
}

// stepAligned goes to the caller of a function that called another one, and keeps nothing on
// the stack: CPython's trampolines (Python/asm_trampoline.S) are made at run time, without
// call frame information. On x86-64 calls are made with a stack pointer that 16 divides, so
// that there is a word between it and the return address.
func (regs *Registers) stepAligned(r special, stack *Stack, f Finder) bool {
	const word, alignment = 8, 16
	sp := regs.General[r.sp]
	if r.pc == noRegister || r.word != word || sp%alignment != 0 {
		return false
	}
	ret, ok := stack.read(sp + word)
	if !ok || !describes(f, ret) {
		return false
	}
	regs.PC, regs.General[r.sp] = ret, sp+alignment
	return true
}

// stepFramePointer goes to the caller by the frame pointer, which points to its
// caller's, with the return address behind it.
func (regs *Registers) stepFramePointer(r special, stack *Stack, f Finder) (more bool, end End) {
	fp := regs.General[r.fp]
	switch {
	case fp == 0: // what the psABIs want of the outermost frame
		return false, Outermost
	case fp < regs.General[r.sp] || fp%r.word != 0:
		return false, Lost
	}
	up, ok := stack.read(fp)
	ret, ok2 := stack.read(fp + r.word)
	if !ok || !ok2 {
		return false, CutOff
	}
	regs.General[r.fp], regs.General[r.sp] = up, fp+2*r.word
	regs.PC = r.returns(ret, f)
	return true, 0
}

// Vsyscall is the table of the vDSO of a 32-bit program of x86, as far as it is
// __kernel_vsyscall, or what signal handlers return to. That is the kernel's, of which there may
// be no copy.
var Vsyscall = &Table{}

// signalContext is where in struct sigcontext_32 (Linux 6.1, arch/x86/include/uapi/asm/sigcontext.h)
// the registers are, by their numbers in DWARF.
var signalContext = [...]uint64{44, 40, 36, 32, 28, 24, 20, 16}

// stepSignal goes to what a signal interrupted, from where its handler returns to: behind the
// return address the kernel has put the number of the signal, and the context, or three words that say
// where that is (arch/x86/include/asm/sigframe.h).
func (regs *Registers) stepSignal(stack *Stack) bool {
	const (
		sp                      = 4
		rtContext               = 20 // in ucontext_ia32
		ip, cs                  = 56, 60
		ofKernel64, ofOwnKernel = 0x23, 0x73 // __USER32_CS, and __USER_CS of a kernel of 32 bits
	)
	from := regs.General[sp]
	context := from + 4
	if info, ok := stack.read(from + 4); ok && info == from+12 {
		if context, ok = stack.read(from + 8); !ok {
			return false
		}
		context += rtContext
	}
	segment, ok := stack.read(context + cs)
	if segment &= 0xffff; !ok || segment != ofKernel64 && segment != ofOwnKernel {
		return false
	}
	for reg, at := range signalContext {
		regs.General[reg], _ = stack.read(context + at)
	}
	regs.PC, ok = stack.read(context + ip)
	return ok
}

// stepFrameRecord goes to what a signal interrupted on AArch64, from where its handler returns to,
// of which there is no call frame information since Linux 5.8. The stack pointer is at struct
// rt_sigframe (arch/arm64/kernel/signal.c), whose context has all registers, the frame pointer at a
// record behind it that has two of them too, by which it is known; or by these registers themselves,
// where the kernel has begun to restore them (restore_sigframe), the last of all the stack pointer.
func (regs *Registers) stepFrameRecord(stack *Stack) bool {
	const (
		sp, fp  = 31, 29
		context = 128 + 176 + 8 // siginfo; in ucontext; in sigcontext
		pc      = context + 8*32
	)
	from, record := regs.General[sp], regs.General[fp]
	recorded, restored := record >= from+pc, true
	for i := range uint64(2) {
		v, ok := stack.read(record + 8*i)
		saved, ok2 := stack.read(from + context + 8*(fp+i))
		recorded = recorded && ok && ok2 && v == saved
	}
	for reg := range uint64(fp + 1) {
		saved, ok := stack.read(from + context + 8*reg)
		restored = restored && ok && saved == regs.General[reg]
	}
	at, ok := stack.read(from + pc)
	if !ok || !recorded && !restored {
		return false
	}
	for reg := range uint64(sp + 1) {
		regs.General[reg], _ = stack.read(from + context + 8*reg)
	}
	regs.PC = at
	return true
}

// stepVsyscall goes to the caller of __kernel_vsyscall, which has up to three
// registers on the stack, ebp on top of all of them (Linux 4.4, entry/vdso/vdso32's
// system_call.S): the first word that leads to code of a file is the return address.
func (regs *Registers) stepVsyscall(r special, stack *Stack, f Finder) bool {
	const pushed = 3
	sp := regs.General[r.sp]
	for n := range uint64(pushed + 1) {
		ret, ok := stack.read(sp + n*r.word)
		if !ok {
			return false
		}
		if !describes(f, ret) {
			continue // nothing, or memory: the stack itself has a mapping
		}
		if n == pushed {
			regs.General[r.fp], _ = stack.read(sp)
		}
		regs.PC, regs.General[r.sp] = ret, sp+(n+1)*r.word
		return true
	}
	return false
}
