package abi

// userStackOffset returns where in a sample's payload the copy of the user's stack
// begins, with its size, or -1 where there is none.
func (l *Layout) userStackOffset(payload []byte) int {
	if l.SampleType&SampleStackUser == 0 {
		return -1
	}
	c := l.afterRegs(payload)
	if c.short || len(c.b) < 8 {
		return -1
	}
	return len(payload) - len(c.b)
}

// afterRegs passes over all of a sample up to the registers of user code.
func (l *Layout) afterRegs(payload []byte) cursor {
	if len(payload) < l.fixed {
		return cursor{short: true}
	}
	c := cursor{b: payload[l.fixed:], o: l.Order}
	t := l.SampleType
	if t&SampleRead != 0 {
		l.skipReads(&c)
	}
	if t&SampleCallchain != 0 {
		c.skipWords(c.uint64())
	}
	if t&SampleRaw != 0 {
		c.bytes(uint64(c.uint32()))
	}
	if t&SampleBranchStack != 0 {
		l.skipBranches(&c)
	}
	if t&SampleRegsUser != 0 {
		c.skipRegs(l.userRegs)
	}
	return c
}

// skipReads passes over struct read_format.
func (l *Layout) skipReads(c *cursor) {
	value, times := uint64(1), uint64(0)
	for _, bit := range []ReadFormat{ReadID, ReadLost} {
		if l.ReadFormat&bit != 0 {
			value++
		}
	}
	for _, bit := range []ReadFormat{ReadTotalTimeEnabled, ReadTotalTimeRunning} {
		if l.ReadFormat&bit != 0 {
			times++
		}
	}
	if l.ReadFormat&ReadGroup == 0 {
		c.skipWords(value + times)
		return
	}
	n := c.uint64()
	c.skipWords(times)
	if n > uint64(len(c.b)) {
		c.b, c.short = nil, true
		return
	}
	c.skipWords(n * value)
}

// skipBranches passes over a stack of branches.
func (l *Layout) skipBranches(c *cursor) {
	n, words := c.uint64(), uint64(3)
	if l.Branch&BranchHWIndex != 0 {
		c.uint64()
	}
	if l.Branch&BranchCounters != 0 {
		words++
	}
	if n > uint64(len(c.b)) {
		c.b, c.short = nil, true
		return
	}
	c.skipWords(n * words)
}

// DropUserStack takes the copy of the user's stack out of a sample's payload, which is
// then as that of a task without one, and returns what is left of it. A payload without
// a copy, or too short for what it says, stays as it is.
func (l *Layout) DropUserStack(payload []byte) []byte {
	off := l.userStackOffset(payload)
	if off < 0 {
		return payload
	}
	size, rest := l.Order.Uint64(payload[off:]), payload[off+8:]
	const filled = 8 // behind the copy: how much of it the kernel filled
	if size == 0 || uint64(len(rest)) < filled || size > uint64(len(rest))-filled {
		return payload
	}
	clear(payload[off : off+8])
	return payload[:off+8+copy(rest, rest[size+filled:])]
}
