// Package record runs a recording session: events opened on targets, their
// rings drained into a Sink.
//
//	Open   resolves the events, opens a counter of each for every task or
//	       CPU, and a side-band event beside them; all counters of a CPU write
//	       into that CPU's ring. Everything is disabled.
//	Run    1. enables the side-band,
//	       2. has the state of /proc synthesized as records, before whose
//	          processes the caller may have all threads but one drop the
//	          rights that only opening needs (Session.DropRights),
//	       3. enables the sampling events and starts the command,
//	       4. drains the rings, sleeping until one is half full or a time has
//	          passed, until the context is done or the targets are gone, and
//	          opens the events on CPUs that come meanwhile,
//	       5. disables, drains, and has the kernel say what was lost.
//	Close  gives everything back.
//
// The recorder moves bytes. Of a record it looks at type, size and id, to
// count.
package record
