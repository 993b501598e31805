// Package timeline is the state of processes and of the kernel over the time of a
// recording: what each thread is called, and what each process has mapped.
//
// Records of different CPUs arrive out of order, by a round of the rings at most: samples
// come before the FORK of their process and after its EXIT. Sorting all of them costs
// more than everything else together. Instead, the few records that change the state of
// a process (the side-band) go into a Timeline, in any order, and each sample is seen
// with the state at its own time:
//
//	MMAP COMM FORK EXIT KSYMBOL ──► Add ──► Apply ──► At ──► State ──► View ──► Find
//	 in any order, each with its time                 of a task      of an    what an
//	                                                  at a time      address  address
//	                                                                 space    belongs to
//
// The rules:
//
//   - A change holds for times at or after its own; time 0 is before everything;
//     changes of the same time count in their order of arrival, modules of the kernel
//     in that of their addresses.
//   - EXIT ends nothing: a process keeps its state until a FORK or an exec of the
//     same pid, because samples of a process are seen after its EXIT.
//   - Names belong to threads, address spaces to processes. A FORK takes over the
//     name of the forking thread and, across processes, the address space, both
//     as of its time. Until all that came before it in time has arrived, they
//     are looked up anew after each round.
//   - An exec COMM begins an empty address space. Of a sample in the kernel during exec,
//     the call of execve is still looked up in the old one (BeforeExec).
//   - At a given time an address belongs to the latest map that covers it: a later map
//     cuts an older one.
//
// A recording in a file is added whole, and then Freeze ends it. Of one that arrives once
// (a pipe, a live recording) each round is added, then Apply makes it count, and Settle
// says up to when nothing more can come: state older than that is folded away.
package timeline
