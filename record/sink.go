package record

import "time"

// Sink takes the records of a session.
type Sink interface {
	// Write takes whole records of one ring, in the ring's order. b continues
	// a where the ring wraps: a record may lie in both. The bytes are valid
	// during the call.
	Write(a, b []byte) error

	// FinishRound says that every ring has been drained once since the last
	// call: what comes later is not older than what the round before held.
	FinishRound() error
}

// Stats are the counts of a session.
type Stats struct {
	Events []EventStats // as Session.Events has them, the side-band last

	Samples   uint64
	Lost      uint64 // records, of whatever type, that found their ring full, as LOST records say
	Throttled uint64 // times the kernel stopped an event for a while
	Records   uint64 // all types, those left out and synthesized ones not included
	Switches  uint64 // SWITCH records, which Options.Switches asks for
	Bytes     uint64 // of these records
	Rounds    uint64

	// ShortStacks is of some of the samples at a frequency, whose callers frame pointers tell.
	ShortStacks UserStacks

	Notes []string // what the user should know: sentences without a full stop
}

// UserStacks counts samples with user code.
type UserStacks struct {
	Seen  uint64
	Short uint64 // user stacks of one or two frames
}

// LostSideband is how many of the lost records were no samples, 0 where the kernel does
// not count losses by event.
func (s *Stats) LostSideband() uint64 {
	n := s.Lost
	for _, e := range s.Events[:max(len(s.Events)-1, 0)] {
		if !e.LostKnown || e.Lost > n {
			return 0
		}
		n -= e.Lost
	}
	return n
}

// EventStats are the counts of one event, summed over its counters. With a
// period of 1 and hits that weigh 1, Hits is Samples + Lost, but for what the kernel counts
// and neither samples nor calls lost:
//
//   - A hit that is under way on another CPU as its counter is disabled, one for each counter,
//     since the stable kernels of 2026 (kernel/events/core.c, perf_swevent_event: what is not
//     active any more after it has been counted writes nothing).
//   - Since the same kernels, hits of tracepoints that are about another task than the one that runs,
//     such as sched:sched_wakeup, where tasks are recorded and nothing may be recorded on all CPUs: the
//     task's counter is not active. See wakeups and unsampled.
//   - In Linux 6.18 hits in certain tasks: seen of the idle task of one CPU, and of threads that had run since
//     it booted. There context switches, and what interrupts hit, are counted and not sampled; tracepoints
//     that such a task hits itself are not even counted, and it has no sched:sched_switch.
//     perf record and perf stat say the same. That a task's recursion counter (task_struct.perf_recursion) was left
//     set would explain what is not counted.
//   - There too some page faults, 4 to 17 of 20,000 to 230,000, and once 341 of 6,116, on a machine with very much
//     to do: the same ones of all events of all recorders.
type EventStats struct {
	Name        string
	Hits        uint64 // counted by the kernel, read(2), without Others
	Others      uint64 // hits of other tasks that were left out as they were read, see wakeups; Lost may have more
	Samples     uint64 // in the rings
	Lost        uint64 // samples that found the ring full; 0 unless LostKnown
	LostKnown   bool   // the kernel has PERF_FORMAT_LOST (6.0)
	Throttled   uint64
	Probe       bool          // made for this recording: a kprobe or uprobe
	Missed      uint64        // hits of a probe that the kernel could not handle; 0 unless MissedKnown
	MissedKnown bool          // the probe is in tracefs, where kprobe_profile tells
	Kernel      KernelHits    // zero unless MissedKnown
	Enabled     time.Duration // summed over counters
	Running     time.Duration // on the PMU, summed over counters
}

// KernelHits is what the kernel counted of a probe in tracefs, whoever made it, while its
// counters were open: of all tasks and CPUs, whatever the filter. With a period of 1,
//
//	Hits + EventStats.Missed = Samples + Lost + Filtered + Missed
//
// as far as an event's Hits are its Samples and Lost, see there.
type KernelHits struct {
	Hits     uint64 // handled
	Filtered uint64 // of these, not counted by the event: kept out by a filter, of tasks or CPUs that were not recorded, or before sampling was enabled
	Before   uint64 // of the filtered ones, those before sampling was enabled, as far as it is enabled by the recorder and not by an exec
}

// Progress is a snapshot while a session runs.
type Progress struct {
	Elapsed time.Duration // since sampling was enabled
	Samples uint64
	Lost    uint64
	Bytes   uint64
}
