package convert

import (
	"fmt"

	"kprof/perfevent/abi"
	"kprof/symbolize"
)

// Options say which samples to take and how to label them. The zero value takes
// all and labels them with comm and pid.
type Options struct {
	Event string   // name of the only event to take, "" for all
	PIDs  []int32  // processes to take, none for all
	TIDs  []int32  // threads to take, none for all
	Comms []string // names of threads to take, none for all
	CPUs  []int32  // processors to take, none for all
	// From and To bound the times of samples, in ns of the recording's clock,
	// both inclusive. To 0 is no bound.
	From, To uint64

	Labels Labels // labels besides comm and pid

	// JITCode returns what a jitdump says, in the order of time; nil for nobody
	// who reads it. It is asked where times of dumps are those of the recording.
	JITCode func(JITDump) []symbolize.JITCode

	// KernelSymbols says that the kernel's symbols are at hand: they are looked up
	// also where the recording does not say that there is a kernel.
	KernelSymbols bool

	// Unwind walks the copies of stacks; nil leaves these samples the function
	// that ran.
	Unwind *Unwind

	// Times keeps the time of each sample that has one (stacks.Set.Moments), 24
	// bytes each. Memory then grows with the number of samples.
	Times bool
}

// Labels is a set of labels that multiply the distinct samples.
type Labels uint8

const (
	LabelTID Labels = 1 << iota
	LabelCPU
)

// Bounds, in bytes, of the records that a Collector holds back while no end of a
// round comes: of a recording that has rounds, and of one where none has come yet.
const (
	maxHeld      = 32 << 20
	maxRoundless = 4 << 20
)

// Stats is what was seen of a recording.
type Stats struct {
	Records map[abi.RecordType]uint64 // by type
	Samples []EventSamples            // by event, in the order of the recording

	Lost           uint64 // records the kernel could not write, as LOST records tell
	LostSamples    uint64 // as LOST_SAMPLES records tell
	Throttled      uint64
	UnknownEvent   uint64 // samples whose id belongs to no event
	BadSamples     uint64 // samples shorter than their event's layout
	BadRecords     uint64 // other records that could not be decoded
	Unnamed        uint64 // samples of threads the recording never named
	Exited         uint64 // samples of tasks past their exit, whose pid is -1
	Guest          uint64 // samples of virtual machines; their processes are not the host's
	Hypervisor     uint64 // samples of what runs below the kernel
	UnwalkedStacks uint64 // samples with a copy of the user's stack, which Options.Unwind was needed for
	CutStacks      uint64 // samples whose copy could not be walked to its end
	HalfChains     uint64 // samples whose user callers were to come later, and did not
	UnmappedFrames uint64 // distinct addresses that no mapping covers

	// What was given up to bound time and memory, of recordings that hardly are
	// of a real machine.
	OtherTasks  uint64 // samples whose task is not told, as there are too many
	OtherPlaces uint64 // frames whose address is not told, as there are too many
	Hasty       uint64 // look-ups of addresses that did not go as far back as maps and forks do

	FirstTime, LastTime uint64 // of samples, ns of the recording's clock

	JITDumps []JITDump // that processes were seen to write

	// Truncated tells where and why the recording ended before its end.
	Truncated error
}

// EventSamples is how many samples an event has.
type EventSamples struct {
	Name    string
	Samples uint64 // in the recording
	Taken   uint64 // of those, the ones Options select
	Period  uint64 // sum over Taken
	Lost    uint64 // told by LOST_SAMPLES
}

func (s *Stats) total() (n uint64) {
	for _, e := range s.Samples {
		n += e.Taken
	}
	return n
}

// Losses are sentences about what the recording does not hold, or what of it
// could not be used; none when it is complete.
func (s *Stats) Losses() []string {
	var l []string
	add := func(n uint64, before, noun, after string) {
		switch {
		case n == 1:
			l = append(l, before+"1 "+noun+after)
		case n > 1:
			l = append(l, fmt.Sprintf("%s%d %ss%s", before, n, noun, after))
		}
	}
	add(s.Lost, "lost ", "record", " while recording: use larger rings (-m) or a lower frequency (-F)")
	add(s.LostSamples, "lost ", "sample", " while recording")
	add(s.Throttled, "the kernel throttled sampling ", "time", ": use a lower frequency (-F)")
	add(s.UnknownEvent, "left out ", "sample", " of no event of the recording")
	add(s.BadSamples, "left out ", "sample", " shorter than the event says")
	add(s.BadRecords, "could not decode ", "record", "")
	add(s.HalfChains, "", "sample", " without user callers, which the kernel was to write later and did not")
	add(s.UnwalkedStacks, "", "sample", " without user callers: copies of stacks (--call-graph dwarf) are walked in file mode only, for x86_64 and arm64")
	add(s.CutStacks, "could not walk ", "user stack", " to the end: the copy that was recorded is too short, or a file is missing")
	add(s.Guest, "", "sample", " inside virtual machines, of whose processes nothing was recorded")
	add(s.Hypervisor, "", "sample", " in the hypervisor, which has no symbols here")
	add(s.Exited, "", "sample", " of tasks past their exit, which have no pid any more (comm :-1)")
	add(s.Unnamed, "", "sample", " of threads whose name was never recorded")
	add(s.OtherTasks, "", "sample", fmt.Sprintf(" of more tasks than can be told apart, shown as %q", otherTasks))
	add(s.OtherPlaces, "", "frame", " at more places than can be told apart, shown without a name")
	add(s.Hasty, "", "address look-up", " given up: too many maps and forks lie between")
	return l
}
