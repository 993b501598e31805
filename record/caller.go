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

// linkRegister is the mask of registers of such samples, see perfevent.
const linkRegister = 1 << 30

// chainPlace is where callchains begin in the samples of an event that lack the
// caller. It is zero for all other events.
type chainPlace struct {
	at       int  // from the record's header on
	raw      bool // raw data follow
	userRegs int  // how many of user code follow these, if a sample has any; -1 for no such dump
	between  int  // bytes from there to the link register's dump
	behind   int  // bytes behind that
}

func placeOfChain(a *abi.Attr) chainPlace {
	const before = abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleAddr |
		abi.SampleID | abi.SampleStreamID | abi.SampleCPU | abi.SamplePeriod
	const between, behind = abi.SampleWeight | abi.SampleWeightStruct, abi.SamplePhysAddr | abi.SampleCgroup
	const want = abi.SampleCallchain | abi.SampleRegsIntr
	const all = before | abi.SampleCallchain | abi.SampleRaw | abi.SampleRegsUser | between | abi.SampleRegsIntr | behind
	if t := a.SampleType; t&want != want || t&^all != 0 || a.SampleRegsIntr != linkRegister {
		return chainPlace{}
	}
	words := func(t abi.SampleType) int { return 8 * bits.OnesCount64(uint64(a.SampleType&t)) }
	p := chainPlace{abi.HeaderSize + words(before), a.SampleType&abi.SampleRaw != 0, -1, words(between), words(behind)}
	if a.SampleType&abi.SampleRegsUser != 0 {
		p.userRegs = bits.OnesCount64(a.SampleRegsUser)
	}
	return p
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
		size := o.Uint32(rec[regs:])
		if uint64(size) > uint64(len(rec)-regs) {
			return
		}
		regs += 4 + int(size)
	}
	if p.userRegs >= 0 && len(rec)-regs >= word {
		if abi := o.Uint64(rec[regs:]); abi != 0 {
			regs += p.userRegs * word
		}
		regs += word
	}
	regs += p.between
	if regs+2*word+p.behind != len(rec) || o.Uint64(rec[regs:]) == 0 {
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
