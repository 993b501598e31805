package abi

import "fmt"

var (
	hardwareNames = [...]string{
		"cycles", "instructions", "cache-references", "cache-misses", "branches",
		"branch-misses", "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend",
		"ref-cycles",
	}
	softwareNames = [...]string{
		"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations",
		"minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy",
		"bpf-output", "cgroup-switches",
	}
	cacheNames   = [...]string{"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"}
	cacheOps     = [...]string{"load", "store", "prefetch"}
	cacheResults = [...]string{"refs", "misses"}
)

// Name is what perf calls an event when nothing but its attribute is known,
// modifiers included: "cycles:u". A tracepoint or the event of a PMU is named by
// its numbers.
func (a *Attr) Name() string {
	return a.baseName() + a.modifiers()
}

func (a *Attr) baseName() string {
	switch a.Type {
	case TypeHardware:
		if c := uint32(a.Config); c < uint32(len(hardwareNames)) {
			return hardwareNames[c]
		}
		return fmt.Sprintf("unknown-hardware-%#x", a.Config)
	case TypeSoftware:
		if a.Config < uint64(len(softwareNames)) {
			return softwareNames[a.Config]
		}
		return fmt.Sprintf("unknown-software-%#x", a.Config)
	case TypeTracepoint:
		return fmt.Sprintf("tracepoint:%d", a.Config)
	case TypeHWCache:
		c, op, res := a.Config&0xff, a.Config>>8&0xff, a.Config>>16&0xff
		if c < uint64(len(cacheNames)) && op < uint64(len(cacheOps)) && res < uint64(len(cacheResults)) {
			if res == 0 {
				return cacheNames[c] + "-" + cacheOps[op] + "s"
			}
			return cacheNames[c] + "-" + cacheOps[op] + "-" + cacheResults[res]
		}
		return fmt.Sprintf("unknown-cache-%#x", a.Config)
	case TypeRaw:
		return fmt.Sprintf("raw 0x%x", a.Config)
	case TypeBreakpoint:
		return fmt.Sprintf("mem:0x%x/%d", a.Config1, a.Config2)
	}
	return fmt.Sprintf("pmu-%d/config=0x%x/", uint32(a.Type), a.Config)
}

// modifiers are those of perf's evsel__add_modifiers, but for the "HG" that perf
// puts behind each event which counts guests too.
func (a *Attr) modifiers() string {
	m := ":"
	if a.Flags&(FlagExcludeKernel|FlagExcludeUser|FlagExcludeHV) != 0 {
		for _, x := range [...]struct {
			not  Flags
			name string
		}{{FlagExcludeKernel, "k"}, {FlagExcludeUser, "u"}, {FlagExcludeHV, "h"}} {
			if a.Flags&x.not == 0 {
				m += x.name
			}
		}
	}
	m += "ppp"[:a.Flags.Precise()]
	if a.Flags&FlagExcludeHost != 0 {
		m += "G"
	}
	if m == ":" {
		return ""
	}
	return m
}
