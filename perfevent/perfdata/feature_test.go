package perfdata

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kprof/perfevent/abi"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
)

// fullFeatures has something in every field.
func fullFeatures() Features {
	return Features{
		Host: Host{
			Hostname: "box", OSRelease: "6.1.0", Arch: "x86_64",
			CPUDesc: "A Processor", CPUID: "GenuineIntel,6,85,7",
			CPUs: CPUCount{Available: 2, Online: 1}, TotalMem: 1 << 20,
			Topology: CPUTopology{
				Sockets: []string{"0-1"}, Dies: []string{"0-1"}, Threads: []string{"0", "1"},
				CPUs: []CPUPlace{{Core: 0}, {Core: 1, Socket: -1, Die: 3}},
			},
			NUMA:    []NUMANode{{Node: 1, MemTotal: 10, MemFree: 5, CPUs: "0-1"}},
			PMUs:    []PMU{{Type: 1, Name: "software"}, {Type: 8, Name: "uprobe"}},
			Caches:  []Cache{{Level: 1, LineSize: 64, Sets: 64, Ways: 8, Type: "Data", Size: "32K", CPUs: "0"}},
			Memory:  MemoryMap{BlockSize: 1 << 27, Nodes: []MemoryNode{{Node: 0, Bits: 65, Blocks: []uint64{5, 1}}}},
			CPUCaps: []PMUCap{{Name: "max_precise", Value: "3"}},
			PMUCaps: []PMUCaps{{PMU: "cpu_atom", Caps: []PMUCap{{Name: "branches", Value: "32"}}}},
			Hybrid:  []HybridPMU{{PMU: "cpu_core", CPUs: "0"}},
		},
		Version: "1.0",
		Cmdline: []string{"kprof", "record", strings.Repeat("x", 200)},
		Events: []abi.Event{
			{Name: "cpu-clock", Attr: abi.Attr{Size: 128, Type: abi.TypeSoftware, SampleType: abi.SampleIP}, IDs: []uint64{7, 8}},
			{Name: "dummy:u", Attr: abi.Attr{Size: 128, Type: abi.TypeSoftware, Config: abi.SWDummy, Flags: abi.FlagMmap2}},
		},
		Groups:      []Group{{Name: "{anon_group}", Leader: 0, Members: 2}},
		TracingData: []byte("tracing"),
		BuildIDs: []BuildID{
			{Misc: abi.MiscKernel, PID: -1, ID: []byte("0123456789abcdefghij"), Name: "[kernel.kallsyms]"},
			{Misc: abi.MiscUser, PID: -1, ID: []byte("short"), Name: "/bin/true"},
		},
		BranchStack: true, Stat: true,
		Auxtrace:   []AuxtraceEntry{{Off: 1, Size: 2}},
		SampleTime: SampleTime{First: 3, Last: 4}, ClockRes: 1,
		Clock:     Clock{ID: 1, Wall: 2, Time: 3},
		DirFormat: 1, Compressed: Compression{Version: 1, Type: 1, Level: 1, Ratio: 4, MmapLen: 528384},
		Machine: ELFMachine{Machine: 62}, CacheLine: 64,
		BPFProgInfo: []byte("prog"), BPFBTF: []byte("btf"), SchedDomains: SchedDomains{Version: 17, Max: 2, CPUs: []CPUDomains{{0, []SchedDomain{{0, "MC", "3", "0-1"}}}, {1, nil}}},
		Unknown: []RawFeature{{ID: 200, Body: []byte("what")}},
	}
}

func TestFeaturesRoundTrip(t *testing.T) {
	want := fullFeatures()
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		var got Features
		set := want.Set()
		if set.Len() != len(features) { // all but number 0, and an unknown one
			t.Errorf("%v: %d features in the set, want %d", o, set.Len(), len(features))
		}
		for id := range set.All() {
			if err := got.Decode(id, want.Append(nil, id, o), o); err != nil {
				t.Errorf("%v: %v", o, err)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v: -want +got\n%s", o, d)
		}
	}
}

// A body cut short anywhere is an error or a prefix, never a panic, and leaves
// what was there.
func TestFeatureTruncated(t *testing.T) {
	full := fullFeatures()
	set := full.Set()
	for id := range set.All() {
		body := full.Append(nil, id, abi.LittleEndian)
		for n := range body {
			f := full
			if err := f.Decode(id, body[:n], abi.LittleEndian); err != nil && !cmp.Equal(f, full) {
				t.Errorf("%v cut at %d changed features though it failed: %v", id, n, err)
			}
		}
	}
}

func TestFeatureLengths(t *testing.T) {
	for id := range features {
		for _, word := range []uint32{1 << 31, 1<<32 - 1, 1 << 20} {
			body := bytes.Repeat(abi.LittleEndian.AppendUint32(nil, word), 16)
			var f Features
			f.CPUs.Available = word
			n := testing.AllocsPerRun(1, func() { _ = f.Decode(Feature(id), body, abi.LittleEndian) })
			if n > 50 {
				t.Errorf("%v: %v allocations for %d bytes", Feature(id), n, len(body))
			}
		}
	}
}

// Lists of empty elements, which no machine has, are refused before they take a
// multiple of the file.
func TestFeatureListMemory(t *testing.T) {
	const size = 16 << 20
	for id, element := range map[Feature]uint32{FeatureCmdline: 4, FeatureCPUPMUCaps: 8, FeaturePMUCaps: 8, FeaturePMUMappings: 8, FeatureHybridTopology: 8} {
		body := make([]byte, size)
		abi.LittleEndian.AppendUint32(body[:0], size/element-1)
		var f Features
		err := f.Decode(id, body, abi.LittleEndian)
		if strconv.IntSize == 32 && err == nil {
			continue // elements take half as much there
		}
		if err == nil || !strings.Contains(err.Error(), "too many") {
			t.Errorf("%v: error %v", id, err)
		}
		abi.LittleEndian.AppendUint32(body[:0], 1000)
		if err := f.Decode(id, body, abi.LittleEndian); err != nil {
			t.Errorf("%v: 1000 elements: %v", id, err)
		}
	}
}

func TestBuildIDForms(t *testing.T) {
	o := abi.LittleEndian
	id := []byte("0123456789abcdef\x00\x00\x00\x00")
	entry := func(misc abi.Misc, pid bool, id []byte, name string) []byte {
		n := 24 + 8 + 64
		if pid {
			n += 4
		}
		b := abi.Header{Misc: misc, Size: uint16(n)}.AppendTo(nil, o)
		if pid {
			b = o.AppendUint32(b, 1<<32-1)
		}
		b = append(b, id...)
		b = append(b, make([]byte, 24-len(id))...)
		b = append(b, name...)
		return append(b, make([]byte, n-len(b))...)
	}
	sized := entry(abi.MiscUser|miscBuildIDSize, true, id, "/bin/a")
	sized[12+20] = 20
	tests := []struct {
		name string
		in   []byte
		want []BuildID
	}{
		{"without size", entry(abi.MiscUser, true, id, "/bin/a"), []BuildID{{abi.MiscUser, -1, id[:16], "/bin/a"}}},
		{"with size", sized, []BuildID{{abi.MiscUser, -1, id, "/bin/a"}}},
		{
			"without pid",
			append(entry(abi.MiscKernel, false, id, "[kernel.kallsyms]"), entry(abi.MiscGuestUser, false, id, "/bin/b")...),
			[]BuildID{{abi.MiscKernel, -1, id[:16], "[kernel.kallsyms]"}, {abi.MiscGuestUser, 0, id[:16], "/bin/b"}},
		},
	}
	for _, tt := range tests {
		var f Features
		if err := f.Decode(FeatureBuildID, tt.in, o); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if d := cmp.Diff(tt.want, f.BuildIDs); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
	}
}

func FuzzFeature(f *testing.F) {
	fuzztest.Add(f)
	full := fullFeatures()
	set := full.Set()
	for id := range set.All() {
		f.Add(uint8(id), uint32(2), false, full.Append(nil, id, abi.LittleEndian))
		f.Add(uint8(id), uint32(2), true, full.Append(nil, id, abi.BigEndian))
	}
	for id, body := range simpleperfBodies() {
		f.Add(uint8(id), uint32(2), false, []byte(body))
	}
	for _, name := range corpusFiles() {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for id, body := range fileFeatures(b) {
			f.Add(uint8(id), uint32(2), false, body)
		}
	}
	f.Fuzz(func(t *testing.T, id uint8, cpus uint32, big bool, body []byte) {
		defer memtest.Within(t, 16<<20+1000*len(body))()
		o := abi.LittleEndian
		if big {
			o = abi.BigEndian
		}
		var a, b Features
		a.CPUs.Available, b.CPUs.Available = cpus, cpus
		if a.Decode(Feature(id), body, o) != nil {
			return
		}
		again := a.Append(nil, Feature(id), o)
		if len(again) == 0 && len(a.Unknown) == 0 {
			return // an empty feature is not written
		}
		if len(again) > 80*len(body)+1000 {
			t.Fatalf("%d bytes encoded from %d", len(again), len(body))
		}
		if err := b.Decode(Feature(id), again, o); err != nil {
			t.Fatalf("decode what was encoded: %v", err)
		}
		// The attributes of events are written in the size that holds them all.
		if d := cmp.Diff(a, b, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(abi.Attr{}, "Size")); d != "" {
			t.Fatalf("-first +second\n%s", d)
		}
	})
}

// corpusFiles are small recordings for seeds, where there are any.
func corpusFiles() []string {
	l, _ := filepath.Glob("testdata/*.data")
	return l
}

// fileFeatures are the feature bodies of a little-endian perf.data file.
func fileFeatures(file []byte) map[Feature][]byte {
	r := bytes.NewReader(file)
	h, err := readFileHeader(r, abi.LittleEndian, int64(len(file)))
	if err != nil {
		return nil
	}
	l := map[Feature][]byte{}
	set := FeatureSet(h.features)
	at := h.data.off + h.data.size
	for id := range set.All() {
		if at+16 > uint64(len(file)) {
			break
		}
		off, size := h.order.Uint64(file[at:]), h.order.Uint64(file[at+8:])
		if off <= uint64(len(file)) && size <= uint64(len(file))-off {
			l[id] = file[off : off+size]
		}
		at += 16
	}
	return l
}

// TestAuxtraceOfSimpleperf: without the number of entries, as of simpleperf; with it, as of perf, and
// where it is not true.
func TestAuxtraceOfSimpleperf(t *testing.T) {
	words := func(w ...uint64) (b []byte) {
		for _, v := range w {
			b = abi.BigEndian.AppendUint64(b, v)
		}
		return b
	}
	for _, c := range []struct {
		body []byte
		want []AuxtraceEntry
		ok   bool
	}{
		{words(9896, 48, 12000, 48), []AuxtraceEntry{{9896, 48}, {12000, 48}}, true},
		{words(2, 9896, 48, 12000, 48), []AuxtraceEntry{{9896, 48}, {12000, 48}}, true},
		{words(0), nil, true},
		{words(3, 9896, 48, 12000, 48), nil, false},
		{words(9896, 48)[:12], nil, false},
	} {
		var f Features
		if err := f.Decode(FeatureAuxtrace, c.body, abi.BigEndian); (err == nil) != c.ok || !cmp.Equal(f.Auxtrace, c.want) {
			t.Errorf("%x: %v, %v", c.body, f.Auxtrace, err)
		}
	}
}

// TestNoCaches: the list of caches is in a file, as perf writes it, where the machine says of
// none; and not where it is not known.
func TestNoCaches(t *testing.T) {
	var f Features
	if got := f.Append(nil, FeatureCache, abi.LittleEndian); got != nil {
		t.Errorf("unknown: %v", got)
	}
	empty := []byte{1, 0, 0, 0, 0, 0, 0, 0} // as perf 6.1 wrote it: a version, and no element
	if err := f.Decode(FeatureCache, empty, abi.LittleEndian); err != nil {
		t.Fatal(err)
	}
	if got := f.Append(nil, FeatureCache, abi.LittleEndian); !bytes.Equal(got, empty) {
		t.Errorf("%v, want %v", got, empty)
	}
}

// TestFeatureEmpty: a section of no bytes, as perf 3.14 wrote of CPUDESC on ARM, is no error and
// says nothing; it has a meaning of its own where being there is all.
func TestFeatureEmpty(t *testing.T) {
	var f Features
	for id := Feature(1); int(id) < len(features); id++ {
		if err := f.Decode(id, nil, abi.LittleEndian); err != nil {
			t.Errorf("%v: %v", id, err)
		}
	}
	if f.CPUDesc != "" || !f.BranchStack {
		t.Errorf("cpu %q, branches %v", f.CPUDesc, f.BranchStack)
	}
}
