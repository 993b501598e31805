package replay

import (
	"slices"
	"strings"

	"kprof/convert/locate"
	"kprof/convert/payload"
	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/spanrule"
	"kprof/symbolize"
)

// Selection says which samples of a recording to take, what they count, and which labels they
// get. The zero value takes all, counts their periods, and labels them with comm and pid.
type Selection struct {
	Events []string // events to take, as stacks.Choose finds them; none for all
	PIDs   []int32  // processes to take, none for all
	TIDs   []int32  // threads to take, none for all
	Comms  []string // names of threads to take, none for all
	CPUs   []int32  // processors to take, none for all

	// Where is what samples must match to be taken, an expression on the fields of their
	// event and on what every sample has: comm, pid, tid, cpu, time and event. Those of an
	// event without the fields do not. Nil for all.
	Where *expr.Expr
	// Value is what a sample counts in the place of its period: its event's second column
	// is the sum of it. Samples without are left out. Nil for periods.
	Value *expr.Expr
	// Unit is that of Value. Default: that of the fields in it, where they are well known
	// (format.Unit), else "count".
	Unit string
	// Formats are those of the events of what arrives live; a recording has its own.
	Formats *payload.Formats

	// OffCPU makes a profile of the times that tasks were off the CPU, of the samples of
	// sched:sched_switch and the wake-ups, in the place of the events: see OffCPUEvent.
	// What else is selected is when and where tasks left.
	OffCPU bool
	// WallClock makes a profile of where the time of threads went, on the CPU and off it: of
	// the switches as OffCPU does, and of samples of cpu-clock or task-clock. See
	// WallClockEvent.
	WallClock bool
	// Wakers puts the stack of who woke a task in front of the one at which the task left,
	// the other way around, with a frame WakerFrame in between, and makes its name the label
	// WakerLabel. It is for OffCPU and WallClock.
	Wakers bool
	// Spans are rules of which a profile of the times between events is made, in the place
	// of the events: each rule is an event of the Set, see SpanStats. What else is selected
	// is when and where spans began; Where may be of either end.
	Spans []*spanrule.Rule
	// Beside keeps the events that are of no rule and no times off the CPU.
	Beside bool
	// SlowerThan leaves out shorter times of Spans and OffCPU, ns.
	SlowerThan uint64
	// SpanFields labels spans with the fields that their rules fetch too: what functions
	// were called with, and what they returned.
	SpanFields bool

	Labels Labels // labels besides comm and pid
	// FieldLabels are fields of events whose values are labels too: names, or
	// "field.NAME" or "EVENT.NAME" where that is the name of something else.
	FieldLabels []string

	// Times keeps the time of each sample that has one (stacks.Set.TimedSamples), 24
	// bytes each. Memory then grows with the number of samples.
	Times bool

	// Blocks keeps the sums of samples over blocks of time (stacks.Set.BlockSums), a few
	// hundred of a row at most, and not those of times that something took.
	Blocks bool

	// MaxMemory is how many bytes stacks, rows and times may take, at least 8 MiB. Above it the
	// samples of rare stacks are merged into their callers, as MergedFrame, those of tasks
	// that have few do not tell their process, and the times of single samples are not
	// kept; Stats say of how many. Where rows are made of pairs of events, stacks that are
	// not known by then are MergedFrame alone. 0 is no bound.
	MaxMemory int64

	// GuestModules are the modules of the kernel of a virtual machine that was recorded: from where
	// to where they are, with File as perf calls them ("[ext4]").
	GuestModules []stacks.Mapping
}

// Options are a Selection, and what else the replaying of records takes. The zero value takes
// all samples and labels them with comm and pid.
type Options struct {
	Selection
	// From and To bound the times of samples, in ns of the recording's clock,
	// both inclusive. To 0 is no bound.
	From, To uint64
	// Window makes From and To of the times of the first and the last sample of the
	// recording, for bounds that are relative to them. What arrives only once has
	// no last one yet: it is 0. The first is 0 where samples have no time. Nil for
	// From and To as they are.
	Window func(first, last uint64) (from, to uint64, err error)

	// Machine is that of what arrives live, as uname -m or Go calls it; a recording says
	// its own. Default: this one.
	Machine string

	// JITCode returns what a jitdump says, in the order of time; nil for nobody
	// who reads it. It is asked where times of dumps are those of the recording.
	JITCode func(JITDump) []symbolize.JITCode

	// KernelSymbols says that the kernel's symbols are at hand: they are looked up
	// also where the recording does not say that there is a kernel.
	KernelSymbols bool
	// KernelCode returns what finds the function at an address of the recorded kernel, whose
	// image is m, for labels of fields that are such addresses. It is asked when the first
	// is met; nil, or a nil function, leaves them numbers.
	KernelCode func(m stacks.Mapping) symbolize.FindCode

	// Unwind walks the copies of stacks; nil leaves these samples the function
	// that ran.
	Unwind *Unwind
}

// Labels is a set of labels that multiply the distinct samples.
type Labels uint8

const (
	LabelTID Labels = 1 << iota
	LabelCPU
	// LabelTook is how long what Spans and OffCPU tell took: TookLabel.
	LabelTook
)

// Unwind walks the stacks of which samples carry copies (perf record --call-graph
// dwarf). Recordings of other machines need their files for it, as for names.
type Unwind = locate.Unwind

// JITDump is a file in which a process writes what code it makes at run time. The
// process maps it once, to tell whoever records it.
type JITDump = timeline.JITDump

// HardwareTrace is what a processor wrote besides the samples.
type HardwareTrace = samples.HardwareTrace

// pairs reports whether rows are made of pairs of events.
func (o *Options) pairs() bool { return o.OffCPU || o.WallClock || len(o.Spans) > 0 }

// labelKeys are FieldLabels, and those of the rules of spans. What is a label anyway is left
// out.
func (o *Options) labelKeys() (keys []labelKeyOf) {
	given := map[string]bool{OffCPUState: o.OffCPU || o.WallClock, StackLabel: o.OffCPU || o.WallClock, WakerLabel: o.Wakers, SpanLabel: len(o.Spans) > 0}
	for _, r := range o.Spans {
		for _, f := range r.Families {
			for _, s := range slices.Concat(f.Starts, f.Ends) {
				for _, l := range s.Labels {
					given[l.Key] = true
					k := labelKeyOf{key: l.Key, qualifier: s.Event, field: l.Field, as: l.As, ofRule: true}
					if !slices.ContainsFunc(keys, func(have labelKeyOf) bool { return have.same(&k) }) {
						keys = append(keys, k)
					}
				}
			}
		}
	}
	if o.SpanFields {
		for _, r := range o.Spans {
			for _, f := range r.Fields {
				if !given[f] {
					given[f] = true
					keys = append(keys, labelKeyOf{key: f, field: f, ofRule: true})
				}
			}
		}
	}
	for _, key := range o.FieldLabels {
		if given[key] {
			continue
		}
		k := labelKeyOf{key: key, field: key}
		if i := strings.LastIndexByte(key, '.'); i >= 0 {
			k.qualifier, k.field = key[:i], key[i+1:]
		}
		keys = append(keys, k)
	}
	return keys
}

// jitCode is JITCode as the Timeline takes it.
func (o *Options) jitCode() func(JITDump) []timeline.JITCode {
	if o.JITCode == nil {
		return nil
	}
	return func(d JITDump) []timeline.JITCode {
		codes := o.JITCode(d)
		all := make([]timeline.JITCode, len(codes))
		for i, c := range codes {
			all[i] = timeline.JITCode(c)
		}
		return all
	}
}
