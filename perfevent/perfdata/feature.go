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
// since newer versions of perf append to features. An empty body says nothing, and is
// no error: perf 3.14 wrote a CPUDESC of none on ARM.
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
	if c.err != nil && len(body) == 0 {
		return nil
	}
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

	value func(*Features) any // of one that is a single value
}

var features = [...]featureCodec{
	FeatureTracingData: rawFeature("TRACING_DATA", func(f *Features) *[]byte { return &f.TracingData }).inFiles(),
	FeatureBuildID:     listFeature("BUILD_ID", func(f *Features) *[]BuildID { return &f.BuildIDs }, (*encoder).buildIDs, (*cursor).buildIDs).inFiles(),
	FeatureHostname:    valueFeature("HOSTNAME", func(f *Features) *string { return &f.Hostname }, (*encoder).string, (*cursor).string),
	FeatureOSRelease:   valueFeature("OSRELEASE", func(f *Features) *string { return &f.OSRelease }, (*encoder).string, (*cursor).string),
	FeatureVersion:     valueFeature("VERSION", func(f *Features) *string { return &f.Version }, (*encoder).string, (*cursor).string),
	FeatureArch:        valueFeature("ARCH", func(f *Features) *string { return &f.Arch }, (*encoder).string, (*cursor).string),
	FeatureNrCPUs:      valueFeature("NRCPUS", func(f *Features) *CPUCount { return &f.CPUs }, (*encoder).cpuCount, (*cursor).cpuCount),
	FeatureCPUDesc:     valueFeature("CPUDESC", func(f *Features) *string { return &f.CPUDesc }, (*encoder).string, (*cursor).string),
	FeatureCPUID:       valueFeature("CPUID", func(f *Features) *string { return &f.CPUID }, (*encoder).string, (*cursor).string),
	FeatureTotalMem:    valueFeature("TOTAL_MEM", func(f *Features) *uint64 { return &f.TotalMem }, (*encoder).u64, (*cursor).u64),
	FeatureCmdline:     listFeature("CMDLINE", func(f *Features) *[]string { return &f.Cmdline }, (*encoder).strings, (*cursor).strings),
	FeatureEventDesc:   listFeature("EVENT_DESC", func(f *Features) *[]abi.Event { return &f.Events }, (*encoder).eventDesc, (*cursor).eventDesc),
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
	FeatureNUMATopology: listFeature("NUMA_TOPOLOGY", func(f *Features) *[]NUMANode { return &f.NUMA }, (*encoder).numa, (*cursor).numa),
	FeatureBranchStack:  flagFeature("BRANCH_STACK", func(f *Features) *bool { return &f.BranchStack }).inFiles(),
	FeaturePMUMappings:  listFeature("PMU_MAPPINGS", func(f *Features) *[]PMU { return &f.PMUs }, (*encoder).pmus, (*cursor).pmus),
	FeatureGroupDesc:    listFeature("GROUP_DESC", func(f *Features) *[]Group { return &f.Groups }, (*encoder).groups, (*cursor).groups),
	FeatureAuxtrace:     listFeature("AUXTRACE", func(f *Features) *[]AuxtraceEntry { return &f.Auxtrace }, (*encoder).auxtrace, (*cursor).auxtrace).inFiles(),
	FeatureStat:         flagFeature("STAT", func(f *Features) *bool { return &f.Stat }).inFiles(),
	FeatureCache:        cacheFeature(),
	FeatureSampleTime:   valueFeature("SAMPLE_TIME", func(f *Features) *SampleTime { return &f.SampleTime }, (*encoder).sampleTime, (*cursor).sampleTime),
	FeatureMemTopology: {
		name:   "MEM_TOPOLOGY",
		has:    func(f *Features) bool { return f.Memory.BlockSize != 0 || len(f.Memory.Nodes) > 0 },
		append: func(f *Features, e *encoder) { e.memory(&f.Memory) },
		decode: func(f *Features, c *cursor) { f.Memory = c.memory() },
		pipe:   true,
	},
	FeatureClockID:        valueFeature("CLOCKID", func(f *Features) *uint64 { return &f.ClockRes }, (*encoder).u64, (*cursor).u64),
	FeatureDirFormat:      valueFeature("DIR_FORMAT", func(f *Features) *uint64 { return &f.DirFormat }, (*encoder).u64, (*cursor).u64).inFiles(),
	FeatureBPFProgInfo:    rawFeature("BPF_PROG_INFO", func(f *Features) *[]byte { return &f.BPFProgInfo }),
	FeatureBPFBTF:         rawFeature("BPF_BTF", func(f *Features) *[]byte { return &f.BPFBTF }),
	FeatureCompressed:     valueFeature("COMPRESSED", func(f *Features) *Compression { return &f.Compressed }, (*encoder).compression, (*cursor).compression),
	FeatureCPUPMUCaps:     listFeature("CPU_PMU_CAPS", func(f *Features) *[]PMUCap { return &f.CPUCaps }, (*encoder).caps, (*cursor).caps),
	FeatureClockData:      valueFeature("CLOCK_DATA", func(f *Features) *Clock { return &f.Clock }, (*encoder).clock, (*cursor).clock),
	FeatureHybridTopology: listFeature("HYBRID_TOPOLOGY", func(f *Features) *[]HybridPMU { return &f.Hybrid }, (*encoder).hybrid, (*cursor).hybrid).inFiles(),
	FeaturePMUCaps:        listFeature("PMU_CAPS", func(f *Features) *[]PMUCaps { return &f.PMUCaps }, (*encoder).pmuCaps, (*cursor).pmuCaps),
	FeatureCPUDomainInfo: {
		name:   "CPU_DOMAIN_INFO",
		has:    func(f *Features) bool { return f.SchedDomains.Version != 0 },
		append: func(f *Features, e *encoder) { e.schedDomains(&f.SchedDomains) },
		decode: func(f *Features, c *cursor) { f.SchedDomains = c.schedDomains() },
		pipe:   true,
	},
	FeatureEMachine: valueFeature("E_MACHINE", func(f *Features) *ELFMachine { return &f.Machine }, (*encoder).elfMachine, (*cursor).elfMachine),
	FeatureClnSize:  valueFeature("CLN_SIZE", func(f *Features) *uint32 { return &f.CacheLine }, (*encoder).u32, (*cursor).u32),
}

// valueFeature is a feature that there is where a field of Features is not zero.
func valueFeature[T comparable](name string, field func(*Features) *T, write func(*encoder, T), read func(*cursor) T) featureCodec {
	var zero T
	return featureCodec{
		name:   name,
		has:    func(f *Features) bool { return *field(f) != zero },
		append: func(f *Features, e *encoder) { write(e, *field(f)) },
		decode: func(f *Features, c *cursor) { *field(f) = read(c) },
		pipe:   true,
		value:  func(f *Features) any { return *field(f) },
	}
}

// listFeature is a feature that there is where a field of Features has elements.
func listFeature[T any](name string, field func(*Features) *[]T, write func(*encoder, []T), read func(*cursor) []T) featureCodec {
	return featureCodec{
		name:   name,
		has:    func(f *Features) bool { return len(*field(f)) > 0 },
		append: func(f *Features, e *encoder) { write(e, *field(f)) },
		decode: func(f *Features, c *cursor) { *field(f) = read(c) },
		pipe:   true,
	}
}

// cacheFeature is a list that perf writes even without elements, as on a virtual machine that
// does not say what caches it has: it is there unless it is nil.
func cacheFeature() featureCodec {
	c := listFeature("CACHE", func(f *Features) *[]Cache { return &f.Caches }, (*encoder).caches, (*cursor).caches).inFiles()
	c.has = func(f *Features) bool { return f.Caches != nil }
	return c
}

// flagFeature is a feature without a body.
func flagFeature(name string, field func(*Features) *bool) featureCodec {
	return valueFeature(name, field, func(*encoder, bool) {}, func(*cursor) bool { return true })
}

// rawFeature is a feature that is not looked into.
func rawFeature(name string, field func(*Features) *[]byte) featureCodec {
	return listFeature(name, field, func(e *encoder, b []byte) { e.b = append(e.b, b...) }, func(c *cursor) []byte { return c.take(len(c.b)) })
}

// inFiles is c where perf does not accept it as a record of pipe mode.
func (c featureCodec) inFiles() featureCodec {
	c.pipe = false
	return c
}
