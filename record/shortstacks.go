package record

import (
	"math/bits"

	"kprof/perfevent/abi"
)

// shortStacks counts user stacks of one or two frames among the callchains of samples: where
// programs have no frame pointers most are.
type shortStacks struct {
	at          []int // where callchains begin, from the record's header on, by event; 0 for those not counted
	turn        uint
	users, less uint64
}

const (
	shortStack  = 2 // frames, up to which a user stack is short
	shortSample = 8 // one of so many samples is looked at
)

// placeOfUserChain returns where callchains with user code begin in an event's samples, 0
// where they have none, or at no fixed place.
func placeOfUserChain(a *abi.Attr) int {
	const before = abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleAddr |
		abi.SampleID | abi.SampleStreamID | abi.SampleCPU | abi.SamplePeriod
	if a.SampleType&abi.SampleCallchain == 0 || a.SampleType&(abi.SampleRead|abi.SampleBranchStack) != 0 ||
		a.Flags&(abi.FlagExcludeUser|abi.FlagExcludeCallchainUser) != 0 || a.Flags&abi.FlagFreq == 0 {
		return 0
	}
	return abi.HeaderSize + 8*bits.OnesCount64(uint64(a.SampleType&before))
}

// look looks at a sample of an event, of which b may be the beginning alone.
func (s *shortStacks) look(event int32, b []byte) {
	at := s.at[event]
	if at == 0 {
		return
	}
	if s.turn++; s.turn%shortSample != 0 || len(b) < at+8 {
		return
	}
	const o = abi.LittleEndian
	n := o.Uint64(b[at:])
	if n > uint64(len(b)-at-8)/8 {
		return
	}
	chain := b[at+8 : at+8+8*int(n)]
	user, frames := false, 0
	for ; len(chain) > 0 && frames <= shortStack; chain = chain[8:] {
		switch ip := o.Uint64(chain); {
		case ip >= abi.ContextMax:
			user = ip == abi.ContextUser
		case user:
			frames++
		}
	}
	if frames > 0 {
		s.users++
	}
	if frames > 0 && frames <= shortStack {
		s.less++
	}
}
