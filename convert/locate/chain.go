package locate

import (
	"slices"

	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// chain appends the locations of a sample's callchain, leaf first, but for those
// that it adds to l.missed. misc is the sample's.
//
// The first address of each stretch is an instruction that was interrupted; the
// others are return addresses, and the call lies before them.
func (l *Locator) chain(dst []uint32, misc abi.Misc, chain []uint64, views *views) []uint32 {
	v := views.at(timeline.ModeOf(misc))
	caller := false
	for i := 0; i < len(chain); i++ {
		addr := chain[i]
		if addr >= abi.ContextMax {
			switch addr {
			case abi.ContextHV:
				v = views.at(timeline.Hypervisor)
			case abi.ContextKernel:
				v = views.at(timeline.Kernel)
			case abi.ContextUser:
				v = views.at(timeline.User)
			case abi.ContextGuest, abi.ContextGuestKernel:
				v = views.at(timeline.GuestKernel)
			case abi.ContextGuestUser:
				v = views.at(timeline.GuestUser)
			case abi.ContextUserDeferred:
				i++ // its cookie is no address
			default:
				i = len(chain) // no marker we know: what follows may be anything
			}
			caller = false
			continue
		}
		if caller && addr > 0 && !l.exact {
			addr--
		}
		if !caller && v == &views.views[timeline.User] && timeline.ModeOf(misc) == timeline.Kernel {
			dst = append(dst, l.entered(addr, views))
		} else if c, ok := l.entry(v, addr); ok {
			dst = append(dst, c.loc)
		} else {
			o := l.origin(v, addr)
			l.missed = append(l.missed, missed{len(dst), c, v.ID, o, l.key(o)})
			dst = append(dst, 0)
		}
		caller = true
	}
	return dst
}

// branchesFrom returns where in its callchain the user part of a sample begins, if
// the branches take its place, or -1: the processor kept them as a stack of calls
// (perf record --call-graph lbr), and there is a user part.
func branchesFrom(e *perfdata.Event, s *abi.Sample) int {
	if e.Attr.BranchSampleType&abi.BranchCallStack == 0 || len(s.Branches) == 0 {
		return -1
	}
	return slices.Index(s.Callchain, abi.ContextUser)
}

// branches appends the locations of a stack of calls, the last call first: where
// the program was, and where each call was made. These are addresses of calls, not
// of what comes behind them (perf's machine.c, lbr_callchain_add_lbr_ip). Where
// the program was is the first address of the user part that they take the place
// of, or, where the chain ends before it, where the last call went to. perf 6.1
// always has the latter, perf 7.3 the sample's address, which is one of the kernel
// if the sample is.
func (l *Locator) branches(dst []uint32, user []uint64, calls []abi.Branch, views *views) []uint32 {
	v := views.at(timeline.User)
	at := calls[0].To
	if len(user) > 0 {
		at = user[0]
	}
	if at < abi.ContextMax {
		dst = append(dst, l.at(v, at))
	}
	for i := range calls {
		if from := calls[i].From; from < abi.ContextMax {
			dst = append(dst, l.at(v, from))
		}
	}
	return dst
}

// entered returns the location of the user address at which a sample in the kernel
// entered it. Where nothing is mapped there now, it may be the call of execve(2) in
// the program that is no more, until that returns.
func (l *Locator) entered(addr uint64, views *views) uint32 {
	loc := l.at(views.at(timeline.User), addr)
	if l.set.Locations[loc].Mapping >= 0 {
		return loc
	}
	if old := views.at(timeline.BeforeExec); old.Known() {
		if found := l.at(old, addr); l.set.Locations[found].Mapping >= 0 {
			return found
		}
	}
	return loc
}
