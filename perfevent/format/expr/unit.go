package expr

import (
	"kprof/perfevent/format"
	"kprof/perfevent/format/internal/operator"
)

// Unit is the unit of the expression's value, by those of the fields in it, "" where
// that is not known. It is kept by sums, differences and choices of values of one unit
// and of numbers, and found where a factor makes another of it:
//
//	nr_sector * 512    bytes
//	bytes_alloc - bytes_req
//	ret > 0 ? ret : 0
func (p *Program) Unit(of func(*format.Field) string) string { return p.root.unit(of) }

// factors make of a unit another.
var factors = []struct {
	unit   string
	factor uint64
	gives  string
}{
	{format.Sectors, 512, format.Bytes},
	{format.Kilobytes, 1024, format.Bytes},
	{format.Pages, 4096, format.Bytes},
	{format.Pages, 16384, format.Bytes},
	{format.Pages, 65536, format.Bytes},
	{format.Microseconds, 1000, format.Nanoseconds},
}

func (n *node) unit(of func(*format.Field) string) string {
	switch n.op {
	case opName:
		switch {
		case n.field != nil:
			return of(n.field)
		case n.own == OwnTime:
			return format.Nanoseconds
		case n.own == OwnDataPageSize || n.own == OwnCodePageSize:
			return format.Bytes
		}
	case opIndex:
		if f := n.kids[0].field; f != nil {
			return of(f)
		}
	case operator.Neg:
		return n.kids[0].unit(of)
	case operator.Add, operator.Sub:
		return sameUnit(n.kids[0], n.kids[1], of)
	case operator.Cond:
		return sameUnit(n.kids[1], n.kids[2], of)
	case operator.Mul:
		a, b := n.kids[0], n.kids[1]
		if a.op == opNumber {
			a, b = b, a
		}
		for _, f := range factors {
			if b.op == opNumber && b.num == f.factor && a.unit(of) == f.unit {
				return f.gives
			}
		}
	}
	return ""
}

// sameUnit is the unit that two values have, or the one where the other is a number.
func sameUnit(a, b *node, of func(*format.Field) string) string {
	switch u, v := a.unit(of), b.unit(of); {
	case u == v, b.op == opNumber:
		return u
	case a.op == opNumber:
		return v
	}
	return ""
}
