package perfdata

import (
	"bufio"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"time"
)

// WriteHeader writes what the header says, in the form of perf report
// --header-only; full adds the topologies, as its -I does. written is when the
// recording was. What the recording says is written as it is, but for ends of
// lines: whoever shows it on a terminal takes out the rest. In pipe mode the records must have been walked before.
func (r *Reader) WriteHeader(w io.Writer, written time.Time, full bool) error {
	h := headerText{Writer: bufio.NewWriter(w), f: &r.Features, events: r.Events}
	h.line("========")
	h.line("captured on    : %s", written.Format("Mon Jan _2 15:04:05 2006"))
	h.line("header version : %d", r.header.version)
	h.line("data offset    : %d", r.header.data.off)
	h.line("data size      : %d", r.header.data.size)
	h.line("feat offset    : %d", r.header.data.off+r.header.data.size)
	set := &r.header.features
	for id := range set.All() {
		switch {
		case id == FeatureSimpleperfMetaInfo:
			for _, i := range r.Features.MetaInfo {
				h.line("%s : %s", i.Key, i.Value)
			}
		case id == FeatureSimpleperfFile || id == FeatureSimpleperfFile2:
			for _, s := range r.Features.FileSymbols {
				h.line("symbols of %s : %d", s.Path, len(s.Symbols))
			}
		case int(id) >= len(features):
			h.line("%s of %d bytes", id, r.unknownSize(id))
		case fullOnly(id) && !full:
			h.line("%s info available, use -I to display", id)
		default:
			h.feature(id)
		}
	}
	if !r.header.pipe {
		h.WriteString("# missing features: ")
		for id := FeatureTracingData; int(id) < len(features); id++ {
			if !set.Has(id) {
				h.WriteString(id.String() + " ")
			}
		}
		h.WriteByte('\n')
	}
	for _, err := range r.BadFeatures {
		h.line("not readable: %v", err)
	}
	h.line("========")
	h.WriteString("#\n")
	return h.Flush()
}

func fullOnly(id Feature) bool {
	switch id {
	case FeatureCPUTopology, FeatureNUMATopology, FeatureCache, FeatureMemTopology, FeatureHybridTopology, FeatureCPUDomainInfo:
		return true
	}
	return false
}

func (r *Reader) unknownSize(id Feature) int {
	for _, u := range r.Features.Unknown {
		if u.ID == id {
			return len(u.Body)
		}
	}
	return 0
}

// headerText writes features. Errors stick to the Writer.
type headerText struct {
	*bufio.Writer
	f      *Features
	events *EventSet
}

// line writes one line, whatever the text in it: a header that is forged must not
// look like another.
func (h *headerText) line(format string, args ...any) {
	h.WriteString("# " + oneLine(fmt.Sprintf(format, args...)))
	h.WriteByte('\n')
}

var lineEnds = strings.NewReplacer("\n", "; ", "\r", " ")

func oneLine(s string) string { return lineEnds.Replace(s) }

// valueLines are how features that are one value are written.
var valueLines = map[Feature]string{
	FeatureHostname:  "hostname : %s",
	FeatureOSRelease: "os release : %s",
	FeatureVersion:   "perf version : %s",
	FeatureArch:      "arch : %s",
	FeatureCPUDesc:   "cpudesc : %s",
	FeatureCPUID:     "cpuid : %s",
	FeatureTotalMem:  "total memory : %d kB",
	FeatureDirFormat: "directory data version : %d",
	FeatureClnSize:   "cacheline size: %d",
}

func (h *headerText) feature(id Feature) {
	if format, ok := valueLines[id]; ok {
		h.line(format, features[id].value(h.f))
		return
	}
	f := h.f
	switch id {
	case FeatureNrCPUs:
		h.line("nrcpus online : %d", f.CPUs.Online)
		h.line("nrcpus avail : %d", f.CPUs.Available)
	case FeatureCmdline:
		h.line("cmdline : %s ", strings.ReplaceAll(strings.Join(f.Cmdline, " "), "'", `\'`))
	case FeatureEventDesc:
		h.eventDesc()
	case FeatureCPUTopology:
		h.cpuTopology()
	case FeatureNUMATopology:
		for _, n := range f.NUMA {
			h.line("node%d meminfo  : total = %d kB, free = %d kB", n.Node, n.MemTotal, n.MemFree)
			h.line("node%d cpu list : %s", n.Node, n.CPUs)
		}
	case FeatureBranchStack:
		h.line("contains samples with branch stack")
	case FeaturePMUMappings:
		h.pmus()
	case FeatureGroupDesc:
		h.groups()
	case FeatureAuxtrace:
		h.line("contains AUX area data (e.g. instruction trace)")
	case FeatureStat:
		h.line("contains stat data")
	case FeatureCache:
		h.line("CPU cache info:")
		for _, c := range f.Caches {
			h.line(" L%d %-15s %8s [%s]", c.Level, c.Type, c.Size, c.CPUs)
		}
	case FeatureSampleTime:
		h.sampleTime()
	case FeatureMemTopology:
		h.memory()
	case FeatureClockID:
		h.line("clockid frequency: %d MHz", f.ClockRes*1000)
	case FeatureCompressed:
		kind := "Unknown"
		if f.Compressed.Type == 1 {
			kind = "Zstd"
		}
		h.line("compressed : %s, level = %d, ratio = %d", kind, f.Compressed.Level, f.Compressed.Ratio)
	case FeatureCPUPMUCaps:
		h.caps("cpu", f.CPUCaps)
	case FeatureClockData:
		h.clock()
	case FeatureHybridTopology:
		h.line("hybrid cpu system:")
		for _, p := range f.Hybrid {
			h.line("%s cpu list : %s", p.PMU, p.CPUs)
		}
	case FeaturePMUCaps:
		for _, p := range f.PMUCaps {
			h.caps(p.PMU, p.Caps)
		}
	case FeatureEMachine:
		h.line("e_machine : %d", f.Machine.Machine)
		h.line("  e_flags : %d", f.Machine.Flags)
	case FeatureCPUDomainInfo:
		h.schedDomains()
	}
}

func (h *headerText) eventDesc() {
	for i := range h.f.Events {
		e := &h.f.Events[i]
		fmt.Fprintf(h.Writer, "# event : name = %s, ", oneLine(e.Name))
		if len(e.IDs) > 0 {
			h.WriteString(", id = {")
			for j, id := range e.IDs {
				if j > 0 {
					h.WriteByte(',')
				}
				fmt.Fprintf(h.Writer, " %d", id)
			}
			h.WriteString(" }")
		}
		h.WriteString(attrText(&e.Attr) + "\n")
	}
}

func (h *headerText) cpuTopology() {
	t := &h.f.Topology
	for _, l := range []struct {
		what string
		cpus []string
	}{{"sockets", t.Sockets}, {"dies   ", t.Dies}, {"threads", t.Threads}} {
		for _, c := range l.cpus {
			h.line("sibling %s : %s", l.what, c)
		}
	}
	switch {
	case len(t.Dies) > 0 && len(t.CPUs) == 0:
		h.line("Core ID, Die ID and Socket ID information is not available")
	case len(t.CPUs) == 0:
		h.line("Core ID and Socket ID information is not available")
	}
	for i, c := range t.CPUs {
		if len(t.Dies) > 0 {
			h.line("CPU %d: Core ID %d, Die ID %d, Socket ID %d", i, c.Core, c.Die, c.Socket)
		} else {
			h.line("CPU %d: Core ID %d, Socket ID %d", i, c.Core, c.Socket)
		}
	}
}

func (h *headerText) pmus() {
	if len(h.f.PMUs) == 0 {
		h.line("pmu mappings: not available")
		return
	}
	var l []string
	for _, p := range h.f.PMUs {
		l = append(l, fmt.Sprintf("%s = %d", p.Name, p.Type))
	}
	h.line("pmu mappings: %s", strings.Join(l, ", "))
}

func (h *headerText) groups() {
	for _, g := range h.f.Groups {
		var names []string
		for i := uint64(g.Leader); i < uint64(g.Leader)+uint64(g.Members) && i < uint64(len(h.events.Events)); i++ {
			names = append(names, h.events.Events[i].Name)
		}
		name := g.Name
		if name == "{anon_group}" {
			name = ""
		}
		h.line("group: %s{%s}", name, strings.Join(names, ","))
	}
}

func (h *headerText) sampleTime() {
	t := h.f.SampleTime
	h.line("time of first sample : %d.%06d", t.First/1e9, t.First%1e9/1e3)
	h.line("time of last sample : %d.%06d", t.Last/1e9, t.Last%1e9/1e3)
	h.line("sample duration : %10.3f ms", float64(t.Last-t.First)/1e6)
}

func (h *headerText) memory() {
	m := &h.f.Memory
	h.line("memory nodes (nr %d, block size %#x):", len(m.Nodes), m.BlockSize)
	for _, n := range m.Nodes {
		blocks := 0
		for _, w := range n.Blocks {
			blocks += bits.OnesCount64(w)
		}
		h.line(" %3d [%s]: %s", n.Node, sizeText(m.BlockSize*uint64(blocks)), bitList(n.Blocks))
	}
}

// sizeText is perf's unit_number__scnprintf.
func sizeText(n uint64) string {
	unit := 0
	for ; n/1024 > 1 && unit < 3; unit++ {
		n /= 1024
	}
	return fmt.Sprintf("%d%c", n, "BKMG"[unit])
}

// bitList is the bits of a bitmap as a list of ranges, cut as perf cuts it.
func bitList(words []uint64) string {
	const perfBuffer = 100
	var l []string
	at := func(i int) bool { return i < 64*len(words) && words[i/64]>>(i%64)&1 != 0 }
	for i := 0; i < 64*len(words); i++ {
		if !at(i) {
			continue
		}
		from := i
		for at(i + 1) {
			i++
		}
		if from == i {
			l = append(l, fmt.Sprint(i))
		} else {
			l = append(l, fmt.Sprintf("%d-%d", from, i))
		}
	}
	s := strings.Join(l, ",")
	return s[:min(len(s), perfBuffer-1)]
}

func (h *headerText) caps(pmu string, caps []PMUCap) {
	if len(caps) == 0 {
		h.line("%s pmu capabilities: not available", pmu)
		return
	}
	var l []string
	for _, c := range caps {
		l = append(l, c.Name+"="+c.Value)
	}
	h.line("%s pmu capabilities: %s", pmu, strings.Join(l, ", "))
}

// clockNames are those of perf's clockid.c.
var clockNames = map[uint32]string{0: "realtime", 1: "monotonic", 4: "monotonic_raw", 7: "boottime", 11: "tai"}

func (h *headerText) clock() {
	c := &h.f.Clock
	name, ok := clockNames[c.ID]
	if !ok {
		name = "(not found)"
	}
	h.line("clockid: %s (%d)", name, c.ID)
	wall := time.Unix(int64(c.Wall/1e9), int64(c.Wall%1e9))
	h.line("reference time: %s = %d.%06d (TOD) = %d.%09d (%s)", wall.Format("2006-01-02 15:04:05.000000"),
		c.Wall/1e9, c.Wall%1e9/1e3, c.Time/1e9, c.Time%1e9, name)
}
