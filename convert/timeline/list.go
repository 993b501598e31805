package timeline

// list is a slice in pieces: growing never copies what is there, and the front of
// it can be let go.
type list[T any] struct {
	pieces [][]T
	n      int
}

const listPiece = 1 << 10

func (l *list[T]) add(x T) {
	if l.n%listPiece == 0 && l.n/listPiece == len(l.pieces) {
		l.pieces = append(l.pieces, make([]T, 0, listPiece))
	}
	p := &l.pieces[l.n/listPiece]
	*p = append(*p, x)
	l.n++
}

func (l *list[T]) at(i int) *T { return &l.pieces[i/listPiece][i%listPiece] }

// letGo says that element i was the last to be asked for of those up to it.
func (l *list[T]) letGo(i int) {
	if i%listPiece == listPiece-1 {
		l.pieces[i/listPiece] = nil
	}
}
