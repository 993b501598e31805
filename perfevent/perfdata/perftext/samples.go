package perftext

import (
	"slices"
	"strings"

	"kprof/perfevent/abi"
)

// sample has its callchain as the bare words.
func (r *Recording) sample(rec *record, f *fields) {
	rec.typ, rec.kernel = abi.RecordSample, false
	chain := f.chain()
	mode := abi.MiscUser
	if len(chain) > 0 {
		if m, ok := contextModes[chain[0]]; ok {
			mode = m
		}
	}
	var first uint64
	if i := slices.IndexFunc(chain, func(n uint64) bool { return n < abi.ContextMax }); i >= 0 {
		first = chain[i]
	}
	rec.misc = f.mode(mode)
	ip, addr, period := f.num("ip", first), f.num("addr", 0), f.num("period", 1)
	count := f.num("nr", uint64(len(chain))) // of the chain, a lie if given
	rawData := f.hex("raw")
	reads, calls := f.pairs("reads", ":"), f.pairs("branches", ">")
	id, attr := rec.id, &r.Events[rec.event].Attr
	t := attr.SampleType
	rec.body = func(b []byte, o abi.Order) []byte {
		word := func(bit abi.SampleType, v uint64) {
			if t&bit != 0 {
				b = o.AppendUint64(b, v)
			}
		}
		half := func(bit abi.SampleType, lo, hi uint32) {
			if t&bit != 0 {
				b = o.AppendUint32(b, lo)
				b = o.AppendUint32(b, hi)
			}
		}
		word(abi.SampleIdentifier, id.ID)
		word(abi.SampleIP, ip)
		half(abi.SampleTID, uint32(id.PID), uint32(id.TID))
		word(abi.SampleTime, id.Time)
		word(abi.SampleAddr, addr)
		word(abi.SampleID, id.ID)
		word(abi.SampleStreamID, id.StreamID)
		half(abi.SampleCPU, uint32(id.CPU), 0)
		word(abi.SamplePeriod, period)
		if t&abi.SampleRead != 0 {
			b = appendReads(b, attr.ReadFormat, reads, o)
		}
		if t&abi.SampleCallchain != 0 {
			b = o.AppendUint64(b, count)
			for _, n := range chain {
				b = o.AppendUint64(b, n)
			}
		}
		if t&abi.SampleRaw != 0 {
			pad := (8 - (4+len(rawData))%8) % 8
			b = o.AppendUint32(b, uint32(len(rawData)+pad))
			b = append(b, rawData...)
			b = append(b, make([]byte, pad)...)
		}
		if t&abi.SampleBranchStack != 0 {
			b = appendBranches(b, attr.BranchSampleType, calls, o)
		}
		return b
	}
}

// chain takes the bare words of a line as a callchain.
func (f *fields) chain() (chain []uint64) {
	for _, w := range f.flags {
		n, ok := contexts[w]
		if !ok {
			n = f.parse(w)
		}
		chain = append(chain, n)
	}
	f.flags = nil
	return chain
}

// pairs takes a list of two numbers each.
func (f *fields) pairs(key, between string) (ps [][2]uint64) {
	for _, p := range strings.Split(f.str(key, ""), ",") {
		if a, b, ok := strings.Cut(p, between); ok {
			ps = append(ps, [2]uint64{f.parse(a), f.parse(b)})
		} else if p != "" {
			f.fail("%s: %q is not two numbers with %s between", key, p, between)
		}
	}
	return ps
}

// appendReads appends struct read_format; the times are 0.
func appendReads(b []byte, f abi.ReadFormat, reads [][2]uint64, o abi.Order) []byte {
	times := func() {
		for _, bit := range []abi.ReadFormat{abi.ReadTotalTimeEnabled, abi.ReadTotalTimeRunning} {
			if f&bit != 0 {
				b = o.AppendUint64(b, 0)
			}
		}
	}
	group := f&abi.ReadGroup != 0
	if group {
		b = o.AppendUint64(b, uint64(len(reads)))
		times()
	} else if len(reads) != 1 {
		reads = make([][2]uint64, 1)
	}
	for _, v := range reads {
		b = o.AppendUint64(b, v[1])
		if !group {
			times()
		}
		if f&abi.ReadID != 0 {
			b = o.AppendUint64(b, v[0])
		}
		if f&abi.ReadLost != 0 {
			b = o.AppendUint64(b, 0)
		}
	}
	return b
}

// appendBranches appends struct perf_branch_stack; flags and counters are 0.
func appendBranches(b []byte, t abi.BranchSampleType, calls [][2]uint64, o abi.Order) []byte {
	b = o.AppendUint64(b, uint64(len(calls)))
	if t&abi.BranchHWIndex != 0 {
		b = o.AppendUint64(b, 0)
	}
	for _, c := range calls {
		b = o.AppendUint64(b, c[0])
		b = o.AppendUint64(b, c[1])
		b = o.AppendUint64(b, 0)
	}
	if t&abi.BranchCounters != 0 {
		b = append(b, make([]byte, 8*len(calls))...)
	}
	return b
}

// deferred is a CALLCHAIN_DEFERRED record.
func (rec *record) deferred(f *fields) {
	rec.typ, rec.misc = abi.RecordCallchainDeferred, f.mode(abi.MiscUser)
	cookie, chain := f.num("cookie", 0), f.chain()
	count := f.num("nr", uint64(len(chain)))
	rec.body = func(b []byte, o abi.Order) []byte {
		b = o.AppendUint64(b, cookie)
		b = o.AppendUint64(b, count)
		for _, n := range chain {
			b = o.AppendUint64(b, n)
		}
		return b
	}
}

// appendString appends s as the kernel does: ended by a NUL, and padded so that
// the record is a multiple of 8 bytes.
func appendString(b []byte, s string) []byte {
	b = append(b, s...)
	return append(b, make([]byte, 8-len(b)%8)...)
}
