package perfdata

import (
	"fmt"
	"strings"

	"kprof/perfevent/abi"
)

// Names of the bits of an attribute, lowest first, as perf's
// perf_event_attr_fprintf.c has them.
var (
	sampleTypeNames = strings.Fields(`IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK
		REGS_USER STACK_USER WEIGHT DATA_SRC IDENTIFIER TRANSACTION REGS_INTR PHYS_ADDR AUX CGROUP
		DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT`)
	// sampleTypeOrder is the order in which perf prints them. It leaves out TRANSACTION.
	sampleTypeOrder = strings.Fields(`IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK
		REGS_USER STACK_USER IDENTIFIER REGS_INTR DATA_SRC WEIGHT PHYS_ADDR AUX CGROUP
		DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT TRANSACTION`)
	readFormatNames = strings.Fields("TOTAL_TIME_ENABLED TOTAL_TIME_RUNNING ID GROUP LOST")
	branchTypeNames = strings.Fields(`USER KERNEL HV ANY ANY_CALL ANY_RETURN IND_CALL ABORT_TX IN_TX NO_TX COND
		CALL_STACK IND_JUMP CALL NO_FLAGS NO_CYCLES TYPE_SAVE HW_INDEX PRIV_SAVE COUNTERS`)
	flagNames = strings.Fields(`disabled inherit pinned exclusive exclude_user exclude_kernel exclude_hv
		exclude_idle mmap comm freq inherit_stat enable_on_exec task watermark precise_ip - mmap_data
		sample_id_all exclude_host exclude_guest exclude_callchain_kernel exclude_callchain_user mmap2
		comm_exec use_clockid context_switch write_backward namespaces ksymbol bpf_event aux_output cgroup
		text_poke build_id inherit_thread remove_on_exec sigtrap defer_callchain defer_output`)
)

// bitNames joins the names of the bits of v, in the given order.
func bitNames(v uint64, names, order []string) string {
	bit := map[string]uint64{}
	for i, n := range names {
		bit[n] = 1 << i
	}
	var l []string
	for _, n := range order {
		if v&bit[n] != 0 {
			l = append(l, n)
		}
	}
	return strings.Join(l, "|")
}

// attrText are the fields of an attribute that are not zero, each after a comma.
func attrText(a *abi.Attr) string {
	var b strings.Builder
	add := func(name, format string, v any, isZero bool) {
		if !isZero {
			fmt.Fprintf(&b, ", %s = "+format, name, v)
		}
	}
	num := func(name string, v uint64) { add(name, "%d", v, v == 0) }
	hex := func(name string, v uint64) { add(name, "%#x", v, v == 0) }
	num("type", uint64(a.Type))
	num("size", uint64(a.Size))
	hex("config", a.Config)
	num("{ sample_period, sample_freq }", a.SamplePeriod)
	add("sample_type", "%s", bitNames(uint64(a.SampleType), sampleTypeNames, sampleTypeOrder), a.SampleType == 0)
	add("read_format", "%s", bitNames(uint64(a.ReadFormat), readFormatNames, readFormatNames), a.ReadFormat == 0)
	for i, name := range flagNames {
		switch {
		case name == "precise_ip":
			num(name, uint64(a.Flags.Precise()))
		case name != "-":
			num(name, uint64(a.Flags>>i&1))
		}
	}
	num("{ wakeup_events, wakeup_watermark }", uint64(a.Wakeup))
	num("bp_type", uint64(a.BPType))
	hex("{ bp_addr, config1 }", a.Config1)
	hex("{ bp_len, config2 }", a.Config2)
	add("branch_sample_type", "%s", bitNames(uint64(a.BranchSampleType), branchTypeNames, branchTypeNames), a.BranchSampleType == 0)
	hex("sample_regs_user", a.SampleRegsUser)
	num("sample_stack_user", uint64(a.SampleStackUser))
	add("clockid", "%d", a.ClockID, a.ClockID == 0)
	hex("sample_regs_intr", a.SampleRegsIntr)
	num("aux_watermark", uint64(a.AuxWatermark))
	num("sample_max_stack", uint64(a.SampleMaxStack))
	num("aux_sample_size", uint64(a.AuxSampleSize))
	num("sig_data", a.SigData)
	hex("config3", a.Config3)
	hex("config4", a.Config4)
	return b.String()
}
