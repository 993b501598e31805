package perfdata

import (
	"kprof/perfevent/abi"
)

// The bodies that are more than a few fields, decoder above encoder. Formats:
// tools/perf/Documentation/perf.data-file-format.txt.

func (c *cursor) eventDesc() []abi.Event {
	n := c.u32()
	size := int(c.u32())
	if c.err == nil && size < abi.AttrSizeVer0 {
		c.fail("attributes of %d bytes", size)
		return nil
	}
	return list(c, uint64(n), size+8, func() (ev abi.Event) {
		b := c.take(size)
		if b == nil {
			return ev
		}
		attr, _, err := abi.DecodeAttr(b, c.o)
		if err != nil {
			c.fail("%w", err)
			return ev
		}
		ids := c.u32()
		ev.Attr = attr
		ev.Name = c.string()
		ev.IDs = list(c, uint64(ids), 8, c.u64)
		return ev
	})
}

func (e *encoder) eventDesc(events []abi.Event) {
	size := attrSize(events, abi.AttrSizeVer7) // perf takes any here
	e.u32(uint32(len(events)))
	e.u32(uint32(size))
	for i := range events {
		ev := &events[i]
		e.b = appendAttr(e.b, &ev.Attr, size, e.o)
		e.u32(uint32(len(ev.IDs)))
		e.string(ev.Name)
		for _, id := range ev.IDs {
			e.u64(id)
		}
	}
}

// attrSize is the smallest size of struct perf_event_attr, from least on, that holds all of events.
func attrSize(events []abi.Event, least int) int {
	size := least
	for i := range events {
		switch a := &events[i].Attr; {
		case a.Config4 != 0:
			size = max(size, abi.AttrSizeVer9)
		case a.Config3 != 0:
			size = max(size, abi.AttrSizeVer8)
		case a.SigData != 0:
			size = max(size, abi.AttrSizeVer7)
		case a.AuxSampleSize != 0 || a.AuxAction != 0:
			size = max(size, abi.AttrSizeVer6)
		}
	}
	return size
}

// appendAttr appends a in exactly size bytes.
func appendAttr(b []byte, a *abi.Attr, size int, o abi.Order) []byte {
	start := len(b)
	b = a.AppendTo(b, o)
	for len(b)-start < size {
		b = append(b, 0)
	}
	b = b[:start+size]
	o.AppendUint32(b[:start+4], uint32(size)) // in place: the attribute's own size
	return b
}

func (c *cursor) cpuTopology(cpus uint32) (t CPUTopology) {
	t.Sockets = c.strings()
	t.Threads = c.strings()
	if c.err != nil || c.left() == 0 {
		return t // before perf 3.13
	}
	t.CPUs = list(c, uint64(cpus), 8, func() CPUPlace {
		return CPUPlace{Core: int32(c.u32()), Socket: int32(c.u32())}
	})
	if c.err != nil || c.left() == 0 {
		return t // before perf 5.3
	}
	t.Dies = c.strings()
	for i := range t.CPUs {
		t.CPUs[i].Die = int32(c.u32())
	}
	return t
}

func (e *encoder) cpuTopology(t *CPUTopology) {
	e.strings(t.Sockets)
	e.strings(t.Threads)
	for _, p := range t.CPUs {
		e.u32(uint32(p.Core))
		e.u32(uint32(p.Socket))
	}
	if len(t.CPUs) == 0 && len(t.Dies) == 0 {
		return
	}
	e.strings(t.Dies)
	for _, p := range t.CPUs {
		e.u32(uint32(p.Die))
	}
}

func (c *cursor) numa() []NUMANode {
	return list(c, uint64(c.u32()), 24, func() NUMANode {
		return NUMANode{Node: c.u32(), MemTotal: c.u64(), MemFree: c.u64(), CPUs: c.string()}
	})
}

func (e *encoder) numa(nodes []NUMANode) {
	e.u32(uint32(len(nodes)))
	for _, n := range nodes {
		e.u32(n.Node)
		e.u64(n.MemTotal)
		e.u64(n.MemFree)
		e.string(n.CPUs)
	}
}

func (c *cursor) pmus() []PMU {
	return list(c, uint64(c.u32()), 8, func() PMU {
		return PMU{Type: abi.Type(c.u32()), Name: c.string()}
	})
}

func (e *encoder) pmus(pmus []PMU) {
	e.u32(uint32(len(pmus)))
	for _, p := range pmus {
		e.u32(uint32(p.Type))
		e.string(p.Name)
	}
}

func (c *cursor) groups() []Group {
	return list(c, uint64(c.u32()), 12, func() Group {
		return Group{Name: c.string(), Leader: c.u32(), Members: c.u32()}
	})
}

func (e *encoder) groups(groups []Group) {
	e.u32(uint32(len(groups)))
	for _, g := range groups {
		e.string(g.Name)
		e.u32(g.Leader)
		e.u32(g.Members)
	}
}

// auxtrace reads the entries behind their number. simpleperf leaves the number out, so that what
// stands there is an offset, and larger (record_file_writer.cpp, WriteAuxTraceFeature).
func (c *cursor) auxtrace() []AuxtraceEntry {
	const size = 16
	begin, body := c.off, c.left()
	n := c.u64()
	if without := uint64(body / size); body%size == 0 && n > without {
		c.off, n = begin, without
	}
	return list(c, n, size, func() AuxtraceEntry {
		return AuxtraceEntry{Off: c.u64(), Size: c.u64()}
	})
}

func (e *encoder) auxtrace(entries []AuxtraceEntry) {
	e.u64(uint64(len(entries)))
	for _, x := range entries {
		e.u64(x.Off)
		e.u64(x.Size)
	}
}

func (c *cursor) caches() []Cache {
	c.version(uint64(c.u32()), 1)
	caches := list(c, uint64(c.u32()), 28, func() Cache {
		return Cache{
			Level: c.u32(), LineSize: c.u32(), Sets: c.u32(), Ways: c.u32(),
			Type: c.string(), Size: c.string(), CPUs: c.string(),
		}
	})
	if caches == nil && c.err == nil {
		caches = []Cache{} // see cacheFeature
	}
	return caches
}

func (e *encoder) caches(caches []Cache) {
	e.u32(1)
	e.u32(uint32(len(caches)))
	for _, x := range caches {
		e.u32(x.Level)
		e.u32(x.LineSize)
		e.u32(x.Sets)
		e.u32(x.Ways)
		e.string(x.Type)
		e.string(x.Size)
		e.string(x.CPUs)
	}
}

func (c *cursor) memory() (m MemoryMap) {
	c.version(c.u64(), 1)
	m.BlockSize = c.u64()
	m.Nodes = list(c, c.u64(), 24, func() MemoryNode {
		n := MemoryNode{Node: c.u64(), Bits: c.u64()}
		bits := c.u64() // the size of the bitmap, again
		words := bits / 64
		if bits%64 != 0 {
			words++
		}
		if n.Bits != bits {
			c.fail("bitmap of %d bits for a node of %d", bits, n.Bits)
		}
		n.Blocks = list(c, words, 8, c.u64)
		return n
	})
	return m
}

func (e *encoder) memory(m *MemoryMap) {
	e.u64(1)
	e.u64(m.BlockSize)
	e.u64(uint64(len(m.Nodes)))
	for _, n := range m.Nodes {
		e.u64(n.Node)
		e.u64(n.Bits)
		e.u64(n.Bits)
		for _, w := range n.Blocks {
			e.u64(w)
		}
	}
}

func (c *cursor) caps() []PMUCap {
	return list(c, uint64(c.u32()), 8, func() PMUCap {
		return PMUCap{Name: c.string(), Value: c.string()}
	})
}

func (e *encoder) caps(caps []PMUCap) {
	e.u32(uint32(len(caps)))
	for _, x := range caps {
		e.string(x.Name)
		e.string(x.Value)
	}
}

func (c *cursor) pmuCaps() []PMUCaps {
	return list(c, uint64(c.u32()), 8, func() PMUCaps {
		return PMUCaps{Caps: c.caps(), PMU: c.string()}
	})
}

func (e *encoder) pmuCaps(pmus []PMUCaps) {
	e.u32(uint32(len(pmus)))
	for _, p := range pmus {
		e.caps(p.Caps)
		e.string(p.PMU)
	}
}

func (c *cursor) hybrid() []HybridPMU {
	return list(c, uint64(c.u32()), 8, func() HybridPMU {
		return HybridPMU{PMU: c.string(), CPUs: c.string()}
	})
}

func (e *encoder) hybrid(pmus []HybridPMU) {
	e.u32(uint32(len(pmus)))
	for _, p := range pmus {
		e.string(p.PMU)
		e.string(p.CPUs)
	}
}

func (c *cursor) cpuCount() CPUCount { return CPUCount{Available: c.u32(), Online: c.u32()} }

func (e *encoder) cpuCount(n CPUCount) {
	e.u32(n.Available)
	e.u32(n.Online)
}

func (c *cursor) sampleTime() SampleTime { return SampleTime{First: c.u64(), Last: c.u64()} }

func (e *encoder) sampleTime(t SampleTime) {
	e.u64(t.First)
	e.u64(t.Last)
}

func (c *cursor) compression() Compression {
	return Compression{Version: c.u32(), Type: c.u32(), Level: c.u32(), Ratio: c.u32(), MmapLen: c.u32()}
}

func (e *encoder) compression(c Compression) {
	for _, v := range []uint32{c.Version, c.Type, c.Level, c.Ratio, c.MmapLen} {
		e.u32(v)
	}
}

func (c *cursor) clock() Clock {
	c.version(uint64(c.u32()), 1)
	return Clock{ID: c.u32(), Wall: c.u64(), Time: c.u64()}
}

func (e *encoder) clock(k Clock) {
	e.u32(1)
	e.u32(k.ID)
	e.u64(k.Wall)
	e.u64(k.Time)
}

func (c *cursor) elfMachine() ELFMachine { return ELFMachine{Machine: c.u32(), Flags: c.u32()} }

func (e *encoder) elfMachine(m ELFMachine) {
	e.u32(m.Machine)
	e.u32(m.Flags)
}
