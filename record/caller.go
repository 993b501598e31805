package record

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"kprof/perfevent/abi"
)

// On arm64 the callchain of a function that has just been entered lacks the
// caller: it is in the link register, which perfevent asks for at such probes and
// only there (see linkRegister). It moves from the end of the sample into the
// chain. The size stays the same, since a sample that says it has no registers
// (PERF_SAMPLE_REGS_ABI_NONE) is one word shorter:
//
//	… nr=3  KERNEL pc caller's-caller      … raw  abi=64  lr
//	… nr=4  KERNEL pc lr caller's-caller   … raw  abi=none

// chainPlace is where callchains begin in the samples of an event that lack the
// caller. It is zero for all other events.
type chainPlace struct {
	at  int  // from the record's header on
	raw bool // raw data follow
}

func placeOfChain(a *abi.Attr) chainPlace {
	const before = abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleAddr |
		abi.SampleID | abi.SampleStreamID | abi.SampleCPU | abi.SamplePeriod
	const want, all = abi.SampleCallchain | abi.SampleRegsIntr, before | abi.SampleCallchain | abi.SampleRaw | abi.SampleRegsIntr
	if t := a.SampleType; t&want != want || t&^all != 0 || bits.OnesCount64(a.SampleRegsIntr) != 1 {
		return chainPlace{}
	}
	return chainPlace{abi.HeaderSize + 8*bits.OnesCount64(uint64(a.SampleType&before)), a.SampleType&abi.SampleRaw != 0}
}

// addCaller completes the callchain of a sample. One that has no registers stays
// as it is, and so does one whose caller is a trampoline.
func addCaller(rec []byte, p chainPlace, trampolines []uint64) {
	const word = 8
	o := binary.LittleEndian
	regs := p.at + word
	if regs > len(rec) {
		return
	}
	n := o.Uint64(rec[p.at:])
	if n > uint64(len(rec)-regs)/word {
		return
	}
	regs += int(n) * word
	chain := rec[p.at+word : regs]
	if p.raw && len(rec)-regs >= 4 {
		regs += 4 + int(o.Uint32(rec[regs:]))
	}
	if regs+2*word != len(rec) || o.Uint64(rec[regs:]) == 0 {
		return
	}
	caller := o.Uint64(rec[regs+word:])
	if slices.Contains(trampolines, caller) {
		return
	}
	// The caller comes after the first address that is no marker.
	for i := 0; i < len(chain); i += word {
		if o.Uint64(chain[i:]) >= abi.ContextMax {
			continue
		}
		i += word
		if i < len(chain) && o.Uint64(chain[i:]) == caller {
			return
		}
		place := p.at + word + i
		copy(rec[place+word:], rec[place:regs])
		o.PutUint64(rec[place:], caller)
		o.PutUint64(rec[p.at:], n+1)
		o.PutUint64(rec[regs+word:], 0)
		return
	}
}
