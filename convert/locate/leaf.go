package locate

import (
	"kprof/convert/samples"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
)

// withLeafCaller returns a callchain of s with the caller of the innermost user function, where that
// has no frame. On arm64 the kernel goes from one frame record to the next, so that the caller of
// such a function is in the link register alone. With frame pointers perf has samples carry it
// there since Linux 5.18, and reports put it in (tools/perf/util/arm64-frame-pointer-unwind-support.c).
// The result is valid until the next call.
func (l *Locator) withLeafCaller(s *samples.Sample, chain []uint64) []uint64 {
	u, a := l.unwind, &s.Event.Attr
	if u == nil || a.SampleType&abi.SampleRegsUser == 0 || s.UserABI&^abi.RegsABISIMD != abi.RegsABI64 {
		return chain
	}
	from, to := userPart(chain, s.Misc)
	if from < 0 || from == to {
		return chain
	}
	u.plan = u.planOf(s.Event, &s.Sample)
	at := u.plan.machine.LinkRegister(a.SampleRegsUser)
	if at < 0 || at >= len(s.UserRegs) {
		return chain
	}
	u.view, u.leaf = l.views.at(timeline.User), chain[from]
	ret, ok := u.plan.machine.LeafCaller(u.leaf, s.UserRegs[at], u)
	if !ok || from+1 < to && chain[from+1] == ret {
		return chain
	}
	l.withLeaf = append(append(append(l.withLeaf[:0], chain[:from+1]...), ret), chain[from+1:]...)
	return l.withLeaf
}
