package unwind

// Registers that point to frames, by their numbers in DWARF.
var framePointer = map[Machine]uint8{X86_64: 6, I386: 5, ARM64: 29}

const (
	maxProbed = 512 // functions that are looked at
	minProbed = 32  // bytes of one: shorter ones are stubs, or need no frame
)

// FramePointers counts functions of m's code that keep a frame pointer in the middle of
// them, and those that do not, of some hundred that are spread over the file. On x86 a
// frame pointer is what the call frame information finds the caller's frame by; on arm64
// it has the register saved, which compilers do there in any function with a frame. No
// function is counted where nothing is known.
func (t *Table) FramePointers(m Machine) (with, without int) {
	fp, ok := framePointer[m]
	if !ok {
		return 0, 0
	}
	for _, frames := range t.frames {
		n := frames.len()
		step := max(1, n/maxProbed)
		for i := 0; i < n; i += step {
			off, ok := frames.at(i)
			if !ok {
				continue
			}
			f, ok := frames.fde(off)
			if !ok || f.size < minProbed || f.signal {
				continue
			}
			r := f.row(f.start + f.size/2)
			if r == nil || r.cfa.kind != register { // as of a table of jumps
				continue
			}
			switch keeps, outermost := r.keeps(fp, m); {
			case outermost:
			case keeps:
				with++
			default:
				without++
			}
		}
	}
	return with, without
}

// keeps reports whether the frame pointer leads to the row's frame; outermost that there is
// no caller.
func (r *row) keeps(fp uint8, m Machine) (keeps, outermost bool) {
	keeps = m != ARM64 && r.cfa.reg == fp
	for _, reg := range r.regs {
		keeps = keeps || m == ARM64 && reg.reg == fp && reg.kind == offset
		outermost = outermost || reg.reg == r.ra && reg.kind == undefined
	}
	return keeps, outermost
}

// len is how many FDEs are known by their place.
func (t *frames) len() int {
	if t.search != nil {
		return len(t.search) / 8
	}
	return len(t.index)
}

// at returns the offset of one of them.
func (t *frames) at(i int) (off uint64, ok bool) {
	if t.search == nil {
		return t.index[i].off, true
	}
	off = t.address(t.hdr.Addr+uint64(int64(int32(le.Uint32(t.search[8*i+4:]))))) - t.Addr
	return off, off < uint64(len(t.Data))
}
