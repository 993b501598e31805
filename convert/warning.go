package convert

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/perfdata"
)

// WarningKind says what a profile lacks, or what may be wrong in it.
type WarningKind uint8

// What a profile lacks because the recording, or the text, does not hold it: the
// losses. Count says how many, of what the comment names.
const (
	HardwareTrace          WarningKind = iota // bytes of a trace that is not decoded; Trace has its kind
	LostRecords                               // records that the kernel could not write
	LostSamples                               // samples that the kernel could not write
	Throttled                                 // times that the kernel throttled sampling
	SamplesOfUnknownEvent                     // samples of no event of the recording
	ShortSamples                              // samples shorter than their event says
	BadRecords                                // records that could not be decoded
	MissingDeferredChains                     // samples whose user callers were to come later, and did not
	StackCopiesUnsupported                    // samples with a copy of a stack of a machine whose stacks are not walked
	DroppedCopies                             // copies of stacks that came faster than they could be walked
	TruncatedStacks                           // copies of stacks that could not be walked to their end
	CutStacks                                 // stacks of Frames, as many as were taken: callers are missing
	CutHistStacks                             // the same of hist triggers
	UnfinishedWaits                           // samples of threads that had not come back to a CPU when the recording ended
	LostReturns                               // times off the CPU left out, since their end may be among what was lost
	UnseenReturns                             // the same where nothing was lost: their end was not recorded
	OtherBuffers                              // switches and wake-ups of buffers of the tracer whose switches are not paired
	LateSwitches                              // events that began or ended a time and came too late to be in order
	EarlyTimes                                // times between events left out, since they began before all rings of the tracer did: Early
	LostSpans                                 // spans of Event whose end may be among what was lost
	UnendedSpans                              // spans of Event whose end was not seen
	UnbegunSpans                              // ends of Event whose start was not seen
	OpenSpans                                 // spans of Event that had not ended with the recording
	StillOffCPU                               // tasks that had not come back when the recording ended
	WithoutWakeups                            // times off the CPU without wake-ups: what a task waited for a CPU is not told apart
	GuestSamples                              // samples of programs inside virtual machines, which are not known
	HypervisorSamples                         // samples in the hypervisor, which has no symbols here
	ExitedTasks                               // samples of tasks past their exit, which have no pid any more
	UnknownTasks                              // samples whose task a trace does not tell
	UnnamedThreads                            // samples of threads whose name was never recorded
	OverflowTasks                             // samples of more tasks than are told apart
	MergedStacks                              // samples of rare stacks, merged into their callers as Options.MaxMemory was reached
	MergedTasks                               // samples of tasks that have few, which do not tell their process for that reason
	DroppedTimes                              // samples whose times were not kept for that reason
	OverflowLabels                            // samples with more values of the label Key than are told apart
	OverflowFrames                            // frames at more places than are told apart
	AbandonedLookups                          // look-ups of addresses that did not go as far back as maps and forks do
	TraceErrors                               // places where another tool could not decode a hardware trace
	TracedBranches                            // samples that are branches of a hardware trace, without stacks
	UnreadLines                               // lines of text of no known form; Line is the first
	ShortenedStacks                           // stacks of more frames than are kept
	UnmatchedSamples                          // samples of Event for which Options.Where has no value; it lacks Fields, if any
	SamplesWithoutValue                       // samples of Event that Options.Value has no value of; it lacks Fields, if any
	SaturatedValues                           // values of Event that were cut, for their sum to fit into 63 bits
	TruncatedRecording                        // the recording ended before its end, after Count samples: Err says where and why
	lastLoss
)

// What names a profile lacks, and what else is worth saying.
const (
	MissingNames            WarningKind = lastLoss + iota // frames in File have no name: Share, Reason, Err
	MissingLines                                          // frames in File have no source line: Share, Err
	MissingInlined                                        // frames in File have lines, and may lack inlined functions: Share, Err
	NamingEnded                                           // the looking for names was cut short: Err is the cause
	DebuginfodFailed                                      // a debuginfod server did not serve: Err
	NamesOfOtherBuild                                     // Symbols.Force had File used, which is not what was recorded: Err
	KernelNotMapped                                       // the recording does not say where its kernel was
	KernelSymbolsUnreadable                               // those that the recording brings along: Err
	UserSymbolsUnreadable                                 // the names of user code that the recording brings along: Err
	MissingBuildIDs                                       // of some files that were mapped while recording: Err
	MissingModules                                        // symbols of modules that were loaded while recording: Err
	UnknownRule                                           // a rule that the recording has been made with, and that cannot be read: Err
	MergedEvents                                          // the samples of several Events are shown as those of Event
	SortedInFile                                          // Count bytes of records were sorted in a temporary file, as memory was too small for them
	OutOfOrder                                            // Count samples came too late to be listed in the order of time
	UnreadFeatures                                        // Count features of the recording's header could not be read: Err is of the first
	MixedEvents                                           // the kernel took samples of one of Events for another's, and nothing tells which
	TicksForTimes                                         // times are ticks of Clock, which does not count ns
	UnreadFormats                                         // the formats of tracepoints, or that of Event: Err
	UnprintedEvent                                        // the fields of Event are not all printed as the kernel does: Err
)

// IsLoss reports whether the kind is of what the recording itself does not hold.
func (k WarningKind) IsLoss() bool { return k < lastLoss }

// IsMissing reports whether the kind is of what frames in File lack: it has a Share.
func (k WarningKind) IsMissing() bool {
	return k == MissingNames || k == MissingLines || k == MissingInlined
}

// missing is what frames are without.
func (k WarningKind) missing() string {
	switch k {
	case MissingLines:
		return "lines"
	case MissingInlined:
		return "inlined functions"
	}
	return "a name"
}

// Warning is one thing that a profile lacks, or that may be wrong in it.
type Warning struct {
	Kind    WarningKind
	Count   uint64        // of a loss
	AtLeast bool          // Count is the least that it may be
	Share   float64       // of samples, 0 to 1
	File    string        // that is mapped, or that names are of
	Reason  MissingReason // of MissingNames
	Err     error
	Line    uint64               // in the text, from 1
	Frames  int                  // of each stack that was cut
	Trace   replay.HardwareTrace // of HardwareTrace
	Event   string               // that MergedEvents are shown as, or that a loss is of
	Fields  []string             // that Event lacks
	Key     string               // of a label
	Events  []EventCount         // that were merged, or mixed up
	Early   replay.Early         // of EarlyTimes
	Clock   string               // of times; empty where it is not known
}

// EventCount is an event and how many samples it has.
type EventCount struct {
	Name    string
	Samples uint64
}

// lossTexts are sentences about losses, in pieces: what comes before the number, what
// is counted, and what comes after.
var lossTexts = map[WarningKind][3]string{
	LostRecords:            {"lost ", "record", " while recording"},
	LostSamples:            {"lost ", "sample", " while recording"},
	Throttled:              {"the kernel throttled sampling ", "time", ""},
	SamplesOfUnknownEvent:  {"left out ", "sample", " of no event of the recording"},
	ShortSamples:           {"left out ", "sample", " shorter than the event says"},
	BadRecords:             {"could not decode ", "record", ""},
	MissingDeferredChains:  {"", "sample", " without user callers, which the kernel was to write later and did not"},
	StackCopiesUnsupported: {"", "sample", " without user callers: copies of stacks are walked for x86_64, i386 and arm64 only"},
	DroppedCopies:          {"", "sample", " whose copy of the stack came faster than it could be walked: their user callers are what frame pointers tell"},
	TruncatedStacks:        {"could not walk ", "user stack", " to the end: the copy that was recorded is too short, or a file is missing"},
	CutStacks:              {"", "stack", " cut at %d frames: their outermost callers were not recorded"},
	CutHistStacks:          {"", "stack", " cut at %d frames, the most that hist triggers take: their outermost callers are missing"},
	UnfinishedWaits:        {"", "sample", " of threads that had not come back to a CPU when the recording ended: the time they waited is not counted"},
	OtherBuffers:           {"left out ", "event", " of other buffers: times off the CPU are made of the switches of one"},
	LostReturns:            {"left out ", "time", " off the CPU, whose end may be among what was lost"},
	UnseenReturns:          {"left out ", "time", " off the CPU, whose end was not recorded"},
	LateSwitches:           {"", "event", " came too late to be put in order: some times between events may be wrong"},
	EarlyTimes:             {"left out ", "time", " between events from before %s, when the last of the rings begins, that of CPU %d: earlier events of it were overwritten, and may be their ends"},
	LostSpans:              {"left out ", "span", " of %s, whose end may be among what was lost"},
	UnendedSpans:           {"left out ", "span", " of %s, whose end was not seen"},
	UnbegunSpans:           {"", "end", " of %s without a start, which was before the recording or not seen"},
	OpenSpans:              {"", "span", " of %s had not ended when the recording did: how long they had lasted is in the column 'unended'"},
	StillOffCPU:            {"", "task", " had not come back to a CPU when the recording ended: how long they were away is in the column 'unended'"},
	WithoutWakeups:         {"", "time", " off the CPU without a wake-up, of which none was recorded: what tasks waited for a CPU is part of 'blocked'"},
	GuestSamples:           {"", "sample", " of programs inside virtual machines, of which nothing was recorded"},
	HypervisorSamples:      {"", "sample", " in the hypervisor, which has no symbols here"},
	ExitedTasks:            {"", "sample", " of tasks past their exit, which have no pid any more (comm :-1)"},
	UnknownTasks:           {"", "sample", " whose task the trace does not tell"},
	UnnamedThreads:         {"", "sample", " of threads whose name was never recorded"},
	OverflowTasks:          {"", "sample", ` of more tasks than can be told apart, shown as "[others]"`},
	MergedStacks:           {"", "sample", " of rare stacks merged into their callers, as \"" + replay.MergedFrame + "\", for want of memory"},
	MergedTasks:            {"", "sample", " of tasks that have few do not tell which process it was, for want of memory"},
	DroppedTimes:           {"", "sample", " without a time, for want of memory"},
	OverflowFrames:         {"", "frame", " at more places than can be told apart, shown without a name"},
	AbandonedLookups:       {"", "address look-up", " given up: too many maps and forks lie between"},
	TraceErrors:            {"the hardware trace could not be decoded at ", "place", ""},
	TracedBranches:         {"", "branch", " of a hardware trace: each is shown as the function that it left, without callers, and their number is no time"},
	UnreadLines:            {"left out ", "line", " of no known form, the first is line %d"},
	ShortenedStacks:        {"", "stack", " cut at %d frames"},
}

// errorTexts are sentences about what went wrong, with a place for the error.
var errorTexts = map[WarningKind]string{
	NamingEnded:             "names are missing, since looking for them was cut short: %v",
	DebuginfodFailed:        "debuginfod: %v",
	NamesOfOtherBuild:       "names may be wrong: %v",
	KernelSymbolsUnreadable: "%v; names come from elsewhere",
	UserSymbolsUnreadable:   "%v; names come from elsewhere",
	MissingBuildIDs:         "build ids of some files are missing: %v",
	MissingModules:          "symbols of modules that were loaded meanwhile are not known: %v",
	UnknownRule:             "the recording was made with a rule that is not known here, whose events are shown as they are: %v",
	UnreadFormats:           "fields are shown as bytes: %v",
}

// String is a sentence, without a capital letter and a full stop.
func (w *Warning) String() string {
	switch w.Kind {
	case HardwareTrace:
		what := "a hardware trace (" + cmp.Or(w.Trace.Kind, "of an unknown kind")
		if w.Count > 0 {
			what += fmt.Sprintf(", %d bytes", w.Count)
		}
		return fmt.Sprintf("the recording holds %s), which is not decoded; ordinary samples alone are shown", what)
	case TruncatedRecording:
		if w.Count == 0 {
			return fmt.Sprintf("%s: %v", w.File, w.Err)
		}
		if t := (*perfdata.TruncatedError)(nil); errors.As(w.Err, &t) && t.Offset < 0 {
			return fmt.Sprintf("%s: %v; the rest is converted", w.File, w.Err)
		}
		return fmt.Sprintf("%s: %v; everything before is converted", w.File, w.Err)
	case MissingNames, MissingLines:
		return fmt.Sprintf("%.1f%% of samples have frames without %s in %s: %s", 100*w.Share, w.Kind.missing(), w.File, reasonText(w.Reason, w.Err))
	case MissingInlined:
		return fmt.Sprintf("%.1f%% of samples have frames in %s, of which inlined functions may be missing: %s", 100*w.Share, w.File, reasonText(w.Reason, w.Err))
	case KernelNotMapped:
		return "the recording does not say where its kernel was"
	case UnmatchedSamples, SamplesWithoutValue:
		return w.fieldsText()
	case OverflowLabels:
		return fmt.Sprintf("%s with more values of %s than are told apart, shown as \"[others]\"", plural(w.Count, "sample"), w.Key)
	case SaturatedValues:
		return fmt.Sprintf("%s of %s cut: their sum is too large, and what is shown is less", plural(w.Count, "value"), w.Event)
	case MergedEvents:
		var names []string
		var counts []uint64
		for _, e := range w.Events {
			names, counts = append(names, e.Name), append(counts, e.Samples)
		}
		return fmt.Sprintf("event %s adds up %s samples", w.Event, CountedList(names, counts))
	case SortedInFile:
		return fmt.Sprintf("%d bytes of records were sorted in a temporary file: the recording has too few ends of rounds, or rounds of too many bytes, to sort them in memory", w.Count)
	case UnreadFeatures:
		return fmt.Sprintf("could not read %s of the recording's header, and what they tell is missing: %v", plural(w.Count, "feature"), w.Err)
	case MixedEvents:
		const most = 4 // names
		var names []string
		for _, e := range w.Events[:min(most, len(w.Events))] {
			names = append(names, e.Name)
		}
		if n := len(w.Events) - most; n > 0 {
			names = append(names, fmt.Sprintf("%d more", n))
		}
		return fmt.Sprintf("samples of %s may be mixed up: the kernel (6.3 and later) takes one for the other where both count the same; kprof record tells them apart", strings.Join(names, " and "))
	case TicksForTimes:
		clock := "a clock"
		if w.Clock != "" {
			clock = "the clock " + w.Clock
		}
		return "times are ticks of " + clock + ", not ns: what is shown as a second is 1000000000 of them"
	case OutOfOrder:
		return plural(w.Count, "sample") + " came too late to be in the order of time"
	case UnprintedEvent:
		return fmt.Sprintf("not all fields of %s are printed as the kernel prints them: %v", w.Event, w.Err)
	}
	if text, ok := errorTexts[w.Kind]; ok {
		return fmt.Sprintf(text, w.Err)
	}
	text, ok := lossTexts[w.Kind]
	if !ok {
		return fmt.Sprintf("warning %d", w.Kind)
	}
	before, noun, after := text[0], text[1], text[2]
	if w.AtLeast {
		before += "at least "
	}
	switch w.Kind {
	case UnreadLines:
		after = fmt.Sprintf(after, w.Line)
	case LostSpans, UnendedSpans, UnbegunSpans, OpenSpans:
		after = fmt.Sprintf(after, w.Event)
	case EarlyTimes:
		after = fmt.Sprintf(after, fmt.Sprintf("%d.%06d", w.Early.Until/1e9, w.Early.Until%1e9/1000), w.Early.CPU)
	case ShortenedStacks:
		after = fmt.Sprintf(after, stacks.MaxDepth)
	case CutStacks, CutHistStacks:
		after = fmt.Sprintf(after, w.Frames)
	}
	return fmt.Sprintf("%s%s%s", before, plural(w.Count, noun), after)
}

// fieldsText is the sentence on samples that have no value for an expression.
func (w *Warning) fieldsText() string {
	left := fmt.Sprintf("left out %s of %s", plural(w.Count, "sample"), w.Event)
	switch len(w.Fields) {
	case 0:
		if w.Kind == UnmatchedSamples {
			return left + ", for which the condition has no value"
		}
		return left + ", which have no such value"
	case 1:
		return fmt.Sprintf("%s, which has no field %q", left, w.Fields[0])
	}
	return fmt.Sprintf("%s, which has no fields %q", left, w.Fields)
}

// plural is a number with what it counts.
func plural(n uint64, noun string) string {
	switch {
	case n == 1:
	case noun == "branch":
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
