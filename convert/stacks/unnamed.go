package stacks

// UnnamedShares returns for each mapping the share of samples, 0 to 1, that have
// a frame in it whose function is not known. A sample is counted for each
// mapping once.
func (s *Set) UnnamedShares() []float64 {
	return s.shares(func(l *Location) bool { return l.lines == 0 })
}

// LinelessShares is UnnamedShares for frames whose function is known, and not its
// source file.
func (s *Set) LinelessShares() []float64 {
	return s.shares(func(l *Location) bool {
		return l.lines != 0 && s.Functions[s.lines[l.line].Function].File == ""
	})
}

// LinedShares is UnnamedShares for frames whose source file is known.
func (s *Set) LinedShares() []float64 {
	return s.shares(func(l *Location) bool {
		return l.lines != 0 && s.Functions[s.lines[l.line].Function].File != ""
	})
}

// shares returns for each mapping the share of samples that have a frame in it for
// which is holds.
func (s *Set) shares(is func(*Location) bool) []float64 {
	shares := make([]float64, len(s.Mappings))
	samples := make([]float64, s.NumStacks())
	var total float64
	for i := range s.NumSamples() {
		if row := s.Sample(i); len(row.Values) > 0 {
			samples[row.Stack] += float64(row.Values[0])
			total += float64(row.Values[0])
		}
	}
	in, any := s.mappingsOf(is)
	if total == 0 || !any {
		return shares
	}
	last := make([]int, len(s.Mappings)) // stack that the mapping was last counted for, plus 1
	for id, n := range samples {
		for _, loc := range s.Stack(StackID(id)) {
			if m := in[loc]; m != NoMapping && last[m] != id+1 {
				last[m] = id + 1
				shares[m] += n
			}
		}
	}
	for i := range shares {
		shares[i] /= total
	}
	return shares
}

// mappingsOf returns for each location its mapping if it lies in one and is holds,
// else NoMapping, and whether there is any: a table small enough to stay in a CPU's
// cache while all stacks pass by.
func (s *Set) mappingsOf(is func(*Location) bool) (in []int32, any bool) {
	in = make([]int32, len(s.Locations))
	for i := range s.Locations {
		in[i] = NoMapping
		if l := &s.Locations[i]; l.Mapping >= 0 && is(l) {
			in[i], any = l.Mapping, true
		}
	}
	return in, any
}
