package abi

import "fmt"

// HeaderSize is the size of struct perf_event_header in bytes.
const HeaderSize = 8

// Header is struct perf_event_header. Size counts the header itself.
type Header struct {
	Type RecordType
	Misc Misc
	Size uint16
}

// DecodeHeader reads a header; b has at least HeaderSize bytes.
func DecodeHeader(b []byte, o Order) Header {
	return Header{
		Type: RecordType(o.Uint32(b)),
		Misc: Misc(o.Uint16(b[4:])),
		Size: o.Uint16(b[6:]),
	}
}

// AppendTo appends h to b.
func (h Header) AppendTo(b []byte, o Order) []byte {
	b = o.AppendUint32(b, uint32(h.Type))
	b = o.AppendUint16(b, uint16(h.Misc))
	return o.AppendUint16(b, h.Size)
}

// Misc is perf_event_header.misc.
type Misc uint16

const (
	MiscCPUModeMask   Misc = 7
	MiscCPUModeNone   Misc = 0
	MiscKernel        Misc = 1
	MiscUser          Misc = 2
	MiscHypervisor    Misc = 3
	MiscGuestKernel   Misc = 4
	MiscGuestUser     Misc = 5
	MiscProcMapParse  Misc = 1 << 12 // PROC_MAP_PARSE_TIMEOUT, written by perf
	MiscMmapData      Misc = 1 << 13 // on MMAP and MMAP2
	MiscCommExec      Misc = 1 << 13 // on COMM
	MiscForkExec      Misc = 1 << 13 // on FORK, perf's own
	MiscFiltered      Misc = 1 << 15 // on LOST_SAMPLES, perf's own: its BPF filter left them out (PERF_RECORD_MISC_LOST_SAMPLES_BPF)
	MiscLostUnknown   Misc = 1 << 13 // on LOST, of traces as package trace presents them: there may be more than it counts
	MiscSwitchOut     Misc = 1 << 13 // on SWITCH
	MiscExactIP       Misc = 1 << 14 // on SAMPLE
	MiscMmapBuildID   Misc = 1 << 14 // on MMAP2
	MiscSwitchPreempt Misc = 1 << 14 // on SWITCH
)

// CPUMode is the mode the CPU was in: MiscKernel, MiscUser and so on.
func (m Misc) CPUMode() Misc { return m & MiscCPUModeMask }

// RecordType is perf_event_header.type.
type RecordType uint32

// Records of the kernel, enum perf_event_type.
const (
	RecordMmap RecordType = iota + 1
	RecordLost
	RecordComm
	RecordExit
	RecordThrottle
	RecordUnthrottle
	RecordFork
	RecordRead
	RecordSample
	RecordMmap2
	RecordAux
	RecordItraceStart
	RecordLostSamples
	RecordSwitch
	RecordSwitchCPUWide
	RecordNamespaces
	RecordKsymbol
	RecordBPFEvent
	RecordCgroup
	RecordTextPoke
	RecordAuxOutputHWID
	RecordCallchainDeferred // 6.19
)

// Records of perf itself, enum perf_user_event_type.
const (
	RecordHeaderAttr RecordType = iota + 64
	RecordHeaderEventType
	RecordHeaderTracingData
	RecordHeaderBuildID
	RecordFinishedRound
	RecordIDIndex
	RecordAuxtraceInfo
	RecordAuxtrace
	RecordAuxtraceError
	RecordThreadMap
	RecordCPUMap
	RecordStatConfig
	RecordStat
	RecordStatRound
	RecordEventUpdate
	RecordTimeConv
	RecordHeaderFeature
	RecordCompressed
	RecordFinishedInit
	RecordCompressed2
	RecordBPFMetadata
	RecordSchedstatCPU    // 7.0
	RecordSchedstatDomain // 7.0
)

// recordNames are the names that `perf report --stats` prints.
var recordNames = map[RecordType]string{
	RecordMmap: "MMAP", RecordLost: "LOST", RecordComm: "COMM", RecordExit: "EXIT",
	RecordThrottle: "THROTTLE", RecordUnthrottle: "UNTHROTTLE", RecordFork: "FORK",
	RecordRead: "READ", RecordSample: "SAMPLE", RecordMmap2: "MMAP2", RecordAux: "AUX",
	RecordItraceStart: "ITRACE_START", RecordLostSamples: "LOST_SAMPLES",
	RecordSwitch: "SWITCH", RecordSwitchCPUWide: "SWITCH_CPU_WIDE",
	RecordNamespaces: "NAMESPACES", RecordKsymbol: "KSYMBOL", RecordBPFEvent: "BPF_EVENT",
	RecordCgroup: "CGROUP", RecordTextPoke: "TEXT_POKE",
	RecordAuxOutputHWID: "AUX_OUTPUT_HW_ID", RecordCallchainDeferred: "CALLCHAIN_DEFERRED",
	RecordHeaderAttr: "ATTR", RecordHeaderEventType: "EVENT_TYPE",
	RecordHeaderTracingData: "TRACING_DATA", RecordHeaderBuildID: "BUILD_ID",
	RecordFinishedRound: "FINISHED_ROUND", RecordIDIndex: "ID_INDEX",
	RecordAuxtraceInfo: "AUXTRACE_INFO", RecordAuxtrace: "AUXTRACE",
	RecordAuxtraceError: "AUXTRACE_ERROR", RecordThreadMap: "THREAD_MAP",
	RecordCPUMap: "CPU_MAP", RecordStatConfig: "STAT_CONFIG", RecordStat: "STAT",
	RecordStatRound: "STAT_ROUND", RecordEventUpdate: "EVENT_UPDATE",
	RecordTimeConv: "TIME_CONV", RecordHeaderFeature: "FEATURE",
	RecordCompressed: "COMPRESSED", RecordFinishedInit: "FINISHED_INIT",
	RecordCompressed2: "COMPRESSED2", RecordBPFMetadata: "BPF_METADATA",
	RecordSchedstatCPU: "SCHEDSTAT_CPU", RecordSchedstatDomain: "SCHEDSTAT_DOMAIN",
}

// String is perf's name of the record type, or its number.
func (t RecordType) String() string {
	if n, ok := recordNames[t]; ok {
		return n
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Callchain context markers, enum perf_callchain_context: an entry at or above
// ContextMax is not an address but says whose addresses follow.
const (
	ContextHV           uint64 = 1<<64 - 32
	ContextKernel       uint64 = 1<<64 - 128
	ContextUser         uint64 = 1<<64 - 512
	ContextUserDeferred uint64 = 1<<64 - 640 // 6.19: the cookie of a CALLCHAIN_DEFERRED follows
	ContextGuest        uint64 = 1<<64 - 2048
	ContextGuestKernel  uint64 = 1<<64 - 2176
	ContextGuestUser    uint64 = 1<<64 - 2560
	ContextMax          uint64 = 1<<64 - 4095
)
