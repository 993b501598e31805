package stacks

// UnnamedShares returns for each mapping the share of samples, 0 to 1, that have
// a frame in it whose function is not known. A sample is counted for each
// mapping once.
func (s *Set) UnnamedShares() []float64 {
	shares := make([]float64, len(s.Mappings))
	last := make([]int, len(s.Mappings)) // row that the mapping was last counted for, plus 1
	var total float64
	for i := range s.NumSamples() {
		row := s.Sample(i)
		if len(row.Values) == 0 {
			continue
		}
		n := float64(row.Values[0])
		total += n
		for _, loc := range s.Stack(row.Stack) {
			l := &s.Locations[loc]
			if l.lines == 0 && l.Mapping >= 0 && last[l.Mapping] != i+1 {
				last[l.Mapping] = i + 1
				shares[l.Mapping] += n
			}
		}
	}
	for i := range shares {
		if total > 0 {
			shares[i] /= total
		}
	}
	return shares
}
