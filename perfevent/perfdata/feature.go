package perfdata

import (
	"fmt"
	"iter"
	"math/bits"

	"kprof/perfevent/abi"
)

// Feature is the number of a header feature, HEADER_* in
// tools/perf/util/header.h.
type Feature uint8

const (
	FeatureTracingData Feature = iota + 1
	FeatureBuildID
	FeatureHostname
	FeatureOSRelease
	FeatureVersion
	FeatureArch
	FeatureNrCPUs
	FeatureCPUDesc
	FeatureCPUID
	FeatureTotalMem
	FeatureCmdline
	FeatureEventDesc
	FeatureCPUTopology
	FeatureNUMATopology
	FeatureBranchStack
	FeaturePMUMappings
	FeatureGroupDesc
	FeatureAuxtrace
	FeatureStat
	FeatureCache
	FeatureSampleTime
	FeatureMemTopology
	FeatureClockID
	FeatureDirFormat
	FeatureBPFProgInfo
	FeatureBPFBTF
	FeatureCompressed
	FeatureCPUPMUCaps
	FeatureClockData
	FeatureHybridTopology
	FeaturePMUCaps
	FeatureCPUDomainInfo // Linux 7.0
	FeatureEMachine      // 7.1
	FeatureClnSize       // 7.1
)

// String is perf's name of the feature, or its number.
func (f Feature) String() string {
	if int(f) < len(features) && features[f].name != "" {
		return features[f].name
	}
	if name, ok := simpleperfNames[f]; ok {
		return name
	}
	return fmt.Sprintf("feature %d", uint8(f))
}

// FeatureSet is the 256-bit set of features in a perf.data header, lowest
// feature first.
type FeatureSet [4]uint64

// Has reports whether f is in the set.
func (s *FeatureSet) Has(f Feature) bool { return s[f/64]&(1<<(f%64)) != 0 }

// Add puts f into the set.
func (s *FeatureSet) Add(f Feature) { s[f/64] |= 1 << (f % 64) }

// Len is the number of features in the set.
func (s *FeatureSet) Len() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// All yields the features of the set in ascending order, which is the order of
// their sections in a file.
func (s *FeatureSet) All() iter.Seq[Feature] {
	return func(yield func(Feature) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(Feature(i*64 + bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// Features is everything that the header features of a file say. A zero field
// is a feature that is absent: Set tells which are present, and only those are
// written.
type Features struct {
	Host

	Version      string      // of the tool that recorded
	Cmdline      []string    // program first
	Events       []abi.Event // with ids and names
	Groups       []Group
	TracingData  []byte // see DecodeTracingData
	BuildIDs     []BuildID
	BranchStack  bool // a mere flag
	Stat         bool // a mere flag: the records are those of perf stat
	Auxtrace     []AuxtraceEntry
	SampleTime   SampleTime
	ClockRes     uint64 // resolution of the recording's clock in ns, when it was chosen (perf record -k)
	Clock        Clock
	DirFormat    uint64 // version of a directory of files (perf record --threads)
	Compressed   Compression
	Machine      ELFMachine
	CacheLine    uint32 // bytes
	SchedDomains SchedDomains

	// Of simpleperf, out of its sections among Unknown.
	FileSymbols []FileSymbols
	MetaInfo    []KeyValue

	// Features kept as bytes: perf's own formats of BPF objects, and what
	// this package does not know.
	BPFProgInfo []byte
	BPFBTF      []byte
	Unknown     []RawFeature
}

// Group is a counter group, {a,b}: Members events from index Leader on.
type Group struct {
	Name    string // "{anon_group}" when it has none
	Leader  uint32
	Members uint32
}

// AuxtraceEntry locates AUX area data in a file.
type AuxtraceEntry struct {
	Off, Size uint64
}

// SampleTime holds the times of the first and of the last sample, in ns of the
// recording's clock.
type SampleTime struct {
	First, Last uint64
}

// Clock pairs a reading of the recording's clock with one of the wall clock,
// taken at the same moment.
type Clock struct {
	ID   uint32 // CLOCK_* of clock_gettime(2)
	Wall uint64 // ns since 1970
	Time uint64 // ns of clock ID
}

// Compression describes COMPRESSED records.
type Compression struct {
	Version uint32
	Type    uint32 // 1 is zstd
	Level   uint32
	Ratio   uint32
	MmapLen uint32 // bytes of a ring, which bounds what a record expands to
}

// ELFMachine is e_machine and e_flags of the recording perf.
type ELFMachine struct {
	Machine, Flags uint32
}

// RawFeature is the undecoded body of a feature.
type RawFeature struct {
	ID   Feature
	Body []byte
}

// Set tells which features f holds.
func (f *Features) Set() FeatureSet {
	var s FeatureSet
	for id := range features {
		if has := features[id].has; has != nil && has(f) {
			s.Add(Feature(id))
		}
	}
	for _, r := range f.Unknown {
		if int(r.ID) >= len(features) && r.ID != 0 {
			s.Add(r.ID)
		}
	}
	return s
}

// Decode reads the body of feature id, either a feature section or what follows
// feat_id in a HEADER_FEATURE record, and stores it in f. Features that precede
// id in a file should have been decoded before: CPU_TOPOLOGY needs NRCPUS.
//
// Byte fields of f alias body. The error gives the offset within body; f then
// keeps what it held before. Bytes that follow a complete body are ignored,
// since newer versions of perf append to features.
func (f *Features) Decode(id Feature, body []byte, o abi.Order) error {
	if int(id) >= len(features) || features[id].decode == nil {
		if id == 0 {
			return fmt.Errorf("feature 0 is reserved")
		}
		if err := f.decodeSimpleperf(id, body); err != nil {
			return fmt.Errorf("decode feature %v of %d bytes: %w", id, len(body), err)
		}
		f.Unknown = append(f.Unknown, RawFeature{id, body})
		return nil
	}
	c := cursor{b: body, o: o}
	g := *f
	features[id].decode(&g, &c)
	if c.err != nil {
		return fmt.Errorf("decode feature %v of %d bytes: %w", id, len(body), c.err)
	}
	*f = g
	return nil
}

// Append appends the body of feature id to b. A feature that f does not hold
// has an empty body.
func (f *Features) Append(b []byte, id Feature, o abi.Order) []byte {
	if int(id) < len(features) {
		if c := features[id]; c.append != nil && c.has(f) {
			e := encoder{b: b, o: o}
			c.append(f, &e)
			return e.b
		}
		return b
	}
	for _, r := range f.Unknown {
		if r.ID == id {
			return append(b, r.Body...)
		}
	}
	return b
}

// featureCodec is what there is to know about one feature.
type featureCodec struct {
	name   string // as perf prints it
	has    func(*Features) bool
	append func(*Features, *encoder)
	decode func(*Features, *cursor)
	pipe   bool // perf accepts it as a HEADER_FEATURE record
}

var features = [...]featureCodec{
	FeatureTracingData: rawFeature("TRACING_DATA", func(f *Features) *[]byte { return &f.TracingData }, false),
	FeatureBuildID: {
		name:   "BUILD_ID",
		has:    func(f *Features) bool { return len(f.BuildIDs) > 0 },
		append: func(f *Features, e *encoder) { e.buildIDs(f.BuildIDs) },
		decode: func(f *Features, c *cursor) { f.BuildIDs = c.buildIDs() },
	},
	FeatureHostname:  stringFeature("HOSTNAME", func(f *Features) *string { return &f.Hostname }),
	FeatureOSRelease: stringFeature("OSRELEASE", func(f *Features) *string { return &f.OSRelease }),
	FeatureVersion:   stringFeature("VERSION", func(f *Features) *string { return &f.Version }),
	FeatureArch:      stringFeature("ARCH", func(f *Features) *string { return &f.Arch }),
	FeatureNrCPUs: {
		name:   "NRCPUS",
		has:    func(f *Features) bool { return f.CPUs != CPUCount{} },
		append: func(f *Features, e *encoder) { e.u32(f.CPUs.Available); e.u32(f.CPUs.Online) },
		decode: func(f *Features, c *cursor) { f.CPUs = CPUCount{Available: c.u32(), Online: c.u32()} },
		pipe:   true,
	},
	FeatureCPUDesc: stringFeature("CPUDESC", func(f *Features) *string { return &f.CPUDesc }),
	FeatureCPUID:   stringFeature("CPUID", func(f *Features) *string { return &f.CPUID }),
	FeatureTotalMem: {
		name:   "TOTAL_MEM",
		has:    func(f *Features) bool { return f.TotalMem != 0 },
		append: func(f *Features, e *encoder) { e.u64(f.TotalMem) },
		decode: func(f *Features, c *cursor) { f.TotalMem = c.u64() },
		pipe:   true,
	},
	FeatureCmdline: {
		name:   "CMDLINE",
		has:    func(f *Features) bool { return len(f.Cmdline) > 0 },
		append: func(f *Features, e *encoder) { e.strings(f.Cmdline) },
		decode: func(f *Features, c *cursor) { f.Cmdline = c.strings() },
		pipe:   true,
	},
	FeatureEventDesc: {
		name:   "EVENT_DESC",
		has:    func(f *Features) bool { return len(f.Events) > 0 },
		append: func(f *Features, e *encoder) { e.eventDesc(f.Events) },
		decode: func(f *Features, c *cursor) { f.Events = c.eventDesc() },
		pipe:   true,
	},
	FeatureCPUTopology: {
		name: "CPU_TOPOLOGY",
		has: func(f *Features) bool {
			t := &f.Topology
			return len(t.Sockets)+len(t.Dies)+len(t.Threads)+len(t.CPUs) > 0
		},
		append: func(f *Features, e *encoder) { e.cpuTopology(&f.Topology) },
		decode: func(f *Features, c *cursor) { f.Topology = c.cpuTopology(f.CPUs.Available) },
		pipe:   true,
	},
	FeatureNUMATopology: {
		name:   "NUMA_TOPOLOGY",
		has:    func(f *Features) bool { return len(f.NUMA) > 0 },
		append: func(f *Features, e *encoder) { e.numa(f.NUMA) },
		decode: func(f *Features, c *cursor) { f.NUMA = c.numa() },
		pipe:   true,
	},
	FeatureBranchStack: flagFeature("BRANCH_STACK", func(f *Features) *bool { return &f.BranchStack }),
	FeaturePMUMappings: {
		name:   "PMU_MAPPINGS",
		has:    func(f *Features) bool { return len(f.PMUs) > 0 },
		append: func(f *Features, e *encoder) { e.pmus(f.PMUs) },
		decode: func(f *Features, c *cursor) { f.PMUs = c.pmus() },
		pipe:   true,
	},
	FeatureGroupDesc: {
		name:   "GROUP_DESC",
		has:    func(f *Features) bool { return len(f.Groups) > 0 },
		append: func(f *Features, e *encoder) { e.groups(f.Groups) },
		decode: func(f *Features, c *cursor) { f.Groups = c.groups() },
		pipe:   true,
	},
	FeatureAuxtrace: {
		name:   "AUXTRACE",
		has:    func(f *Features) bool { return len(f.Auxtrace) > 0 },
		append: func(f *Features, e *encoder) { e.auxtrace(f.Auxtrace) },
		decode: func(f *Features, c *cursor) { f.Auxtrace = c.auxtrace() },
	},
	FeatureStat: flagFeature("STAT", func(f *Features) *bool { return &f.Stat }),
	FeatureCache: {
		name:   "CACHE",
		has:    func(f *Features) bool { return len(f.Caches) > 0 },
		append: func(f *Features, e *encoder) { e.caches(f.Caches) },
		decode: func(f *Features, c *cursor) { f.Caches = c.caches() },
	},
	FeatureSampleTime: {
		name:   "SAMPLE_TIME",
		has:    func(f *Features) bool { return f.SampleTime != SampleTime{} },
		append: func(f *Features, e *encoder) { e.u64(f.SampleTime.First); e.u64(f.SampleTime.Last) },
		decode: func(f *Features, c *cursor) { f.SampleTime = SampleTime{First: c.u64(), Last: c.u64()} },
		pipe:   true,
	},
	FeatureMemTopology: {
		name:   "MEM_TOPOLOGY",
		has:    func(f *Features) bool { return f.Memory.BlockSize != 0 || len(f.Memory.Nodes) > 0 },
		append: func(f *Features, e *encoder) { e.memory(&f.Memory) },
		decode: func(f *Features, c *cursor) { f.Memory = c.memory() },
		pipe:   true,
	},
	FeatureClockID: {
		name:   "CLOCKID",
		has:    func(f *Features) bool { return f.ClockRes != 0 },
		append: func(f *Features, e *encoder) { e.u64(f.ClockRes) },
		decode: func(f *Features, c *cursor) { f.ClockRes = c.u64() },
		pipe:   true,
	},
	FeatureDirFormat: {
		name:   "DIR_FORMAT",
		has:    func(f *Features) bool { return f.DirFormat != 0 },
		append: func(f *Features, e *encoder) { e.u64(f.DirFormat) },
		decode: func(f *Features, c *cursor) { f.DirFormat = c.u64() },
	},
	FeatureBPFProgInfo: rawFeature("BPF_PROG_INFO", func(f *Features) *[]byte { return &f.BPFProgInfo }, true),
	FeatureBPFBTF:      rawFeature("BPF_BTF", func(f *Features) *[]byte { return &f.BPFBTF }, true),
	FeatureCompressed: {
		name: "COMPRESSED",
		has:  func(f *Features) bool { return f.Compressed != Compression{} },
		append: func(f *Features, e *encoder) {
			c := f.Compressed
			for _, v := range []uint32{c.Version, c.Type, c.Level, c.Ratio, c.MmapLen} {
				e.u32(v)
			}
		},
		decode: func(f *Features, c *cursor) {
			f.Compressed = Compression{Version: c.u32(), Type: c.u32(), Level: c.u32(), Ratio: c.u32(), MmapLen: c.u32()}
		},
		pipe: true,
	},
	FeatureCPUPMUCaps: {
		name:   "CPU_PMU_CAPS",
		has:    func(f *Features) bool { return len(f.CPUCaps) > 0 },
		append: func(f *Features, e *encoder) { e.caps(f.CPUCaps) },
		decode: func(f *Features, c *cursor) { f.CPUCaps = c.caps() },
		pipe:   true,
	},
	FeatureClockData: {
		name: "CLOCK_DATA",
		has:  func(f *Features) bool { return f.Clock != Clock{} },
		append: func(f *Features, e *encoder) {
			e.u32(1)
			e.u32(f.Clock.ID)
			e.u64(f.Clock.Wall)
			e.u64(f.Clock.Time)
		},
		decode: func(f *Features, c *cursor) {
			c.version(uint64(c.u32()), 1)
			f.Clock = Clock{ID: c.u32(), Wall: c.u64(), Time: c.u64()}
		},
		pipe: true,
	},
	FeatureHybridTopology: {
		name:   "HYBRID_TOPOLOGY",
		has:    func(f *Features) bool { return len(f.Hybrid) > 0 },
		append: func(f *Features, e *encoder) { e.hybrid(f.Hybrid) },
		decode: func(f *Features, c *cursor) { f.Hybrid = c.hybrid() },
	},
	FeaturePMUCaps: {
		name:   "PMU_CAPS",
		has:    func(f *Features) bool { return len(f.PMUCaps) > 0 },
		append: func(f *Features, e *encoder) { e.pmuCaps(f.PMUCaps) },
		decode: func(f *Features, c *cursor) { f.PMUCaps = c.pmuCaps() },
		pipe:   true,
	},
	FeatureCPUDomainInfo: {
		name:   "CPU_DOMAIN_INFO",
		has:    func(f *Features) bool { return f.SchedDomains.Version != 0 },
		append: func(f *Features, e *encoder) { e.schedDomains(&f.SchedDomains) },
		decode: func(f *Features, c *cursor) { f.SchedDomains = c.schedDomains() },
		pipe:   true,
	},
	FeatureEMachine: {
		name:   "E_MACHINE",
		has:    func(f *Features) bool { return f.Machine != ELFMachine{} },
		append: func(f *Features, e *encoder) { e.u32(f.Machine.Machine); e.u32(f.Machine.Flags) },
		decode: func(f *Features, c *cursor) { f.Machine = ELFMachine{Machine: c.u32(), Flags: c.u32()} },
		pipe:   true,
	},
	FeatureClnSize: {
		name:   "CLN_SIZE",
		has:    func(f *Features) bool { return f.CacheLine != 0 },
		append: func(f *Features, e *encoder) { e.u32(f.CacheLine) },
		decode: func(f *Features, c *cursor) { f.CacheLine = c.u32() },
		pipe:   true,
	},
}

func stringFeature(name string, field func(*Features) *string) featureCodec {
	return featureCodec{
		name:   name,
		has:    func(f *Features) bool { return *field(f) != "" },
		append: func(f *Features, e *encoder) { e.string(*field(f)) },
		decode: func(f *Features, c *cursor) { *field(f) = c.string() },
		pipe:   true,
	}
}

// flagFeature is a feature without a body.
func flagFeature(name string, field func(*Features) *bool) featureCodec {
	return featureCodec{
		name:   name,
		has:    func(f *Features) bool { return *field(f) },
		append: func(*Features, *encoder) {},
		decode: func(f *Features, _ *cursor) { *field(f) = true },
	}
}

func rawFeature(name string, field func(*Features) *[]byte, pipe bool) featureCodec {
	return featureCodec{
		name:   name,
		has:    func(f *Features) bool { return len(*field(f)) > 0 },
		append: func(f *Features, e *encoder) { e.b = append(e.b, *field(f)...) },
		decode: func(f *Features, c *cursor) { *field(f) = c.take(len(c.b)) },
		pipe:   pipe,
	}
}
