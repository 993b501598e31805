package expr

import (
	"math"

	"kprof/perfevent/datasrc"
	"kprof/perfevent/format"
	"kprof/perfevent/format/internal/operator"
)

// Sample is what an expression is evaluated on. It is only read.
type Sample struct {
	Comm     string // of the task; the event's own is the Program's
	PID, TID int32
	CPU      uint32
	Time     uint64 // ns
	Addr     uint64 // of data
	PhysAddr uint64 // of the same in memory, 0 for none
	Weight   uint64 // what the access cost, in a unit of the processor's
	// What of that was spent in the instruction's execution, and until it retired.
	InsLat, RetireLat          uint64
	DataPageSize, CodePageSize uint64         // bytes
	DataSrc                    datasrc.Source // where the data was found

	Raw     []byte // the payload, from the common fields on
	Without Own    // the values above that this sample does not have

	// UserRegs and IntrRegs are registers, as Optional names them: all, or none of a task without.
	UserRegs, IntrRegs []uint64
}

// Result is whether a sample matches.
type Result uint8

const (
	No Result = iota
	Yes
	Unknown // no value: a field that the sample lacks, a division by zero
)

// Match evaluates the expression as a condition.
func (p *Program) Match(s *Sample) Result {
	v, ok := p.root.eval(s)
	switch {
	case !ok:
		return Unknown
	case v != 0:
		return Yes
	}
	return No
}

// Value is a number of 64 bits.
type Value struct {
	Bits   uint64
	Signed bool // Bits is an int64
}

// Int64 is the number, at most the largest int64, and whether it was larger.
func (v Value) Int64() (n int64, saturated bool) {
	if !v.Signed && v.Bits > math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(v.Bits), false
}

// Value evaluates the expression as a number. It is false when the sample has none.
func (p *Program) Value(s *Sample) (Value, bool) {
	v, ok := p.root.eval(s)
	return Value{v, p.root.signed}, ok
}

// IsText reports whether the expression is text, which is Text and not Value.
func (p *Program) IsText() bool { return p.root.text }

// Text appends the text that the expression is to buf. It is false when the sample has none.
func (p *Program) Text(s *Sample, buf []byte) ([]byte, bool) {
	t, ok := p.root.textOf(s, buf)
	if t.b != nil && p.root.own == OwnDataSrc { // it is behind buf
		return t.b, ok
	}
	return append(append(buf, t.s...), t.b...), ok
}

// eval is the number that n is for a sample.
func (n *node) eval(s *Sample) (uint64, bool) {
	switch n.op {
	case opNumber:
		return n.num, true
	case opName:
		return n.load(s)
	case opIndex:
		return n.index(s)
	case operator.Eq, operator.NotEq, opIn, opGlob, opNotGlob:
		return n.compare(s)
	case operator.LAnd, operator.LOr:
		return n.logic(s)
	case operator.Cond:
		v, ok := n.kids[0].eval(s)
		switch {
		case !ok:
			return 0, false
		case v != 0:
			return n.kids[1].eval(s)
		}
		return n.kids[2].eval(s)
	case opString:
		return 0, false
	}
	x, ok := n.kids[0].eval(s)
	if !ok {
		return 0, false
	}
	switch n.op {
	case operator.Neg:
		return -x, true
	case operator.Not:
		return ^x, true
	case operator.LNot:
		return truth(x == 0), true
	}
	y, ok := n.kids[1].eval(s)
	if !ok {
		return 0, false
	}
	return n.arith(x, y)
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// load reads a name.
func (n *node) load(s *Sample) (uint64, bool) {
	if n.own == 0 {
		if n.field == nil {
			return 0, false
		}
		return n.field.Uint(s.Raw)
	}
	var v uint64
	switch n.own {
	case OwnPID:
		v = uint64(int64(s.PID))
	case OwnTID:
		v = uint64(int64(s.TID))
	case OwnCPU:
		v = uint64(s.CPU)
	case OwnTime:
		v = s.Time
	case OwnAddr:
		v = s.Addr
	case OwnPhysAddr:
		v = s.PhysAddr
	case OwnWeight:
		v = s.Weight
	case OwnInsLat:
		v = s.InsLat
	case OwnRetireLat:
		v = s.RetireLat
	case OwnDataPageSize:
		v = s.DataPageSize
	case OwnCodePageSize:
		v = s.CodePageSize
	case OwnDataSrc:
		v = uint64(s.DataSrc)
	case OwnUserReg:
		return register(s.UserRegs, n.part)
	case OwnIntrReg:
		return register(s.IntrRegs, n.part)
	}
	return v, s.Without&n.own == 0
}

func register(regs []uint64, at int) (uint64, bool) {
	if at >= len(regs) {
		return 0, false
	}
	return regs[at], true
}

func (n *node) index(s *Sample) (uint64, bool) {
	f := n.kids[0].field
	if f == nil {
		return 0, false
	}
	i, ok := n.kids[1].eval(s)
	if !ok || i > math.MaxInt32 {
		return 0, false
	}
	if f.Kind == format.Mask {
		b, ok := f.Bytes(s.Raw)
		return truth(f.Bit(s.Raw, int(i))), ok && int(i) < len(b)*8
	}
	return f.Index(s.Raw, int(i))
}

// logic has a value when one side decides, though the other has none.
func (n *node) logic(s *Sample) (uint64, bool) {
	decides := n.op == operator.LOr
	a, okA := n.kids[0].eval(s)
	if okA && (a != 0) == decides {
		return truth(decides), true
	}
	b, okB := n.kids[1].eval(s)
	if okB && (b != 0) == decides {
		return truth(decides), true
	}
	return truth(!decides), okA && okB
}

// less compares numbers of any sign.
func less(x uint64, xSigned bool, y uint64, ySigned bool) bool {
	xNeg, yNeg := xSigned && int64(x) < 0, ySigned && int64(y) < 0
	if xNeg != yNeg {
		return xNeg
	}
	return x < y // of two negative ones too
}

func equal(x uint64, xSigned bool, y uint64, ySigned bool) bool {
	return x == y && (xSigned == ySigned || int64(x) >= 0)
}

// arith computes an operator on two numbers.
func (n *node) arith(x, y uint64) (uint64, bool) {
	xs, ys := n.kids[0].signed, n.kids[1].signed
	if n.op.Compares() {
		xs, ys = signs(n.kids[0], n.kids[1])
	}
	switch n.op {
	case operator.Mul:
		return x * y, true
	case operator.Div, operator.Mod:
		return n.divide(x, y)
	case operator.Add:
		return x + y, true
	case operator.Sub:
		return x - y, true
	case operator.Shl, operator.Shr:
		switch {
		case ys && int64(y) < 0:
			return 0, false
		case n.op == operator.Shl:
			return x << y, true
		case xs:
			return uint64(int64(x) >> min(y, 63)), true
		}
		return x >> y, true
	case operator.Less:
		return truth(less(x, xs, y, ys)), true
	case operator.GreaterEq:
		return truth(!less(x, xs, y, ys)), true
	case operator.Greater:
		return truth(less(y, ys, x, xs)), true
	case operator.LessEq:
		return truth(!less(y, ys, x, xs)), true
	case operator.And:
		return x & y, true
	case operator.Xor:
		return x ^ y, true
	case operator.Or:
		return x | y, true
	}
	return 0, false
}

func (n *node) divide(x, y uint64) (uint64, bool) {
	switch {
	case y == 0:
		return 0, false
	case n.signed && n.op == operator.Div:
		return uint64(int64(x) / int64(y)), true
	case n.signed:
		return uint64(int64(x) % int64(y)), true
	case n.op == operator.Div:
		return x / y, true
	}
	return x % y, true
}

// text is one of the two forms that texts have; comparing them copies nothing.
type text struct {
	s string
	b []byte // instead of s when it is not nil
}

// textOf is the text that n is for a sample; what is made for it begins with buf.
func (n *node) textOf(s *Sample, buf []byte) (text, bool) {
	switch {
	case n.op == opString:
		return text{s: n.str}, true
	case n.own == OwnComm:
		return text{s: s.Comm}, s.Without&OwnComm == 0
	case n.own == OwnDataSrc && n.text:
		return text{b: s.DataSrc.AppendPart(buf, datasrc.Parts[n.part])}, s.Without&OwnDataSrc == 0
	case n.field == nil:
		return text{}, false
	}
	b, ok := n.field.String(s.Raw)
	return text{b: b}, ok
}

func (t text) equal(u text) bool {
	switch {
	case t.b != nil && u.b != nil:
		return string(t.b) == string(u.b)
	case t.b != nil:
		return string(t.b) == u.s
	case u.b != nil:
		return t.s == string(u.b)
	}
	return t.s == u.s
}

// compare is ==, !=, in, ~ and !~. Texts are compared when one kid is text.
func (n *node) compare(s *Sample) (uint64, bool) {
	first := n.kids[0]
	yes, known := false, true
	var buf [2][64]byte
	if n.op == opGlob || n.op == opNotGlob {
		t, ok := first.textOf(s, buf[0][:0])
		if t.b != nil {
			yes = glob(t.b, n.kids[1].str)
		} else {
			yes = glob(t.s, n.kids[1].str)
		}
		return truth(yes == (n.op == opGlob)), ok
	}
	if first.text || n.kids[1].text {
		a, ok := first.textOf(s, buf[0][:0])
		for _, k := range n.kids[1:] {
			b, ok2 := k.textOf(s, buf[1][:0])
			known = known && ok2
			if ok && ok2 && a.equal(b) {
				yes = true
				break
			}
		}
		known = ok && (known || yes)
	} else {
		x, ok := first.eval(s)
		if !ok {
			return 0, false
		}
		for _, k := range n.kids[1:] {
			y, ok := k.eval(s)
			known = known && ok
			xs, ys := signs(first, k)
			if ok && equal(x, xs, y, ys) {
				yes = true
				break
			}
		}
		known = known || yes
	}
	return truth(yes != (n.op == operator.NotEq)), known
}
