// Package capture opens a session together with what naming its samples will take: the
// symbols of the kernel, build ids, and the files that are mapped while it runs.
//
//	Open    opens the events, and begins to keep
//	Run     of the Session: records, into whatever Sink
//	Close   ends what was kept, and the Session
//
// A record/datafile writes a Capture as perf.data; convert/live makes a profile of it.
package capture
