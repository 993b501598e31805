// Package perfevent opens kernel events through perf_event_open(2) and exposes
// their rings.
//
// # Glossary
//
// The words are the kernel's where it has one; the code uses them in no other
// sense.
//
//	event       what happens and can be counted or sampled: a tracepoint hit, a
//	            tick of cpu-clock, a page fault. Also what was asked for, with
//	            its attribute (struct perf_event_attr).
//	tracepoint  a place in the kernel's source with a name, SYSTEM:NAME, and
//	            fields. Its number comes from tracefs.
//	kprobe      a probe on a kernel instruction; a return probe (kretprobe) on a
//	            function's return. uprobe: the same in a user program's file.
//	PMU         a driver of events with a number of its own, listed under
//	            /sys/bus/event_source/devices.
//	breakpoint  a hardware watch on an address.
//	counter     one event opened on one task or on all tasks of one CPU: a file
//	            descriptor with an id. Counters count; those with a ring also
//	            sample.
//	sample      the record of one occurrence, PERF_RECORD_SAMPLE.
//	period      how many occurrences lie between two samples. With a frequency
//	            the kernel chooses it.
//	callchain   the return addresses above a sample's instruction pointer,
//	            innermost first, with markers where kernel turns to user.
//	ring        the memory shared with the kernel into which it writes records;
//	            one for each CPU. Data area of 2^n pages behind a control page.
//	record      header and body of one message in a ring.
//	round       one pass over all rings. What one round holds is not older than
//	            what the round before the last one held.
//	side-band   the records that say what processes do (names, maps, forks,
//	            exits): what gives samples a meaning. A dummy event of its own
//	            asks for them.
//	mapping     a range of addresses backed by a file, or by the kernel.
//	watermark   the number of bytes in a ring that wakes its reader.
//	lost        records that found their ring full.
//	throttled   an event that the kernel stopped for a tick because it fired too
//	            often.
//
// addr is an address at run time, off an offset in a file, vaddr an address as
// an ELF file states it.
//
// A Spec is one -e argument, parsed without asking the kernel. A Resolver
// turns it into Events with attributes of this machine; Open makes counters of
// these; a Ring reads what the counters that were redirected to it write.
package perfevent
