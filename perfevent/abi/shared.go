package abi

import "math/bits"

// SharesSamples reports whether samples of the event may carry the id of another one that
// samples the same, this recorder's or somebody else's: page faults, context switches and what
// else Linux counts itself, but for the clocks. Layout.Ends then tells whose they are.
//
// Since 6.3 (6.18 still) the kernel fills in one struct perf_sample_data for all of them, one
// after the other, and no field that it has filled in already: so of all but the first the
// thread, time, id and CPU are the first one's (kernel/events/core.c, do_perf_sw_event and
// __perf_event_header__init_id; perf_tp_event, for tracepoints, begins anew for each).
func (a *Attr) SharesSamples() bool {
	if a.Type != TypeSoftware {
		return false
	}
	switch a.Config {
	case SWPageFaults, SWContextSwitches, SWCPUMigrations, SWPageFaultsMin, SWPageFaultsMaj,
		SWAlignmentFaults, SWEmulationFaults, SWCgroupSwitches:
		return true
	}
	return false
}

// Ends reports whether a sample's payload ends where the layout says. A callchain begins with
// what it is of, a context; where a sample has another layout, other numbers stand there.
func (l *Layout) Ends(payload []byte) bool {
	n, ok := l.Behind(payload)
	return ok && n == 0
}

// Behind returns how many bytes of a sample's payload are behind where the layout says that it ends,
// and whether it is as long as that and may be such a sample.
//
// There are such bytes where another recorder's event, of which the kernel wrote the first sample,
// has fields of variable size that this one has not, such as copies of stacks: the size of these is in
// the header of all of them, what is in the fields is not (perf_sample_data_size).
func (l *Layout) Behind(payload []byte) (n int, ok bool) {
	if l.SampleType&(SampleCallchain|SampleRead) == SampleCallchain && len(payload) >= l.fixed+16 {
		n, first := l.Order.Uint64(payload[l.fixed:]), l.Order.Uint64(payload[l.fixed+8:])
		if n > 0 && first < ContextMax {
			return 0, false
		}
	}
	if l.cpu >= 0 && len(payload) >= l.fixed && l.Order.Uint32(payload[l.cpu+4:]) != 0 {
		return 0, false // the reserved half of the CPU's word: something else stands there
	}
	c, t := l.afterRegs(payload), l.SampleType
	if t&SampleStackUser != 0 {
		if n := c.uint64(); n != 0 {
			c.bytes(n)
			c.uint64()
		}
	}
	const weight, before, behind = SampleWeight | SampleWeightStruct, SampleDataSrc | SampleTransaction,
		SamplePhysAddr | SampleCgroup | SampleDataPageSize | SampleCodePageSize
	if t&weight != 0 { // both are one
		c.uint64()
	}
	c.skipWords(uint64(bits.OnesCount64(uint64(t & before))))
	if t&SampleRegsIntr != 0 {
		c.skipRegs(l.intrRegs)
	}
	c.skipWords(uint64(bits.OnesCount64(uint64(t & behind))))
	if t&SampleAux != 0 {
		c.bytes(c.uint64())
	}
	return len(c.b), !c.short
}
