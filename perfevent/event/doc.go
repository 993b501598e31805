// Package event says what the argument of -e means: which events of this machine a
// specification names, and how to open them.
//
// A Spec is one event as written, parsed without a look at the machine, on any
// platform. A Resolver looks it up on this one, which is Linux, and returns Events,
// which package perfevent opens:
//
//	"kprobe:vfs_read"  ──ParseSpec──►  Spec  ──Resolver──►  Event  ──Open──►  perfevent.Counter
//	                                             │
//	                                             ├ sysfs: PMUs, their terms and events
//	                                             ├ tracefs: tracepoints, probes with arguments
//	                                             ├ kallsyms, BTF: functions, their arguments
//	                                             └ ELF files: symbols, USDT notes
//
// Imports go one way: event builds upon perfevent, which knows attributes and
// counters, and nothing of what anybody writes.
package event
