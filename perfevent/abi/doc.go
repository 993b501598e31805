// Package abi holds the perf_event attributes and record layouts of the Linux
// kernel as portable, syscall-free types and codecs.
//
// Layouts are those of include/uapi/linux/perf_event.h; the record types that
// perf itself writes into files (64 and up) are those of
// tools/lib/perf/include/perf/event.h. Everything decodes on any machine, in
// either byte order, and never reads past the bytes it was given.
package abi
