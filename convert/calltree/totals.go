package calltree

// Totals is what the samples come to that each name is in.
type Totals struct {
	Names []string // distinct, sorted by byte
	// Sums are by name: those of the Set and of the base.
	Sums [][2]int64
	// Scale is what the base's are to be multiplied with to be compared; 0 without a
	// base.
	Scale float64
}

// Totals sums up the samples that each name is in, those of a recursion once, of all
// that Tree takes with the same options.
func (s Source) Totals(o Options) (*Totals, error) {
	b := s.builder(o)
	if err := b.begin(); err != nil {
		return nil, err
	}
	return &Totals{Names: b.tree.Names, Sums: b.totals(), Scale: b.tree.Scale}, nil
}

// totals sums up the samples that each name is in, those of a recursion once, for
// both sides.
func (b *treeBuilder) totals() [][2]int64 {
	sums := make([][2]int64, len(b.tree.Names))
	seen := make([]int, len(b.tree.Names)) // the last entry that a name was counted for, plus 1
	for i, e := range b.entries[0] {
		for name := b.step(&e); name != none; name = b.step(&e) {
			if seen[name] != i+1 {
				seen[name] = i + 1
				sums[name][e.side] += e.value
			}
		}
	}
	return sums
}
