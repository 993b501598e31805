package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kprof/convert/replay"
	"kprof/convert/span"
	"kprof/convert/stacktext"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// warn adds a warning, and puts it into the Set's comments.
func (p *Profile) warn(w Warning) {
	p.Warnings = append(p.Warnings, w)
	p.comment(p.opts.word(&w))
}

func (p *Profile) comment(warning string) {
	p.Set.Comments = append(p.Set.Comments, "warning: "+warning)
}

// AddLosses warns of what the recording does not hold, as its Stats say.
func (p *Profile) AddLosses() {
	if losses := Losses(&p.Stats); len(losses) > 0 {
		p.Warnings = append(p.Warnings, losses...)
		var words []string
		for i := range losses {
			words = append(words, p.opts.word(&losses[i]))
		}
		p.comment(strings.Join(words, "; "))
	}
	if p.Stats.Truncated != nil {
		p.warn(TruncatedWarning(p.Source, &p.Stats, p.Stats.Truncated))
	}
}

// TruncatedWarning is the warning of a recording that ended before its end because of err.
func TruncatedWarning(name string, s *replay.Stats, err error) Warning {
	w := Warning{Kind: TruncatedRecording, File: name, Err: err}
	for _, e := range s.Samples {
		w.Count += e.Samples
	}
	return w
}

// Losses are what a recording does not hold, or what of it could not be used, by what
// was seen of its records.
func Losses(s *replay.Stats) []Warning {
	var l []Warning
	if s.Trace != (replay.HardwareTrace{}) {
		l = append(l, Warning{Kind: HardwareTrace, Count: s.Trace.Bytes, Trace: s.Trace})
	}
	returns := UnseenReturns
	if s.Lost > 0 || s.LostAtLeast || s.LostSamples > 0 {
		returns = LostReturns
	}
	l = appendCounted(l, []Warning{
		{Kind: LostRecords, Count: s.Lost, AtLeast: s.LostAtLeast},
		{Kind: LostSamples, Count: s.LostSamples},
		{Kind: Throttled, Count: s.Throttled},
		{Kind: SamplesOfUnknownEvent, Count: s.UnknownEvent},
		{Kind: ShortSamples, Count: s.BadSamples},
		{Kind: BadRecords, Count: s.BadRecords},
		{Kind: MissingDeferredChains, Count: s.MissingDeferredChains},
		{Kind: StackCopiesUnsupported, Count: s.UnwalkedStacks},
		{Kind: DroppedCopies, Count: s.DroppedCopies},
		{Kind: TruncatedStacks, Count: s.TruncatedStacks},
		{Kind: UnfinishedWaits, Count: s.UnfinishedWaits},
		{Kind: returns, Count: s.OffCPU.Lost},
		{Kind: OtherBuffers, Count: s.OtherBuffers},
		{Kind: LateSwitches, Count: s.LatePoints},
		{Kind: EarlyTimes, Count: s.Early.Count, Early: s.Early},
		{Kind: StillOffCPU, Count: s.OffCPU.Open},
		{Kind: WithoutWakeups, Count: withoutWakeups(&s.OffCPU)},
		{Kind: GuestSamples, Count: s.Guest},
		{Kind: HypervisorSamples, Count: s.Hypervisor},
		{Kind: ExitedTasks, Count: s.Exited},
		{Kind: UnknownTasks, Count: s.UnknownTask},
		{Kind: UnnamedThreads, Count: s.Unnamed},
		{Kind: OverflowTasks, Count: s.OverflowTasks},
		{Kind: MergedStacks, Count: s.MergedSamples},
		{Kind: MergedTasks, Count: s.MergedTasks},
		{Kind: DroppedTimes, Count: s.TimelessSamples},
		{Kind: OverflowFrames, Count: s.OverflowFrames},
		{Kind: AbandonedLookups, Count: s.AbandonedLookups},
	})
	for _, c := range s.Cut {
		l = append(l, Warning{Kind: CutStacks, Count: c.Stacks, Frames: c.Frames})
	}
	for i := range s.Spans {
		p := &s.Spans[i]
		l = appendCounted(l, []Warning{
			{Kind: LostSpans, Count: p.Lost, Event: p.Name},
			{Kind: UnendedSpans, Count: p.Unended, Event: p.Name},
			{Kind: UnbegunSpans, Count: p.Unbegun, Event: p.Name},
			{Kind: OpenSpans, Count: p.Open, Event: p.Name},
		})
	}
	for _, o := range s.OverflowLabels {
		l = append(l, Warning{Kind: OverflowLabels, Count: o.Samples, Key: o.Key})
	}
	for i := range s.Samples {
		e := &s.Samples[i]
		l = appendCounted(l, []Warning{
			{Kind: UnmatchedSamples, Count: e.Unmatched, Event: e.Name, Fields: e.NoMatch},
			{Kind: SamplesWithoutValue, Count: e.Valueless, Event: e.Name, Fields: e.NoValue},
			{Kind: SaturatedValues, Count: e.Saturated, Event: e.Name},
		})
	}
	return l
}

// withoutWakeups is how many tasks slept and came back, if none of them was seen to be
// woken: then wake-ups were not recorded. One alone may have been woken before.
func withoutWakeups(s *span.OffStats) uint64 {
	if s.Woken > 0 {
		return 0
	}
	return s.Unwoken
}

// textLosses are what a text does not hold, or what of it could not be used.
func textLosses(s *stacktext.Stats) []Warning {
	return appendCounted(nil, []Warning{
		{Kind: LostRecords, Count: s.Lost},
		{Kind: TraceErrors, Count: s.Errors},
		{Kind: TracedBranches, Count: s.Branches},
		{Kind: UnreadLines, Count: s.Unread, Line: s.FirstUnread},
		{Kind: ShortenedStacks, Count: s.ShortenedStacks},
		{Kind: CutStacks, Count: s.CutStacks, Frames: s.CutFrames},
		{Kind: CutHistStacks, Count: s.CutHistStacks, Frames: s.CutFrames},
		{Kind: OverflowTasks, Count: s.OverflowTasks},
		{Kind: MissingDeferredChains, Count: s.MissingDeferredChains},
	})
}

// SourceLosses are what a recording has that is shown as none of its events, and what of its
// header could not be read, unless it ended before that.
func SourceLosses(r *perfdata.Reader) []Warning {
	var l []Warning
	if n := len(r.BadFeatures); n > 0 && !r.Truncated {
		l = append(l, Warning{Kind: UnreadFeatures, Count: uint64(n), Err: r.BadFeatures[0]})
	}
	if mixed := mixedEvents(r); len(mixed) > 0 {
		l = append(l, Warning{Kind: MixedEvents, Events: mixed})
	}
	if clock, ticks := r.Ticks(); ticks {
		l = append(l, Warning{Kind: TicksForTimes, Clock: clock})
	}
	g := r.Gaps()
	l = appendCounted(l, []Warning{{Kind: UnreadLines, Count: g.UnreadLines, Line: g.FirstUnread}})
	if g.CallEvent == "" {
		return l
	}
	return appendCounted(l, []Warning{
		{Kind: LostSpans, Count: g.LostCalls, Event: g.CallEvent},
		{Kind: UnendedSpans, Count: g.UnendedCalls, Event: g.CallEvent},
		{Kind: UnbegunSpans, Count: g.UnbegunCalls, Event: g.CallEvent},
	})
}

// mixedEvents are events of which the kernel may have told samples of one as those of another
// (abi.Attr.SharesSamples), of the same fields, so that nothing tells them apart. User code alone
// and the kernel alone have no samples in common.
func mixedEvents(r *perfdata.Reader) (mixed []EventCount) {
	if !since(r.Features.OSRelease, 6, 3) {
		return nil
	}
	type kind struct {
		config uint64
		fields abi.SampleType
		where  abi.Flags
	}
	const where = abi.FlagExcludeUser | abi.FlagExcludeKernel
	of := func(e *perfdata.Event) kind { return kind{e.Attr.Config, e.Attr.SampleType, e.Attr.Flags & where} }
	counts := map[kind]int{}
	for _, e := range r.Events.Events {
		if e.Attr.SharesSamples() {
			counts[of(e)]++
		}
	}
	for _, e := range r.Events.Events {
		if !e.Attr.SharesSamples() {
			continue
		}
		k := of(e)
		others := counts[k] - 1
		for _, w := range [...]abi.Flags{0, abi.FlagExcludeUser, abi.FlagExcludeKernel} {
			if w != k.where && w|k.where != where {
				others += counts[kind{k.config, k.fields, w}]
			}
		}
		if others > 0 {
			mixed = append(mixed, EventCount{Name: e.Name})
		}
	}
	return mixed
}

// since reports whether a release of Linux, "6.12.3-amd64", is of a version or a later one.
func since(release string, major, minor int) bool {
	var a, b int
	n, _ := fmt.Sscanf(release, "%d.%d", &a, &b)
	return n == 2 && (a > major || a == major && b >= minor)
}

// appendCounted appends those that count something.
func appendCounted(l, counted []Warning) []Warning {
	for _, w := range counted {
		if w.Count > 0 {
			l = append(l, w)
		}
	}
	return l
}

// addMerged warns of the events that are shown as one.
func (p *Profile) addMerged() {
	merged := map[string][]EventCount{}
	for _, e := range p.Stats.Samples {
		if e.Shown != "" && e.Shown != e.Name && e.Name != e.Shown+abi.CopiesSuffix { // as it was asked for
			merged[e.Shown] = append(merged[e.Shown], EventCount{e.Name, e.Taken})
		}
	}
	for _, shown := range slices.Sorted(maps.Keys(merged)) {
		p.Warnings = append(p.Warnings, Warning{Kind: MergedEvents, Event: shown, Events: merged[shown]})
	}
}
