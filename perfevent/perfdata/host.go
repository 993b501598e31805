package perfdata

import "kprof/perfevent/abi"

// Host is what a recording tells of the machine it was made on, in the terms of
// perf.data's header features: a recorder fills it in from /proc and /sys, a file's
// reader from the feature sections. Fields that are not known are zero and are not
// written.
type Host struct {
	Hostname  string // uname -n
	OSRelease string // uname -r
	Arch      string // uname -m
	CPUDesc   string // "model name" of /proc/cpuinfo
	CPUID     string // x86: "vendor,family,model,stepping"; arm64: MIDR_EL1 without variant and revision
	CPUs      CPUCount
	TotalMem  uint64 // kB
	Topology  CPUTopology
	NUMA      []NUMANode
	PMUs      []PMU
	Caches    []Cache // nil if there is no such list in the file
	Memory    MemoryMap
	CPUCaps   []PMUCap  // of the PMU named "cpu"
	PMUCaps   []PMUCaps // of all others
	Hybrid    []HybridPMU
}

// CPUCount counts the processors of a machine.
type CPUCount struct {
	Available uint32 // present, online or not
	Online    uint32
}

// CPUTopology says which CPUs share what. Each string is a CPU list as sysfs
// writes it, "0-3,8"; CPUs has one entry per available CPU, or none in files of
// perf before 3.13.
type CPUTopology struct {
	Sockets []string
	Dies    []string // empty in files of perf before 5.3
	Threads []string // CPUs of one core
	CPUs    []CPUPlace
}

// CPUPlace is where one CPU sits; -1 where the kernel does not say.
type CPUPlace struct {
	Core, Socket, Die int32
}

// NUMANode is one memory node, sizes in kB.
type NUMANode struct {
	Node     uint32
	MemTotal uint64
	MemFree  uint64
	CPUs     string // CPU list
}

// PMU is one entry of /sys/bus/event_source/devices.
type PMU struct {
	Type abi.Type
	Name string
}

// Cache is one CPU cache, as in /sys/devices/system/cpu/cpu*/cache/index*.
type Cache struct {
	Level    uint32
	LineSize uint32 // bytes
	Sets     uint32
	Ways     uint32
	Type     string // "Data", "Instruction", "Unified"
	Size     string // "32K"
	CPUs     string // CPU list of those that share it
}

// MemoryMap says which blocks of physical memory belong to which node.
type MemoryMap struct {
	BlockSize uint64 // bytes
	Nodes     []MemoryNode
}

// MemoryNode is a node's bitmap of memory blocks: block i is bit i%64 of
// Blocks[i/64], Bits says how many are meant.
type MemoryNode struct {
	Node   uint64
	Bits   uint64
	Blocks []uint64
}

// PMUCap is one file under a PMU's caps directory.
type PMUCap struct {
	Name, Value string
}

// PMUCaps are the capabilities of one PMU.
type PMUCaps struct {
	PMU  string
	Caps []PMUCap
}

// HybridPMU names the CPUs of one kind of core on a hybrid machine.
type HybridPMU struct {
	PMU  string
	CPUs string // CPU list
}
