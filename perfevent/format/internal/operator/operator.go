// Package operator lists C's operators, for the languages that have them.
package operator

// Op is an operator; 0 is none. Languages number what else they have from Own on.
type Op uint8

const (
	Neg  Op = 1 + iota // -x
	Not                // ~x
	LNot               // !x

	// Binary ones: arithmetic, comparisons, bits, logic.
	Mul
	Div
	Mod
	Add
	Sub
	Shl
	Shr
	Less
	LessEq
	Greater
	GreaterEq
	Eq
	NotEq
	And
	Xor
	Or
	LAnd
	LOr

	Cond // x ? y : z
	Own
)

// Compares reports whether o is a comparison of two numbers.
func (o Op) Compares() bool { return o >= Less && o <= NotEq }

// Bitwise reports whether o is & | or ^.
func (o Op) Bitwise() bool { return o >= And && o <= Or }

// Shifts reports whether o shifts bits.
func (o Op) Shifts() bool { return o == Shl || o == Shr }

// Binary is an operator with two sides, and how strongly it binds: the more, the higher.
type Binary struct {
	Op   Op
	Prec int
}

// Binaries are C's, as they are written.
func Binaries() map[string]Binary {
	return map[string]Binary{
		"||": {LOr, 1}, "&&": {LAnd, 2}, "|": {Or, 3}, "^": {Xor, 4}, "&": {And, 5},
		"==": {Eq, EqPrec}, "!=": {NotEq, EqPrec},
		"<": {Less, 7}, "<=": {LessEq, 7}, ">": {Greater, 7}, ">=": {GreaterEq, 7},
		"<<": {Shl, 8}, ">>": {Shr, 8}, "+": {Add, 9}, "-": {Sub, 9},
		"*": {Mul, 10}, "/": {Div, 10}, "%": {Mod, 10},
	}
}

// EqPrec is how strongly comparisons for equality bind.
const EqPrec = 6
