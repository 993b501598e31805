package unwind

// Operations of DWARF expressions (DWARF 5, 7.7.1), as far as call frame
// information of real programs has them: those of linkage tables and of signal
// frames.
const (
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opSwap       = 0x16
	opAnd        = 0x1a
	opMinus      = 0x1c
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opLit31      = 0x4f
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opBregx      = 0x92
	opNop        = 0x96
)

// Bounds of an expression: how deep its stack gets, how many operations it runs.
const (
	maxDepth = 32
	maxSteps = 1000
)

// evaluator runs an expression.
type evaluator struct {
	cursor
	regs  *[numRegs + 1]uint64
	stack *Stack
	vals  [maxDepth]uint64
	n     int
}

// eval returns the value of an expression, which begins with the given value on its
// stack, if any.
func eval(code []byte, regs *[numRegs + 1]uint64, stack *Stack, first ...uint64) (uint64, bool) {
	e := evaluator{cursor: cursor{data: code}, regs: regs, stack: stack}
	for _, v := range first {
		e.push(v)
	}
	for steps := 0; e.left() > 0; steps++ {
		if steps == maxSteps {
			return 0, false
		}
		if e.do(e.u8()); e.bad {
			return 0, false
		}
	}
	v := e.pop()
	return v, !e.bad
}

func (e *evaluator) push(v uint64) {
	if e.n == maxDepth {
		e.bad = true
		return
	}
	e.vals[e.n] = v
	e.n++
}

func (e *evaluator) pop() uint64 {
	if e.n == 0 {
		e.bad = true
		return 0
	}
	e.n--
	return e.vals[e.n]
}

// top returns the nth value from the top.
func (e *evaluator) top(n int) uint64 {
	if e.n <= n {
		e.bad = true
		return 0
	}
	return e.vals[e.n-1-n]
}

func (e *evaluator) jump(by int16) {
	if to := e.off + int(by); to >= 0 && to <= len(e.data) {
		e.off = to
		return
	}
	e.bad = true
}

func (e *evaluator) do(op byte) {
	switch {
	case op >= opLit0 && op <= opLit31:
		e.push(uint64(op - opLit0))
		return
	case op >= opBreg0 && op <= opBreg31:
		e.push(e.regs[op-opBreg0] + uint64(e.sleb()))
		return
	}
	switch op {
	case opNop:
	case opBregx:
		e.push(e.regs[regOf(e.uleb())] + uint64(e.sleb()))
	case opConst1u:
		e.push(uint64(e.u8()))
	case opConst1s:
		e.push(uint64(int64(int8(e.u8()))))
	case opConst2u:
		e.push(uint64(e.u16()))
	case opConst2s:
		e.push(uint64(int64(int16(e.u16()))))
	case opConst4u:
		e.push(uint64(e.u32()))
	case opConst4s:
		e.push(uint64(int64(int32(e.u32()))))
	case opConst8u, opConst8s:
		e.push(e.u64())
	case opConstu:
		e.push(e.uleb())
	case opConsts:
		e.push(uint64(e.sleb()))
	case opDup:
		e.push(e.top(0))
	case opDrop:
		e.pop()
	case opOver:
		e.push(e.top(1))
	case opSwap:
		a, b := e.pop(), e.pop()
		e.push(a)
		e.push(b)
	case opDeref:
		v, ok := e.stack.read(e.pop())
		e.bad = e.bad || !ok
		e.push(v)
	case opNeg:
		e.push(-e.pop())
	case opNot:
		e.push(^e.pop())
	case opPlusUconst:
		e.push(e.pop() + e.uleb())
	case opSkip:
		e.jump(int16(e.u16()))
	case opBra:
		if by := int16(e.u16()); e.pop() != 0 {
			e.jump(by)
		}
	default:
		b, a := e.pop(), e.pop()
		e.push(e.binary(op, a, b))
	}
}

func (e *evaluator) binary(op byte, a, b uint64) uint64 {
	is := func(c bool) uint64 {
		if c {
			return 1
		}
		return 0
	}
	switch op {
	case opAnd:
		return a & b
	case opOr:
		return a | b
	case opXor:
		return a ^ b
	case opPlus:
		return a + b
	case opMinus:
		return a - b
	case opMul:
		return a * b
	case opShl:
		return a << b
	case opShr:
		return a >> b
	case opShra:
		return uint64(int64(a) >> b)
	case opEq:
		return is(a == b)
	case opNe:
		return is(a != b)
	case opGe:
		return is(int64(a) >= int64(b))
	case opGt:
		return is(int64(a) > int64(b))
	case opLe:
		return is(int64(a) <= int64(b))
	case opLt:
		return is(int64(a) < int64(b))
	}
	e.bad = true
	return 0
}
