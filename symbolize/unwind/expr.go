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

// machine runs an expression.
type machine struct {
	cursor
	regs  *[numRegs + 1]uint64
	stack *Stack
	vals  [maxDepth]uint64
	n     int
}

// eval returns the value of an expression, which begins with the given value on its
// stack, if any.
func eval(code []byte, regs *[numRegs + 1]uint64, stack *Stack, first ...uint64) (uint64, bool) {
	m := machine{cursor: cursor{data: code}, regs: regs, stack: stack}
	for _, v := range first {
		m.push(v)
	}
	for steps := 0; m.left() > 0; steps++ {
		if steps == maxSteps {
			return 0, false
		}
		if m.do(m.u8()); m.bad {
			return 0, false
		}
	}
	v := m.pop()
	return v, !m.bad
}

func (m *machine) push(v uint64) {
	if m.n == maxDepth {
		m.bad = true
		return
	}
	m.vals[m.n] = v
	m.n++
}

func (m *machine) pop() uint64 {
	if m.n == 0 {
		m.bad = true
		return 0
	}
	m.n--
	return m.vals[m.n]
}

// top returns the nth value from the top.
func (m *machine) top(n int) uint64 {
	if m.n <= n {
		m.bad = true
		return 0
	}
	return m.vals[m.n-1-n]
}

func (m *machine) jump(by int16) {
	if to := m.off + int(by); to >= 0 && to <= len(m.data) {
		m.off = to
		return
	}
	m.bad = true
}

func (m *machine) do(op byte) {
	switch {
	case op >= opLit0 && op <= opLit31:
		m.push(uint64(op - opLit0))
		return
	case op >= opBreg0 && op <= opBreg31:
		m.push(m.regs[op-opBreg0] + uint64(m.sleb()))
		return
	}
	switch op {
	case opNop:
	case opBregx:
		m.push(m.regs[regOf(m.uleb())] + uint64(m.sleb()))
	case opConst1u:
		m.push(uint64(m.u8()))
	case opConst1s:
		m.push(uint64(int64(int8(m.u8()))))
	case opConst2u:
		m.push(uint64(m.u16()))
	case opConst2s:
		m.push(uint64(int64(int16(m.u16()))))
	case opConst4u:
		m.push(uint64(m.u32()))
	case opConst4s:
		m.push(uint64(int64(int32(m.u32()))))
	case opConst8u, opConst8s:
		m.push(m.u64())
	case opConstu:
		m.push(m.uleb())
	case opConsts:
		m.push(uint64(m.sleb()))
	case opDup:
		m.push(m.top(0))
	case opDrop:
		m.pop()
	case opOver:
		m.push(m.top(1))
	case opSwap:
		a, b := m.pop(), m.pop()
		m.push(a)
		m.push(b)
	case opDeref:
		v, ok := m.stack.read(m.pop())
		m.bad = m.bad || !ok
		m.push(v)
	case opNeg:
		m.push(-m.pop())
	case opNot:
		m.push(^m.pop())
	case opPlusUconst:
		m.push(m.pop() + m.uleb())
	case opSkip:
		m.jump(int16(m.u16()))
	case opBra:
		if by := int16(m.u16()); m.pop() != 0 {
			m.jump(by)
		}
	default:
		b, a := m.pop(), m.pop()
		m.push(m.binary(op, a, b))
	}
}

func (m *machine) binary(op byte, a, b uint64) uint64 {
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
	m.bad = true
	return 0
}
