package event

import (
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/spelling"
)

// event names as perf has them, aliases included.
var symbols = map[string]struct {
	typ    abi.Type
	config uint64
}{
	"cpu-clock":        {abi.TypeSoftware, abi.SWCPUClock},
	"task-clock":       {abi.TypeSoftware, abi.SWTaskClock},
	"page-faults":      {abi.TypeSoftware, abi.SWPageFaults},
	"faults":           {abi.TypeSoftware, abi.SWPageFaults},
	"minor-faults":     {abi.TypeSoftware, abi.SWPageFaultsMin},
	"major-faults":     {abi.TypeSoftware, abi.SWPageFaultsMaj},
	"context-switches": {abi.TypeSoftware, abi.SWContextSwitches},
	"cs":               {abi.TypeSoftware, abi.SWContextSwitches},
	"cpu-migrations":   {abi.TypeSoftware, abi.SWCPUMigrations},
	"migrations":       {abi.TypeSoftware, abi.SWCPUMigrations},
	"alignment-faults": {abi.TypeSoftware, abi.SWAlignmentFaults},
	"emulation-faults": {abi.TypeSoftware, abi.SWEmulationFaults},
	"dummy":            {abi.TypeSoftware, abi.SWDummy},
	"bpf-output":       {abi.TypeSoftware, abi.SWBPFOutput},
	"cgroup-switches":  {abi.TypeSoftware, abi.SWCgroupSwitches},

	"cycles":                  {abi.TypeHardware, abi.HWCPUCycles},
	"cpu-cycles":              {abi.TypeHardware, abi.HWCPUCycles},
	"instructions":            {abi.TypeHardware, abi.HWInstructions},
	"cache-references":        {abi.TypeHardware, abi.HWCacheReferences},
	"cache-misses":            {abi.TypeHardware, abi.HWCacheMisses},
	"branch-instructions":     {abi.TypeHardware, abi.HWBranchInstructions},
	"branches":                {abi.TypeHardware, abi.HWBranchInstructions},
	"branch-misses":           {abi.TypeHardware, abi.HWBranchMisses},
	"bus-cycles":              {abi.TypeHardware, abi.HWBusCycles},
	"stalled-cycles-frontend": {abi.TypeHardware, abi.HWStalledCyclesFrontend},
	"idle-cycles-frontend":    {abi.TypeHardware, abi.HWStalledCyclesFrontend},
	"stalled-cycles-backend":  {abi.TypeHardware, abi.HWStalledCyclesBackend},
	"idle-cycles-backend":     {abi.TypeHardware, abi.HWStalledCyclesBackend},
	"ref-cycles":              {abi.TypeHardware, abi.HWRefCPUCycles},
}

// numbered looks name up among the events that need no look at the machine.
func numbered(name string) (typ abi.Type, config uint64, ok bool) {
	if s, ok := symbols[name]; ok {
		return s.typ, s.config, true
	}
	if config, ok := rawConfig(name); ok {
		return abi.TypeRaw, config, true
	}
	config, ok = cacheConfig(name)
	return abi.TypeHWCache, config, ok
}

// rawConfig reads rNNN, the event code of the CPU's own PMU in hexadecimal.
func rawConfig(name string) (uint64, bool) {
	hex, ok := strings.CutPrefix(name, "r")
	if !ok || !isIn(digits+"abcdefABCDEF", strings.TrimPrefix(hex, "0x")) {
		return 0, false
	}
	v, err := parseNumber("0x" + strings.TrimPrefix(hex, "0x"))
	return v, err == nil
}

// Names of caches, operations and results; the index is the kernel's number
// (enum perf_hw_cache_id, perf_hw_cache_op_id, perf_hw_cache_op_result_id).
var (
	cacheNames = [][]string{
		{"L1-dcache", "l1-d", "l1d", "L1-data"},
		{"L1-icache", "l1-i", "l1i", "L1-instruction"},
		{"LLC", "L2"},
		{"dTLB", "d-tlb", "Data-TLB"},
		{"iTLB", "i-tlb", "Instruction-TLB"},
		{"branch", "branches", "bpu", "btb", "bpc"},
		{"node"},
	}
	cacheOps = [][]string{
		{"load", "loads", "read"},
		{"store", "stores", "write"},
		{"prefetch", "prefetches", "speculative-read", "speculative-load"},
	}
	cacheResults = [][]string{
		{"refs", "Reference", "ops", "access"},
		{"misses", "miss"},
	}
	// cacheOpsOf has a bit for each operation that a cache can count.
	cacheOpsOf = []uint{0b111, 0b101, 0b111, 0b111, 0b001, 0b001, 0b111}
)

// cacheConfig reads CACHE[-OP][-RESULT], in the order written or the other way
// round: "L1-dcache-load-misses", "dTLB-loads", "LLC-misses".
func cacheConfig(name string) (uint64, bool) {
	cache, rest, ok := cutName(name, cacheNames)
	if !ok {
		return 0, false
	}
	op, result := -1, -1
	for rest != "" {
		var n int
		if n, after, ok := cutName(rest, cacheOps); ok && op < 0 {
			op, rest = n, after
			continue
		}
		if n, rest, ok = cutName(rest, cacheResults); !ok || result >= 0 {
			return 0, false
		}
		result = n
	}
	op, result = max(op, 0), max(result, 0)
	if cacheOpsOf[cache]>>op&1 == 0 {
		return 0, false
	}
	return uint64(cache) | uint64(op)<<8 | uint64(result)<<16, true
}

// cutName cuts the longest of names off the start of s, where a dash or the end
// follows, and returns its index and what is left.
func cutName(s string, names [][]string) (index int, rest string, ok bool) {
	longest := 0
	for i, aliases := range names {
		for _, a := range aliases {
			after, found := strings.CutPrefix(s, a)
			if found && len(a) > longest && (after == "" || after[0] == '-') {
				index, rest, longest = i, strings.TrimPrefix(after, "-"), len(a)
			}
		}
	}
	return index, rest, longest > 0
}

// otherKinds stand before the colon of events that are no tracepoints.
var otherKinds = []string{"kprobe", "kretprobe", "uprobe", "uretprobe", "usdt", "span", "graph", "function"}

// otherKind is text with the kind that its own may have been meant to be; "" for none.
func otherKind(text string) string {
	kind, rest, ok := strings.Cut(text, ":")
	near := spelling.Closest(kind, otherKinds)
	if !ok || len(near) == 0 {
		return ""
	}
	return near[0] + ":" + rest
}
