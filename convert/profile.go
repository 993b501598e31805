package convert

import (
	"cmp"
	"slices"
	"strings"

	"kprof/convert/bootlog"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/convert/stacktext"
	"kprof/convert/transform"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
)

// Profile is a Set of named stacks with what belongs to it: where it comes from, and
// what was lost on the way.
type Profile struct {
	Set    *stacks.Set
	Source string // name of the input

	// Of a recording; nil and zero for a profile of another tool.
	Events []abi.Event        // by the names that they are shown under
	Stats  replay.Stats       // what was seen of its records
	Header *perfdata.Features // what it says of itself

	// Warnings are what the profile lacks, and what may be wrong in it. What matters
	// to who reads the profile later is among the Set's Comments too.
	Warnings []Warning

	perfScript bool // the input is what perf script printed
	opts       *Options
	none       *transform.NoneError // of a part, why nothing is left
	whole      [][]int64            // by event and column: AllStacks; nil without Transforms

	// Of a recording.
	release  string // of the kernel
	foreign  bool   // of another machine or boot
	unplaced bool   // it does not say of which
}

// New returns the profile of a Set that was collected while recording: of the events,
// on the machine and by the command that header tells. It has no names yet, see
// AddNames, nor Warnings of what was lost, see AddLosses.
func New(set *stacks.Set, events []abi.Event, stats replay.Stats, header *perfdata.Features, o Options) *Profile {
	p := &Profile{Set: set, Source: o.Name, Events: events, Stats: stats, Header: header, opts: &o}
	p.describe()
	return p
}

// OfBoot returns the profile of what a kernel called while it booted.
func OfBoot(l *bootlog.Log, o Options) *Profile {
	return &Profile{Set: l.Set(), Source: o.Name, opts: &o}
}

// Symbolizer returns what finds the files that have the profile's code, where its names are
// from. Close it.
func (p *Profile) Symbolizer() *symbolize.Symbolizer {
	var so symbolize.Options
	if p.opts != nil {
		so = p.opts.Symbols
	}
	// What is no recording may come from anywhere.
	so.Release, so.Foreign = cmp.Or(so.Release, p.release), so.Foreign || p.foreign || p.Header == nil
	so.Unplaced = so.Unplaced || p.unplaced
	return symbolize.New(so)
}

func (p *Profile) describeEvents() {
	for i := range p.Set.Events {
		p.Set.Comments = append(p.Set.Comments, eventComment+p.Set.Events[i].Name)
	}
}

// OfPerf reports whether the profile is one of perf's: a recording, what perf script
// printed of one, or what was made of one here.
func (p *Profile) OfPerf() bool {
	return p.Header != nil || p.Events != nil || p.perfScript || len(p.CommentedEvents()) > 0
}

// CommentedEvents returns the events that the profile's comments name: those of the
// recording that it was made of here, in their order.
func (p *Profile) CommentedEvents() (names []string) {
	for _, c := range p.Set.Comments {
		if name, ok := strings.CutPrefix(c, eventComment); ok {
			names = append(names, name)
		}
	}
	return names
}

// eventComment begins the comments that only recordings, and perf script's text, have.
const eventComment = "event: "

// describe writes into the Set's comments what the recording says of itself.
func (p *Profile) describe() {
	add := func(what, value string) {
		if value != "" {
			p.Set.Comments = append(p.Set.Comments, what+value)
		}
	}
	f := p.Header
	add("command: ", strings.Join(f.Cmdline, " "))
	add("host: ", f.Hostname)
	add("kernel: ", strings.TrimSpace(f.OSRelease+" "+f.Arch))
	add("cpu: ", f.CPUDesc)
	p.describeEvents()
}

// WeightColumn returns the column of an event that the weights of its samples are
// taken from: what Options.Value asks for, else by its kind, their number or their
// periods; of a profile that others made what it names as its default, else the last,
// as pprof does.
func (p *Profile) WeightColumn(event int) int {
	if p.opts != nil && p.opts.Value != nil {
		return valueColumn(&p.Set.Events[event], p.opts.Value.Text())
	}
	i := slices.IndexFunc(p.Events, func(e abi.Event) bool { return e.Name == p.Set.Events[event].Name })
	switch {
	case i < 0 && p.perfScript && stacktext.IsTracepoint(p.Set.Events[event].Name):
		return 0
	case i < 0:
		return defaultColumn(&p.Set.Events[event], p.Set.DefaultType)
	}
	return replay.WeightColumn(p.Set, event, &p.Events[i].Attr)
}

// defaultColumn returns the column of that type, or the last if there is none.
func defaultColumn(e *stacks.Event, defaultType string) int {
	i := slices.IndexFunc(e.Values, func(v stacks.ValueType) bool { return v.Type == defaultType })
	if i < 0 {
		return len(e.Values) - 1
	}
	return i
}

// valueColumn returns the column of an event that has the value asked for: the last,
// unless the profile was made by somebody else.
func valueColumn(e *stacks.Event, value string) int {
	i := slices.IndexFunc(e.Values, func(v stacks.ValueType) bool { return v.Type == value || v.Type == e.Name+"."+value })
	if i < 0 {
		return len(e.Values) - 1
	}
	return i
}

// ShownColumn returns the WeightColumn of an event, or where all values in that are 0, which
// weightless tells, the first column in which not all are: of recordings the number of samples.
func (p *Profile) ShownColumn(event int) (column int, weightless bool) {
	column = p.WeightColumn(event)
	if !p.weightless(event, column) {
		return column, false
	}
	for c := range p.Set.Events[event].Values {
		if c != column && !p.weightless(event, c) {
			return c, true
		}
	}
	return column, false
}

// weightless reports whether all values in a column are 0; those of all columns if
// column is -1, of all events if event is.
func (p *Profile) weightless(event, column int) bool {
	s := p.Set
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if event >= 0 && x.Event != event {
			continue
		}
		for c, v := range x.Values {
			if v != 0 && (column < 0 || c == column) {
				return false
			}
		}
	}
	return true
}

// ShownFirst makes the event with the most samples the Set's default, where there are
// several and it has none.
func (p *Profile) ShownFirst() {
	if most := p.Set.Most(); p.Set.DefaultType == "" && len(p.Set.Events) > 1 {
		p.Set.DefaultType = p.Set.Events[most].Values[p.WeightColumn(most)].Type
	}
}

// MainEvent returns the event with the most samples and its ShownColumn: what to show
// where only one can be; 0, 0 where there is none.
func (p *Profile) MainEvent() (event, column int) {
	if len(p.Set.Events) == 0 {
		return 0, 0
	}
	event = p.Set.Most()
	column, _ = p.ShownColumn(event)
	return event, column
}
