package report

import (
	"kprof/perfevent/abi"
)

// Metric is what a count means beside another one.
type Metric struct {
	Value    float64
	Decimals int
	Unit     string // "insn per cycle"; "% of all branches"; "" for no metric
}

// kind is what an event is, for the ratios in which it takes part.
type kind struct {
	typ    abi.Type
	config uint64
}

// hardware and cache caches the kinds of numbered events.
func hardware(config uint64) kind { return kind{abi.TypeHardware, config} }

// ofReads is the miss count, by its index in enum perf_hw_cache_id, of the reads that
// cache counts: the result is in the third byte of the config.
func ofReads(cache uint64) (misses, reads kind) {
	return kind{abi.TypeHWCache, cache | 1<<16}, kind{abi.TypeHWCache, cache}
}

// shares are the counts that are parts of others, and of what.
var shares = func() map[kind]struct {
	whole kind
	of    string
} {
	type share = struct {
		whole kind
		of    string
	}
	m := map[kind]share{
		hardware(abi.HWBranchMisses):          {hardware(abi.HWBranchInstructions), "% of all branches"},
		hardware(abi.HWCacheMisses):           {hardware(abi.HWCacheReferences), "% of all cache refs"},
		hardware(abi.HWStalledCyclesFrontend): {hardware(abi.HWCPUCycles), "% frontend cycles idle"},
		hardware(abi.HWStalledCyclesBackend):  {hardware(abi.HWCPUCycles), "% backend cycles idle"},
	}
	for cache, of := range map[uint64]string{
		0: "% of all L1-dcache accesses", 1: "% of all L1-icache accesses", 2: "% of all LL-cache accesses",
		3: "% of all dTLB cache accesses", 4: "% of all iTLB cache accesses",
	} {
		misses, reads := ofReads(cache)
		m[misses] = share{reads, of}
	}
	return m
}()

// modes are the attribute bits that say in which mode an event counts: those of a ratio
// must be the same.
const modes = abi.FlagExcludeUser | abi.FlagExcludeKernel | abi.FlagExcludeHV | abi.FlagExcludeHost | abi.FlagExcludeGuest

// scope is what the counts of a ratio have in common.
type scope struct {
	place, cgroup string
	mode          abi.Flags
	pmu           uint64 // of a hybrid machine, else 0
}

func (r *Row) kind() kind { return kind{r.Attr.Type, r.Attr.Config &^ (r.pmu() << 32)} }

// pmu is the number of the PMU that stands above that of a numbered event of a hybrid machine.
func (r *Row) pmu() uint64 {
	if r.Attr.Type != abi.TypeHardware && r.Attr.Type != abi.TypeHWCache {
		return 0
	}
	return r.Attr.Config >> 32
}

func (r *Row) scope() scope { return scope{r.Place, r.Cgroup, r.Attr.Flags & modes, r.pmu()} }

func (r *Row) isClock() bool {
	return r.Attr.Type == abi.TypeSoftware && (r.Attr.Config == abi.SWCPUClock || r.Attr.Config == abi.SWTaskClock)
}

// Derive fills in the metrics, those of perf stat (tools/perf/util/stat-shadow.c,
// perf_stat__print_shadow_stats):
//
//	a clock                      CPUs utilized: of the time that has elapsed
//	instructions beside cycles   insn per cycle
//	cycles beside a clock        GHz
//	misses beside what missed    percent of all
//	others beside a clock        per second of the CPU time that it counted
//
// and others without a clock, of which perf says nothing, per second that has elapsed.
func (rep *Report) Derive() {
	values := map[scope]map[kind]float64{}
	clocks := map[[2]string]float64{} // seconds of CPU time, by place and cgroup
	for i := range rep.Rows {
		r := &rep.Rows[i]
		if r.Status != Counted {
			continue
		}
		if values[r.scope()] == nil {
			values[r.scope()] = map[kind]float64{}
		}
		values[r.scope()][r.kind()] = r.Value
		if at := [2]string{r.Place, r.Cgroup}; r.isClock() && clocks[at] == 0 {
			clocks[at] = r.Value / 1e3
		}
	}
	elapsed := rep.Elapsed.Seconds()
	for i := range rep.Rows {
		r := &rep.Rows[i]
		if r.Status != Counted {
			continue
		}
		others := values[r.scope()]
		clock := clocks[[2]string{r.Place, r.Cgroup}]
		cycles := others[hardware(abi.HWCPUCycles)]
		share, isShare := shares[r.kind()]
		switch {
		case r.isClock():
			if elapsed > 0 {
				r.Metric = Metric{clock / elapsed, 3, "CPUs utilized"}
			}
		case r.kind() == hardware(abi.HWInstructions) && cycles > 0:
			r.Metric = Metric{r.Value / cycles, 2, "insn per cycle"}
		case isShare && others[share.whole] > 0:
			r.Metric = Metric{100 * r.Value / others[share.whole], 2, share.of}
		case r.kind() == hardware(abi.HWCPUCycles) && clock > 0:
			r.Metric = Metric{r.Value / clock / 1e9, 3, "GHz"}
		case r.Unit != "": // is no number of events
		case clock > 0:
			r.Metric = rate(r.Value/clock, "/sec")
		case elapsed > 0:
			r.Metric = rate(r.Value/elapsed, "/sec elapsed")
		}
	}
}

// rate is a metric of so many per second.
func rate(perSecond float64, unit string) Metric {
	for _, s := range []struct {
		more   float64
		prefix string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "K"}} {
		if perSecond > s.more {
			return Metric{perSecond / s.more, 3, s.prefix + unit}
		}
	}
	return Metric{perSecond, 3, unit}
}

// fromPerf reports whether perf stat has the metric too.
func (m Metric) fromPerf() bool {
	const own = "/sec elapsed"
	return m.Unit != "" && (len(m.Unit) < len(own) || m.Unit[len(m.Unit)-len(own):] != own)
}
