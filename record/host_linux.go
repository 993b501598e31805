package record

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/procfs"
)

// ReadHost reads what a recording says of its machine from uname(2), /proc and
// /sys, in the form of perf's header features. What this machine or this user
// cannot see is left empty.
func ReadHost() perfdata.Host {
	h := perfdata.Host{
		CPUs:     readCPUCount(),
		TotalMem: meminfo("/proc/meminfo", "MemTotal:"),
		NUMA:     readNUMA(),
		PMUs:     readPMUs(),
		Memory:   readMemoryMap(),
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Hostname = unix.ByteSliceToString(u.Nodename[:])
		h.OSRelease = unix.ByteSliceToString(u.Release[:])
		h.Arch = unix.ByteSliceToString(u.Machine[:])
	}
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo")
	h.CPUDesc, h.CPUID = readCPUID(runtime.GOARCH, cpuinfo)
	h.Topology = readTopology(int(h.CPUs.Available))
	h.Caches = readCaches(int(h.CPUs.Available))
	h.CPUCaps, h.PMUCaps, h.Hybrid = readPMUCaps(h.PMUs)
	return h
}

const (
	sysCPU  = "/sys/devices/system/cpu"
	sysNode = "/sys/devices/system/node"
	sysPMU  = "/sys/bus/event_source/devices"
)

// sysText is the content of a small file without space around it; empty when it
// cannot be read.
func sysText(elem ...string) string {
	b, _ := os.ReadFile(filepath.Join(elem...))
	return strings.TrimSpace(string(b))
}

func sysNumber(elem ...string) (int64, bool) {
	v, err := strconv.ParseInt(sysText(elem...), 10, 64)
	return v, err == nil
}

// numbered lists the entries of dir called prefix and a number, by number.
func numbered(dir, prefix string) []int {
	entries, _ := os.ReadDir(dir)
	var l []int
	for _, e := range entries {
		if s, ok := strings.CutPrefix(e.Name(), prefix); ok {
			if n, err := strconv.Atoi(s); err == nil && n >= 0 {
				l = append(l, n)
			}
		}
	}
	slices.Sort(l)
	return l
}

// readCPUCount counts CPUs as perf does: up to the highest that is present, and
// those that are online.
func readCPUCount() perfdata.CPUCount {
	var c perfdata.CPUCount
	if l, err := procfs.ReadCPUs(sysfs, procfs.CPUsPresent); err == nil && len(l) > 0 {
		c.Available = uint32(slices.Max(l) + 1)
	}
	if l, err := procfs.ReadCPUs(sysfs, procfs.CPUsOnline); err == nil {
		c.Online = uint32(len(l))
	}
	return c
}

// meminfo is the number of kB behind a key.
func meminfo(name, key string) uint64 {
	b, _ := os.ReadFile(name)
	for line := range strings.Lines(string(b)) {
		if _, after, ok := strings.Cut(line, key); ok {
			if f := strings.Fields(after); len(f) > 0 {
				v, _ := strconv.ParseUint(f[0], 10, 64)
				return v
			}
		}
	}
	return 0
}

// readCPUID gives the processor's description and perf's identifier of it
// (tools/perf/arch/*/util/header.c).
func readCPUID(arch string, cpuinfo []byte) (desc, id string) {
	first := map[string]string{}
	for line := range bytes.Lines(cpuinfo) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		k := string(bytes.TrimSpace(key))
		if _, ok := first[k]; !ok {
			first[k] = strings.Join(strings.Fields(string(value)), " ")
		}
	}
	desc = first["model name"]
	switch arch {
	case "amd64", "386":
		if v := first["vendor_id"]; v != "" {
			id = strings.Join([]string{v, first["cpu family"], first["model"], first["stepping"]}, ",")
		}
	case "arm64":
		for _, cpu := range numbered(sysCPU, "cpu") {
			midr, err := strconv.ParseUint(sysText(sysCPU, fmt.Sprintf("cpu%d/regs/identification/midr_el1", cpu)), 0, 64)
			if err == nil {
				return desc, formatMIDR(midr)
			}
		}
	}
	return desc, id
}

// formatMIDR writes MIDR_EL1 without its variant (bits 20 to 23) and revision
// (0 to 3), by which perf chooses event tables.
func formatMIDR(midr uint64) string { return fmt.Sprintf("0x%016x", midr&^0xf0000f) }

// readTopology reads which CPUs share sockets, dies and cores; ids are -1 for
// CPUs that are offline.
func readTopology(cpus int) perfdata.CPUTopology {
	var t perfdata.CPUTopology
	add := func(l *[]string, cpu int, names ...string) {
		for _, name := range names {
			s := sysText(sysCPU, fmt.Sprintf("cpu%d/topology", cpu), name)
			if s == "" {
				continue // older kernels have only the second name
			}
			if !slices.Contains(*l, s) {
				*l = append(*l, s)
			}
			return
		}
	}
	id := func(cpu int, name string) int32 {
		if v, ok := sysNumber(sysCPU, fmt.Sprintf("cpu%d/topology", cpu), name); ok {
			return int32(v)
		}
		return -1
	}
	for cpu := range cpus {
		add(&t.Sockets, cpu, "package_cpus_list", "core_siblings_list")
		add(&t.Dies, cpu, "die_cpus_list")
		add(&t.Threads, cpu, "core_cpus_list", "thread_siblings_list")
		t.CPUs = append(t.CPUs, perfdata.CPUPlace{
			Core: id(cpu, "core_id"), Socket: id(cpu, "physical_package_id"), Die: id(cpu, "die_id"),
		})
	}
	return t
}

func readNUMA() []perfdata.NUMANode {
	nodes, err := procfs.ReadCPUs(sysfs, procfs.NodesOnline)
	if err != nil {
		return nil
	}
	var l []perfdata.NUMANode
	for _, n := range nodes {
		dir := filepath.Join(sysNode, fmt.Sprintf("node%d", n))
		l = append(l, perfdata.NUMANode{
			Node:     uint32(n),
			MemTotal: meminfo(dir+"/meminfo", "MemTotal:"),
			MemFree:  meminfo(dir+"/meminfo", "MemFree:"),
			CPUs:     sysText(dir, "cpulist"),
		})
	}
	return l
}

func readPMUs() []perfdata.PMU {
	entries, _ := os.ReadDir(sysPMU)
	var l []perfdata.PMU
	for _, e := range entries {
		if v, ok := sysNumber(sysPMU, e.Name(), "type"); ok {
			l = append(l, perfdata.PMU{Type: abi.Type(v), Name: e.Name()})
		}
	}
	return l
}

// readPMUCaps reads the caps directories of PMUs. Hybrid machines have a PMU
// with a list of CPUs for each kind of core, cpu_core and cpu_atom.
func readPMUCaps(pmus []perfdata.PMU) (cpu []perfdata.PMUCap, others []perfdata.PMUCaps, hybrid []perfdata.HybridPMU) {
	for _, p := range pmus {
		dir := filepath.Join(sysPMU, p.Name, "caps")
		entries, _ := os.ReadDir(dir)
		var caps []perfdata.PMUCap
		for _, e := range entries {
			caps = append(caps, perfdata.PMUCap{Name: e.Name(), Value: sysText(dir, e.Name())})
		}
		switch {
		case len(caps) == 0:
		case p.Name == "cpu":
			cpu = caps
		default:
			others = append(others, perfdata.PMUCaps{PMU: p.Name, Caps: caps})
		}
		if p.Name == "cpu_core" || p.Name == "cpu_atom" {
			if s := sysText(sysPMU, p.Name, "cpus"); s != "" {
				hybrid = append(hybrid, perfdata.HybridPMU{PMU: p.Name, CPUs: s})
			}
		}
	}
	return cpu, others, hybrid
}

// readCaches lists the caches of all CPUs, shared ones once, by level; not nil, even where the
// machine does not say.
func readCaches(cpus int) []perfdata.Cache {
	l := []perfdata.Cache{}
	for cpu := range cpus {
		dir := filepath.Join(sysCPU, fmt.Sprintf("cpu%d/cache", cpu))
		for _, index := range numbered(dir, "index") {
			at := filepath.Join(dir, fmt.Sprintf("index%d", index))
			number := func(name string) uint32 { v, _ := sysNumber(at, name); return uint32(v) }
			c := perfdata.Cache{
				Level: number("level"), LineSize: number("coherency_line_size"),
				Sets: number("number_of_sets"), Ways: number("ways_of_associativity"),
				Type: sysText(at, "type"), Size: sysText(at, "size"), CPUs: sysText(at, "shared_cpu_list"),
			}
			if !slices.Contains(l, c) {
				l = append(l, c)
			}
		}
	}
	slices.SortStableFunc(l, func(a, b perfdata.Cache) int { return cmp.Compare(a.Level, b.Level) })
	return l
}

// readMemoryMap lists which blocks of memory each node has.
func readMemoryMap() (m perfdata.MemoryMap) {
	size, err := strconv.ParseUint(sysText("/sys/devices/system/memory/block_size_bytes"), 16, 64)
	if err != nil {
		return m
	}
	m.BlockSize = size
	for _, n := range numbered(sysNode, "node") {
		blocks := numbered(filepath.Join(sysNode, fmt.Sprintf("node%d", n)), "memory")
		node := perfdata.MemoryNode{Node: uint64(n)}
		if len(blocks) > 0 {
			node.Bits = uint64(blocks[len(blocks)-1] + 1)
		}
		node.Blocks = make([]uint64, (node.Bits+63)/64)
		for _, b := range blocks {
			node.Blocks[b/64] |= 1 << (b % 64)
		}
		m.Nodes = append(m.Nodes, node)
	}
	return m
}
