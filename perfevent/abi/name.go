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
	// cacheLacks are the operations that a cache does not have, a bit each: the
	// instruction cache has no stores, and of iTLB and branches there are loads.
	cacheLacks = [len(cacheNames)]int{1: 1 << 1, 4: 1<<1 | 1<<2, 5: 1<<1 | 1<<2}
)

// Name is what perf calls an event when nothing but its attribute is known,
// modifiers included: "cycles:u" (tools/perf/util/evsel.c, evsel__name). Where its
// versions differ it is the newest: a tracepoint or the event of a PMU has its
// numbers since Linux 7.0. Perf itself does not know the newest software events.
func (a *Attr) Name() string {
	switch a.Type {
	case TypeHardware:
		if c := uint32(a.Config); c < uint32(len(hardwareNames)) {
			return hardwareNames[c] + a.modifiers()
		}
		return "unknown-hardware" + a.modifiers()
	case TypeSoftware:
		if a.Config < uint64(len(softwareNames)) {
			return softwareNames[a.Config] + a.modifiers()
		}
		return "unknown-software" + a.modifiers()
	case TypeTracepoint:
		return fmt.Sprintf("unknown tracepoint id=%#x", a.Config)
	case TypeHWCache:
		return a.cacheName() + a.modifiers()
	case TypeRaw:
		return fmt.Sprintf("raw 0x%x", a.Config) + a.modifiers()
	case TypeBreakpoint:
		return fmt.Sprintf("mem:0x%x:", a.Config1) + a.access() + a.modifiers()
	}
	return fmt.Sprintf("unknown event PMU=%d config=%#x", uint32(a.Type), a.Config)
}

// cacheName names a cache, what was done with it and how that went: one byte each
// of the config.
func (a *Attr) cacheName() string {
	cache, op, result := a.Config&0xff, a.Config>>8&0xff, a.Config>>16&0xff
	switch {
	case cache >= uint64(len(cacheNames)):
		return "unknown-ext-hardware-cache-type"
	case op >= uint64(len(cacheOps)):
		return "unknown-ext-hardware-cache-op"
	case result >= uint64(len(cacheResults)):
		return "unknown-ext-hardware-cache-result"
	case cacheLacks[cache]&(1<<op) != 0:
		return "invalid-cache"
	case result == 0 && op == 2:
		return cacheNames[cache] + "-prefetches"
	case result == 0:
		return cacheNames[cache] + "-" + cacheOps[op] + "s"
	}
	return cacheNames[cache] + "-" + cacheOps[op] + "-" + cacheResults[result]
}

// access is what a breakpoint waits for, HW_BREAKPOINT_R, W and X of
// include/uapi/linux/hw_breakpoint.h.
func (a *Attr) access() (s string) {
	for i, letter := range [...]string{"r", "w", "x"} {
		if a.BPType&(1<<i) != 0 {
			s += letter
		}
	}
	return s
}

// modifiers are those of perf's evsel__add_modifiers. Whether a guest was counted
// too is told of events with other modifiers alone: up to Linux 6.12 perf puts "HG"
// behind all that count guests, and since then "H" behind all that do not.
func (a *Attr) modifiers() string {
	m := ""
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
	switch a.Flags & (FlagExcludeHost | FlagExcludeGuest) {
	case FlagExcludeHost:
		m += "G"
	case FlagExcludeGuest:
		if m != "" {
			m += "H"
		}
	}
	if m == "" {
		return ""
	}
	return ":" + m
}
