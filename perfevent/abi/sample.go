package abi

import "fmt"

// Sample is a decoded PERF_RECORD_SAMPLE. Its owner reuses it from record to
// record: the slices of values are overwritten, and those of bytes point into
// the record. Fields that the recording lacks are zero, but CPU, PID and TID,
// which are -1.
type Sample struct {
	SampleIDFields
	Misc   Misc
	IP     uint64
	Addr   uint64
	Period uint64 // 0 if not recorded

	Callchain []uint64 // as recorded, leaf first, context markers included
	HasChain  bool     // the recording has callchains, though this one may be empty

	Raw       []byte // tracepoint fields or PMU data, padding included
	Branches  []Branch
	UserABI   uint64   // 0: no user registers
	UserRegs  []uint64 // in order of the bits of Attr.SampleRegsUser
	UserStack []byte   // the part of the dump that the kernel filled
	IntrABI   uint64
	IntrRegs  []uint64
	Aux       []byte

	Reads                    []ReadValue
	TimeEnabled, TimeRunning uint64 // ns, of Reads

	Weight       uint64 // all of the union: see SampleWeightStruct
	DataSrc      uint64
	Transaction  uint64
	PhysAddr     uint64
	Cgroup       uint64
	DataPageSize uint64
	CodePageSize uint64
}

// Branch is struct perf_branch_entry.
type Branch struct{ From, To, Flags uint64 }

// ReadValue is one counter of a read_format.
type ReadValue struct{ Value, ID, Lost uint64 }

// DecodeSample decodes the payload of a sample into s. It allocates only to make
// the slices of s larger. On an error the fields before the fault are set.
func (l *Layout) DecodeSample(s *Sample, misc Misc, payload []byte) error {
	if len(payload) < l.fixed {
		return fmt.Errorf("sample of %d bytes: %w", len(payload), ErrShort)
	}
	l.decodeFixed(s, misc, payload)
	const variable = SampleRead | SampleCallchain | SampleRaw | SampleBranchStack |
		SampleRegsUser | SampleStackUser | SampleWeight | SampleWeightStruct | SampleDataSrc |
		SampleTransaction | SampleRegsIntr | SamplePhysAddr | SampleAux | SampleCgroup |
		SampleDataPageSize | SampleCodePageSize
	s.HasChain = l.SampleType&SampleCallchain != 0
	if l.SampleType&variable == 0 {
		return nil
	}
	c := cursor{b: payload[l.fixed:], o: l.Order}
	if l.SampleType&SampleRead != 0 {
		l.decodeReads(&c, s)
	}
	if s.HasChain {
		s.Callchain = c.uint64s(s.Callchain, c.uint64())
	}
	if l.SampleType&^(SampleRead|SampleCallchain)&variable != 0 {
		l.decodeRest(&c, s)
	}
	if c.short {
		return fmt.Errorf("sample of %d bytes: %w", len(payload), ErrShort)
	}
	return nil
}

func (l *Layout) decodeFixed(s *Sample, misc Misc, p []byte) {
	o := l.Order
	s.Misc = misc
	s.SampleIDFields = SampleIDFields{PID: -1, TID: -1, CPU: -1}
	s.IP, s.Addr, s.Period = 0, 0, 0
	s.Raw, s.UserStack, s.Aux, s.Weight, s.DataSrc, s.Transaction = nil, nil, nil, 0, 0, 0
	s.PhysAddr, s.Cgroup, s.DataPageSize, s.CodePageSize = 0, 0, 0, 0
	s.Callchain, s.Branches, s.UserRegs, s.IntrRegs, s.Reads = s.Callchain[:0], s.Branches[:0], s.UserRegs[:0], s.IntrRegs[:0], s.Reads[:0]
	s.UserABI, s.IntrABI, s.TimeEnabled, s.TimeRunning = 0, 0, 0, 0
	if l.id >= 0 {
		s.ID = o.Uint64(p[l.id:])
	}
	if l.identifier >= 0 {
		s.ID = o.Uint64(p[l.identifier:])
	}
	if l.ip >= 0 {
		s.IP = o.Uint64(p[l.ip:])
	}
	if l.tid >= 0 {
		s.PID, s.TID = int32(o.Uint32(p[l.tid:])), int32(o.Uint32(p[l.tid+4:]))
	}
	if l.time >= 0 {
		s.Time = o.Uint64(p[l.time:])
	}
	if l.addr >= 0 {
		s.Addr = o.Uint64(p[l.addr:])
	}
	if l.stream >= 0 {
		s.StreamID = o.Uint64(p[l.stream:])
	}
	if l.cpu >= 0 {
		s.CPU = int32(o.Uint32(p[l.cpu:]))
	}
	if l.period >= 0 {
		s.Period = o.Uint64(p[l.period:])
	}
}

// decodeReads reads struct read_format, in its single or its group form.
func (l *Layout) decodeReads(c *cursor, s *Sample) {
	f := l.ReadFormat
	times := func() {
		if f&ReadTotalTimeEnabled != 0 {
			s.TimeEnabled = c.uint64()
		}
		if f&ReadTotalTimeRunning != 0 {
			s.TimeRunning = c.uint64()
		}
	}
	one := func() {
		var v ReadValue
		v.Value = c.uint64()
		if f&ReadGroup == 0 {
			times()
		}
		if f&ReadID != 0 {
			v.ID = c.uint64()
		}
		if f&ReadLost != 0 {
			v.Lost = c.uint64()
		}
		s.Reads = append(s.Reads, v)
	}
	if f&ReadGroup == 0 {
		one()
		return
	}
	n := c.uint64()
	times()
	for ; n > 0 && !c.short; n-- {
		one()
	}
}

// decodeRest reads what follows the callchain.
func (l *Layout) decodeRest(c *cursor, s *Sample) {
	t := l.SampleType
	if t&SampleRaw != 0 {
		s.Raw = c.bytes(uint64(c.uint32()))
	}
	if t&SampleBranchStack != 0 {
		n := c.uint64()
		if l.Branch&BranchHWIndex != 0 {
			c.uint64()
		}
		m := n
		for ; n > 0 && !c.short; n-- {
			s.Branches = append(s.Branches, Branch{c.uint64(), c.uint64(), c.uint64()})
		}
		if l.Branch&BranchCounters != 0 {
			c.skipWords(m)
		}
	}
	if t&SampleRegsUser != 0 {
		s.UserABI, s.UserRegs = c.regs(s.UserRegs, l.userRegs)
	}
	if t&SampleStackUser != 0 {
		if n := c.uint64(); n != 0 {
			dump := c.bytes(n)
			s.UserStack = dump[:min(c.uint64(), uint64(len(dump)))]
		}
	}
	if t&(SampleWeight|SampleWeightStruct) != 0 {
		s.Weight = c.uint64()
	}
	if t&SampleDataSrc != 0 {
		s.DataSrc = c.uint64()
	}
	if t&SampleTransaction != 0 {
		s.Transaction = c.uint64()
	}
	if t&SampleRegsIntr != 0 {
		s.IntrABI, s.IntrRegs = c.regs(s.IntrRegs, l.intrRegs)
	}
	if t&SamplePhysAddr != 0 {
		s.PhysAddr = c.uint64()
	}
	if t&SampleCgroup != 0 {
		s.Cgroup = c.uint64()
	}
	if t&SampleDataPageSize != 0 {
		s.DataPageSize = c.uint64()
	}
	if t&SampleCodePageSize != 0 {
		s.CodePageSize = c.uint64()
	}
	if t&SampleAux != 0 {
		s.Aux = c.bytes(c.uint64())
	}
}

// What Sample.UserABI and IntrABI say of a dump of registers (PERF_SAMPLE_REGS_ABI_*): how wide the
// task's are, and that vector and predicate registers follow them, as proposed for Linux after 7.0.
const (
	RegsABI32   = 1
	RegsABI64   = 2
	RegsABISIMD = 1 << 2
)

// regs reads a dump of n registers, appends them to dst and passes over the vectors
// behind them: u16 number of vectors, u16 words in each, the same of predicates, and
// the words.
func (c *cursor) regs(dst []uint64, n int) (abi uint64, regs []uint64) {
	if abi = c.uint64(); abi == 0 {
		return 0, dst
	}
	regs = c.uint64s(dst, uint64(n))
	c.skipVectors(abi)
	return abi, regs
}

// skipRegs passes over a dump of n registers.
func (c *cursor) skipRegs(n int) {
	if abi := c.uint64(); abi != 0 {
		c.skipWords(uint64(n))
		c.skipVectors(abi)
	}
}

func (c *cursor) skipVectors(abi uint64) {
	if abi&RegsABISIMD != 0 {
		vectors, words := uint64(c.uint16()), uint64(c.uint16())
		predicates, more := uint64(c.uint16()), uint64(c.uint16())
		c.skipWords(vectors*words + predicates*more)
	}
}

// cursor reads fields one after the other. Past the end it reads zeros and
// remembers that it did.
type cursor struct {
	b     []byte
	o     Order
	short bool
}

func (c *cursor) uint64() uint64 {
	if b := c.bytes(8); b != nil {
		return c.o.Uint64(b)
	}
	return 0
}

func (c *cursor) uint32() uint32 {
	if b := c.bytes(4); b != nil {
		return c.o.Uint32(b)
	}
	return 0
}

func (c *cursor) uint16() uint16 {
	if b := c.bytes(2); b != nil {
		return c.o.Uint16(b)
	}
	return 0
}

// bytes returns the next n bytes.
func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.b, c.short = nil, true
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

// uint64s appends the next n words to dst.
func (c *cursor) uint64s(dst []uint64, n uint64) []uint64 {
	if n > uint64(len(c.b)/8) {
		c.b, c.short = nil, true
		return dst
	}
	b := c.b[:8*n]
	c.b = c.b[8*n:]
	for len(b) >= 8 {
		dst = append(dst, c.o.Uint64(b))
		b = b[8:]
	}
	return dst
}

func (c *cursor) skipWords(n uint64) {
	if n > uint64(len(c.b)/8) {
		c.b, c.short = nil, true
		return
	}
	c.b = c.b[8*n:]
}

// str returns the bytes up to the first NUL, or all that is left.
func (c *cursor) str() string {
	for i, x := range c.b {
		if x == 0 {
			s := string(c.b[:i])
			c.b = c.b[i+1:]
			return s
		}
	}
	s := string(c.b)
	c.b = nil
	return s
}
