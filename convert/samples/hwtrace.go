package samples

import (
	"cmp"

	"kprof/perfevent/abi"
)

// HardwareTrace is what a processor wrote of each branch it took, or of operations it
// picked out itself, besides the samples. It is not decoded.
type HardwareTrace struct {
	Kind  string // "Intel PT", "" where there is none
	Bytes uint64 // as far as they are in AUXTRACE records; samples may have more
}

// traceKinds are the kinds by the number that AUXTRACE_INFO records have (perf's
// util/auxtrace.h, enum auxtrace_type).
var traceKinds = map[uint32]string{
	1: "Intel PT", 2: "Intel BTS", 3: "CoreSight", 4: "Arm SPE", 5: "s390 CPU-MF", 6: "HiSilicon PTT",
}

// unknownTrace is the Kind of a trace with a number that is not among these.
const unknownTrace = "of an unknown kind"

// Take takes up a record of the given type, if it tells of a trace.
func (t *HardwareTrace) Take(typ abi.RecordType, payload []byte, o abi.Order) {
	switch {
	case typ == abi.RecordAuxtraceInfo && len(payload) >= 4:
		t.Kind = cmp.Or(traceKinds[o.Uint32(payload)], unknownTrace)
	case typ == abi.RecordAuxtrace && len(payload) >= 8:
		t.Bytes += o.Uint64(payload)
	}
}
