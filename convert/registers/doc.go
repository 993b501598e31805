// Package registers sums up accesses to registers of devices, as the kernel's events rwmmio
// tell of them (include/trace/events/rwmmio.h, Linux 6.1 with TRACE_MMIO_ACCESS).
//
// An access has two events: one before it, one after it, which has the value that was read. A
// Collector takes them of a listing and makes a Table of them: how often each caller accessed
// each register, how long that took and what was read last, the last accesses of each CPU,
// and those without an end. A kernel that hung, or took an external abort, did so in one of
// these.
//
// Addresses are virtual. Regions, made of /proc/iomem and /proc/vmallocinfo, say whose they are.
package registers
