package abi

import (
	"fmt"
	"math/bits"
)

// Attr is struct perf_event_attr (include/uapi/linux/perf_event.h) with its
// unions flattened: SamplePeriod is a frequency in Hz when FlagFreq is set,
// Wakeup is bytes when FlagWatermark is set, Config1 is also bp_addr,
// kprobe_func and uprobe_path, Config2 also bp_len, kprobe_addr and
// probe_offset.
type Attr struct {
	Type             Type
	Size             uint32 // as decoded; AppendTo writes its own
	Config           uint64
	SamplePeriod     uint64 // events, or Hz with FlagFreq
	SampleType       SampleType
	ReadFormat       ReadFormat
	Flags            Flags
	Wakeup           uint32 // events, or bytes with FlagWatermark
	BPType           uint32
	Config1          uint64
	Config2          uint64
	BranchSampleType BranchSampleType
	SampleRegsUser   uint64
	SampleStackUser  uint32 // bytes
	ClockID          int32
	SampleRegsIntr   uint64
	AuxWatermark     uint32 // bytes
	SampleMaxStack   uint16 // frames
	AuxSampleSize    uint32 // bytes
	AuxAction        uint32
	SigData          uint64
	Config3          uint64
	Config4          uint64
}

// Sizes of struct perf_event_attr through its history.
const (
	AttrSizeVer0 = 64  // Linux 2.6.31
	AttrSizeVer5 = 112 // 4.1: aux_watermark, sample_max_stack
	AttrSizeVer6 = 120 // 5.5: aux_sample_size
	AttrSizeVer7 = 128 // 5.13: sig_data
	AttrSizeVer8 = 136 // 6.3: config3
	AttrSizeVer9 = 144 // 6.19: config4
)

// maxAttrSize bounds what DecodeAttr accepts; the kernel refuses attributes
// above a page (kernel/events/core.c, perf_copy_attr).
const maxAttrSize = 4096

// Type is perf_event_attr.type: one of the constants here, or the number of a
// PMU under /sys/bus/event_source/devices.
type Type uint32

const (
	TypeHardware Type = iota
	TypeSoftware
	TypeTracepoint
	TypeHWCache
	TypeRaw
	TypeBreakpoint
)

// Flags is the bit field of perf_event_attr, first field lowest.
type Flags uint64

const (
	FlagDisabled Flags = 1 << iota
	FlagInherit
	FlagPinned
	FlagExclusive
	FlagExcludeUser
	FlagExcludeKernel
	FlagExcludeHV
	FlagExcludeIdle
	FlagMmap
	FlagComm
	FlagFreq
	FlagInheritStat
	FlagEnableOnExec
	FlagTask
	FlagWatermark
	flagPrecise0 // precise_ip, two bits: see Flags.Precise
	flagPrecise1
	FlagMmapData
	FlagSampleIDAll
	FlagExcludeHost
	FlagExcludeGuest
	FlagExcludeCallchainKernel
	FlagExcludeCallchainUser
	FlagMmap2
	FlagCommExec
	FlagUseClockID
	FlagContextSwitch
	FlagWriteBackward
	FlagNamespaces
	FlagKsymbol
	FlagBPFEvent
	FlagAuxOutput
	FlagCgroup
	FlagTextPoke
	FlagBuildID
	FlagInheritThread
	FlagRemoveOnExec
	FlagSigtrap
	FlagDeferCallchain // 6.19
	FlagDeferOutput    // 6.19
)

const preciseShift = 15

// Precise is the precise_ip field, 0 to 3.
func (f Flags) Precise() int { return int(f>>preciseShift) & 3 }

// WithPrecise returns f with precise_ip set to the low two bits of p.
func (f Flags) WithPrecise(p int) Flags {
	return f&^(flagPrecise0|flagPrecise1) | Flags(p&3)<<preciseShift
}

// SampleType is perf_event_attr.sample_type: which fields a sample carries.
type SampleType uint64

const (
	SampleIP SampleType = 1 << iota
	SampleTID
	SampleTime
	SampleAddr
	SampleRead
	SampleCallchain
	SampleID
	SampleCPU
	SamplePeriod
	SampleStreamID
	SampleRaw
	SampleBranchStack
	SampleRegsUser
	SampleStackUser
	SampleWeight
	SampleDataSrc
	SampleIdentifier
	SampleTransaction
	SampleRegsIntr
	SamplePhysAddr
	SampleAux
	SampleCgroup
	SampleDataPageSize
	SampleCodePageSize
	SampleWeightStruct
)

// ReadFormat is perf_event_attr.read_format.
type ReadFormat uint64

const (
	ReadTotalTimeEnabled ReadFormat = 1 << iota
	ReadTotalTimeRunning
	ReadID
	ReadGroup
	ReadLost
)

// BranchSampleType is perf_event_attr.branch_sample_type; only the bits that
// change a layout have names.
type BranchSampleType uint64

const (
	BranchCallStack BranchSampleType = 1 << 11
	BranchHWIndex   BranchSampleType = 1 << 17
	BranchCounters  BranchSampleType = 1 << 19
)

// Software events, perf_event_attr.config of TypeSoftware.
const (
	SWCPUClock uint64 = iota
	SWTaskClock
	SWPageFaults
	SWContextSwitches
	SWCPUMigrations
	SWPageFaultsMin
	SWPageFaultsMaj
	SWAlignmentFaults
	SWEmulationFaults
	SWDummy
	SWBPFOutput
	SWCgroupSwitches
)

// Hardware events, the low 32 bits of perf_event_attr.config of TypeHardware.
// The high 32 name the PMU on hybrid machines.
const (
	HWCPUCycles uint64 = iota
	HWInstructions
	HWCacheReferences
	HWCacheMisses
	HWBranchInstructions
	HWBranchMisses
	HWBusCycles
	HWStalledCyclesFrontend
	HWStalledCyclesBackend
	HWRefCPUCycles
)

// AppendTo appends a in its 136-byte form (Linux 6.3) to b, or in the 144-byte
// form when Config4 is set.
func (a *Attr) AppendTo(b []byte, o Order) []byte {
	size := uint32(AttrSizeVer8)
	if a.Config4 != 0 {
		size = AttrSizeVer9
	}
	b = o.AppendUint32(b, uint32(a.Type))
	b = o.AppendUint32(b, size)
	b = o.AppendUint64(b, a.Config)
	b = o.AppendUint64(b, a.SamplePeriod)
	b = o.AppendUint64(b, uint64(a.SampleType))
	b = o.AppendUint64(b, uint64(a.ReadFormat))
	b = o.AppendUint64(b, flagsToWire(a.Flags, o))
	b = o.AppendUint32(b, a.Wakeup)
	b = o.AppendUint32(b, a.BPType)
	b = o.AppendUint64(b, a.Config1)
	b = o.AppendUint64(b, a.Config2)
	b = o.AppendUint64(b, uint64(a.BranchSampleType))
	b = o.AppendUint64(b, a.SampleRegsUser)
	b = o.AppendUint32(b, a.SampleStackUser)
	b = o.AppendUint32(b, uint32(a.ClockID))
	b = o.AppendUint64(b, a.SampleRegsIntr)
	b = o.AppendUint32(b, a.AuxWatermark)
	b = o.AppendUint16(b, a.SampleMaxStack)
	b = o.AppendUint16(b, 0)
	b = o.AppendUint32(b, a.AuxSampleSize)
	b = o.AppendUint32(b, a.AuxAction)
	b = o.AppendUint64(b, a.SigData)
	b = o.AppendUint64(b, a.Config3)
	if size >= AttrSizeVer9 {
		b = o.AppendUint64(b, a.Config4)
	}
	return b
}

// DecodeAttr reads an attribute that lies at the start of b and returns it with
// the number of bytes it says it has. Fields past that size are zero; bytes
// past what this package knows are skipped. A size of 0 means 64, as in the
// first perf.data files.
func DecodeAttr(b []byte, o Order) (Attr, int, error) {
	var a Attr
	if len(b) < AttrSizeVer0 {
		return a, 0, fmt.Errorf("attribute of %d bytes is shorter than %d", len(b), AttrSizeVer0)
	}
	size := int(o.Uint32(b[4:]))
	if size == 0 {
		size = AttrSizeVer0
	}
	if size < AttrSizeVer0 || size > maxAttrSize {
		return a, 0, fmt.Errorf("attribute says its size is %d, not between %d and %d", size, AttrSizeVer0, maxAttrSize)
	}
	if size > len(b) {
		return a, 0, fmt.Errorf("attribute says its size is %d, but %d bytes are left", size, len(b))
	}
	// Fields past the attribute's size read as zero: copy into a full one.
	var full [AttrSizeVer9]byte
	copy(full[:], b[:size])
	f := full[:]
	a = Attr{
		Type:             Type(o.Uint32(f[0:])),
		Size:             uint32(size),
		Config:           o.Uint64(f[8:]),
		SamplePeriod:     o.Uint64(f[16:]),
		SampleType:       SampleType(o.Uint64(f[24:])),
		ReadFormat:       ReadFormat(o.Uint64(f[32:])),
		Flags:            flagsFromWire(o.Uint64(f[40:]), o),
		Wakeup:           o.Uint32(f[48:]),
		BPType:           o.Uint32(f[52:]),
		Config1:          o.Uint64(f[56:]),
		Config2:          o.Uint64(f[64:]),
		BranchSampleType: BranchSampleType(o.Uint64(f[72:])),
		SampleRegsUser:   o.Uint64(f[80:]),
		SampleStackUser:  o.Uint32(f[88:]),
		ClockID:          int32(o.Uint32(f[92:])),
		SampleRegsIntr:   o.Uint64(f[96:]),
		AuxWatermark:     o.Uint32(f[104:]),
		SampleMaxStack:   o.Uint16(f[108:]),
		AuxSampleSize:    o.Uint32(f[112:]),
		AuxAction:        o.Uint32(f[116:]),
		SigData:          o.Uint64(f[120:]),
		Config3:          o.Uint64(f[128:]),
		Config4:          o.Uint64(f[136:]),
	}
	return a, size, nil
}

// flagsFromWire turns the bit field as read in order o into Flags. Big-endian
// compilers allocate bit fields from the top, so there the first field is the
// highest bit, while precise_ip keeps the order of its own two bits.
func flagsFromWire(v uint64, o Order) Flags {
	if o == LittleEndian {
		return Flags(v)
	}
	f := Flags(bits.Reverse64(v))
	p := f.Precise()
	return f.WithPrecise(p>>1 | p<<1)
}

// flagsToWire is the inverse of flagsFromWire.
func flagsToWire(f Flags, o Order) uint64 {
	if o == LittleEndian {
		return uint64(f)
	}
	p := f.Precise()
	return bits.Reverse64(uint64(f.WithPrecise(p>>1 | p<<1)))
}
