package unwind

// numRegs is how many registers of a machine are followed: the general ones, by
// their numbers in DWARF. returnAddr stands for the one with the return address
// where that is none of them.
const (
	numRegs    = 32
	returnAddr = numRegs
)

type ruleKind uint8

const (
	same      ruleKind = iota // as in the callee
	undefined                 // lost; of the return address: there is no caller
	offset                    // in memory at the CFA plus off
	valOffset                 // the CFA plus off
	register                  // in register reg, plus off for the CFA
	expr                      // in memory at what an expression gives
	valExpr                   // what an expression gives
)

// rule is how to find the value that a register had in the caller, or the CFA, the
// caller's stack pointer.
type rule struct {
	kind ruleKind
	reg  uint8
	off  int64
	expr []byte
}

// row is a row of the table that call frame information stands for: the rules at one
// place in the code.
type row struct {
	cfa    rule
	regs   []regRule // those that are not the same as in the callee
	ra     uint8     // register that has the return address
	signal bool
}

type regRule struct {
	reg uint8
	rule
}

// Call frame instructions (DWARF 5, 7.24). The upper two bits of the first three
// tell them, the rest is their operand.
const (
	cfaAdvance = 1 << 6
	cfaOffset  = 2 << 6
	cfaRestore = 3 << 6

	cfaNop             = 0x00
	cfaSetLoc          = 0x01
	cfaAdvance1        = 0x02
	cfaAdvance2        = 0x03
	cfaAdvance4        = 0x04
	cfaOffsetExtended  = 0x05
	cfaRestoreExtended = 0x06
	cfaUndefined       = 0x07
	cfaSameValue       = 0x08
	cfaRegister        = 0x09
	cfaRememberState   = 0x0a
	cfaRestoreState    = 0x0b
	cfaDef             = 0x0c
	cfaDefRegister     = 0x0d
	cfaDefOffset       = 0x0e
	cfaDefExpression   = 0x0f
	cfaExpression      = 0x10
	cfaOffsetSF        = 0x11
	cfaDefSF           = 0x12
	cfaDefOffsetSF     = 0x13
	cfaValOffset       = 0x14
	cfaValOffsetSF     = 0x15
	cfaValExpression   = 0x16
	cfaSetRAState      = 0x2b // AArch64: how the return address is signed from here on
	cfaNegateRAState   = 0x2d // AArch64: it is signed from here on, or not
	cfaArgsSize        = 0x2e // GNU
	cfaNegativeOffset  = 0x2f // GNU

	cfaNegateRAStateWithPC = 0x2c // AArch64: with the address of the instruction that does it
)

// rules are the rules of all registers while instructions are run.
type rules struct {
	cfa  rule
	regs [numRegs + 1]rule
}

// program runs the instructions of an FDE.
type program struct {
	fde     *fdeData
	now     rules
	initial rules // what the CIE says
	kept    []rules

	// What the instructions were, for coarse.
	frames   int    // that say where the CFA is
	framed   uint64 // where the first of them was
	saved    int    // registers, there
	restores bool   // some restore rules
}

// maxKept bounds how many states may be remembered at once.
const maxKept = 32

// row runs the instructions up to addr. It returns nil for what is damaged, or of no
// machine here.
func (f *fdeData) row(addr uint64) *row {
	p := program{fde: f}
	if !p.run(f.initial, addr) {
		return nil
	}
	p.initial = p.now
	if !p.run(f.program, addr) || p.now.cfa.kind != register && p.now.cfa.kind != valExpr {
		return nil
	}
	r := &row{cfa: p.now.cfa, signal: f.signal, ra: regOf(f.ra)}
	for i, rule := range p.now.regs {
		if rule.kind != same {
			r.regs = append(r.regs, regRule{uint8(i), rule})
		}
	}
	return r
}

// regOf maps the number of a register: those that are not followed are taken for
// the return address, which on x86_64 has a number of its own.
func regOf(n uint64) uint8 { return uint8(min(n, returnAddr)) }

// run runs instructions until they are for code behind addr, and returns false if
// they make no sense.
func (p *program) run(code []byte, addr uint64) bool {
	f := p.fde
	loc := f.start
	c := cursor{data: code}
	for c.left() > 0 && !c.bad {
		op := c.u8()
		low := uint64(op & 0x3f)
		switch op & 0xc0 {
		case cfaAdvance:
			loc += low * f.codeAlign
			if loc > addr {
				return true
			}
			continue
		case cfaOffset:
			p.set(low, rule{kind: offset, off: int64(c.uleb()) * f.dataAlign})
			if p.frames == 1 && loc == p.framed {
				p.saved++
			}
			continue
		case cfaRestore:
			p.restore(low)
			p.restores = true
			continue
		}
		var step uint64
		switch op {
		case cfaNop, cfaNegateRAState, cfaNegateRAStateWithPC:
		case cfaSetRAState:
			c.uleb()
			c.sleb()
		case cfaSetLoc:
			return false // only where code is not in one piece
		case cfaAdvance1:
			step = uint64(c.u8())
		case cfaAdvance2:
			step = uint64(c.u16())
		case cfaAdvance4:
			step = uint64(c.u32())
		case cfaRememberState:
			p.restores = true
			if len(p.kept) == maxKept {
				return false
			}
			p.kept = append(p.kept, p.now)
		case cfaRestoreState:
			if len(p.kept) == 0 {
				return false
			}
			p.now, p.kept = p.kept[len(p.kept)-1], p.kept[:len(p.kept)-1]
		case cfaArgsSize:
			c.uleb()
		default:
			before := p.now.cfa
			if !p.define(op, &c) {
				return false
			}
			if p.now.cfa.kind != before.kind || p.now.cfa.reg != before.reg || p.now.cfa.off != before.off {
				if p.frames++; p.frames == 1 {
					p.framed = loc
				}
			}
		}
		if step != 0 {
			if loc += step * f.codeAlign; loc > addr {
				return true
			}
		}
	}
	return !c.bad
}

// define runs an instruction that gives the CFA or a register its rule.
func (p *program) define(op byte, c *cursor) bool {
	align := p.fde.dataAlign
	cfa := &p.now.cfa
	switch op {
	case cfaDef:
		*cfa = rule{kind: register, reg: regOf(c.uleb()), off: int64(c.uleb())}
	case cfaDefSF:
		*cfa = rule{kind: register, reg: regOf(c.uleb()), off: c.sleb() * align}
	case cfaDefRegister:
		cfa.kind, cfa.reg = register, regOf(c.uleb())
	case cfaDefOffset:
		cfa.off = int64(c.uleb())
	case cfaDefOffsetSF:
		cfa.off = c.sleb() * align
	case cfaDefExpression:
		*cfa = rule{kind: valExpr, expr: c.block()}
	case cfaOffsetExtended:
		p.set(c.uleb(), rule{kind: offset, off: int64(c.uleb()) * align})
	case cfaOffsetSF:
		p.set(c.uleb(), rule{kind: offset, off: c.sleb() * align})
	case cfaNegativeOffset:
		p.set(c.uleb(), rule{kind: offset, off: -int64(c.uleb()) * align})
	case cfaValOffset:
		p.set(c.uleb(), rule{kind: valOffset, off: int64(c.uleb()) * align})
	case cfaValOffsetSF:
		p.set(c.uleb(), rule{kind: valOffset, off: c.sleb() * align})
	case cfaRegister:
		p.set(c.uleb(), rule{kind: register, reg: regOf(c.uleb())})
	case cfaExpression:
		p.set(c.uleb(), rule{kind: expr, expr: c.block()})
	case cfaValExpression:
		p.set(c.uleb(), rule{kind: valExpr, expr: c.block()})
	case cfaUndefined:
		p.set(c.uleb(), rule{kind: undefined})
	case cfaSameValue:
		p.set(c.uleb(), rule{})
	case cfaRestoreExtended:
		p.restore(c.uleb())
	default:
		return false
	}
	return true
}

func (p *program) set(reg uint64, r rule) {
	if reg < numRegs || reg == p.fde.ra {
		p.now.regs[regOf(reg)] = r
	}
}

func (p *program) restore(reg uint64) {
	if reg < numRegs || reg == p.fde.ra {
		p.now.regs[regOf(reg)] = p.initial.regs[regOf(reg)]
	}
}
