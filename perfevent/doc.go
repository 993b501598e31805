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
//	spec        what a user asks for with -e, before this machine is looked at;
//	            it may name no event of this machine, one, or many.
//	tracepoint  a place in the kernel's source with a name, SYSTEM:NAME, and
//	            fields. Its number comes from tracefs.
//	kprobe      a probe on a kernel instruction; a return probe (kretprobe) on a
//	            function's return. uprobe: the same in a user program's file.
//	PMU         a driver of events with a number of its own, listed under
//	            /sys/bus/event_source/devices.
//	breakpoint  a hardware watch on an address.
//	USDT        a probe that a program's author placed in it (statically defined),
//	            described by a note in its ELF file; a uprobe makes it an event.
//	counter     one event opened on one task or on all tasks of one CPU: a file
//	            descriptor with an id. Counters count; those with a ring also
//	            sample.
//	hit         an occurrence of an event, whether it is sampled or not.
//	overhead    how much longer what is probed takes for each hit.
//	sample      the record of one occurrence, PERF_RECORD_SAMPLE.
//	period      how many occurrences lie between two samples. With a frequency
//	            the kernel chooses it.
//	callchain   the return addresses above a sample's instruction pointer,
//	            innermost first, with markers where kernel turns to user.
//	ring        the memory shared with the kernel into which it writes records;
//	            one for each CPU. Data area of 2^n pages behind a control page.
//	ring owner  the counter of the recorder's own whose ring those of all events
//	            of that CPU write into; a change of its thread's name writes a
//	            record.
//	record      header and body of one message in a ring.
//	round       one pass over all rings. What one round holds is not older than
//	            what the round before the last one held.
//	side-band   the records that say what processes do (names, maps, forks,
//	            exits): what gives samples a meaning. A dummy event of its own
//	            asks for them.
//	synthesized record  one that the recorder writes about what was there before.
//	mapping     a range of addresses backed by a file, or by the kernel.
//	build id    the note of type NT_GNU_BUILD_ID that names the content of an ELF
//	            file, of the kernel or of a module.
//	watermark   the number of bytes in a ring that wakes its reader.
//	lost        records that found their ring full.
//	missed      hits of a probe that the kernel could not handle, such as one in
//	            the handler of another.
//	throttled   an event that the kernel stopped for a tick because it fired too
//	            often.
//
// addr is an address at run time, off an offset in a file, vaddr an address as
// an ELF file states it.
//
// Package event makes Events of what a user writes; Open makes counters of
// these; a Ring reads what the counters that were redirected to it write:
//
//	event.Resolver ──► Event ──Configure, Open──► Counter ──SetOutput──► Ring
//
// Imports go one way: event imports perfevent, which imports abi.
package perfevent
