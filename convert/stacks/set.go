// Package stacks is the one model of a profile: a compact set of call stacks
// with names, labels and values.
//
// A Set is a handful of tables that refer to each other by index. Equal stacks,
// label sets and functions are stored once, so that memory grows with the
// number of different stacks and not with the number of samples:
//
//	Sample ──► stack ──► Location ──► Mapping
//	   │  │                  └──► Line ──► Function
//	   │  └──► label set
//	   └──► Event ──► value columns
//
// Every input becomes a Set and every output is made from one. While a Set is
// being built, one goroutine owns it; once built and named it is read-only.
package stacks

import (
	"fmt"
	"slices"

	"kprof/symbolize/mapping"
)

// ValueType says what a column of values counts, and in which unit.
type ValueType struct {
	Type, Unit string
}

// Words are what a reader is told: "cpu of nanoseconds", or the type alone where others gave no unit.
func (v ValueType) Words() string {
	if v.Unit == "" {
		return v.Type
	}
	return v.Type + " of " + v.Unit
}

// Event is one source of samples. A sample belongs to one event and has one
// value for each of its columns. A profile of another tool is one event that
// has all of the profile's columns.
type Event struct {
	Name   string
	Values []ValueType
	// Instants says that a sample is something that happened, as of tracepoints and
	// probes: it has no length in time. Others stand for the time until the next.
	Instants bool
	// UnknownPeriods says that nothing tells how much of the event each sample stands for.
	UnknownPeriods bool
}

// Mappings and their kinds are those in which a Symbolizer finds names.
type (
	Kind    = mapping.Kind
	Mapping = mapping.Mapping
	FileID  = mapping.ID
)

const (
	KindUnknown    = mapping.Unknown
	KindKernel     = mapping.Kernel
	KindModule     = mapping.Module
	KindBPF        = mapping.BPF
	KindUser       = mapping.User
	KindVDSO       = mapping.VDSO
	KindAnon       = mapping.Anon
	KindGuest      = mapping.Guest
	KindHypervisor = mapping.Hypervisor
)

// NoMapping is the Mapping of a Location that lies in none.
const NoMapping = -1

// Location is one code address: the instruction itself for a leaf, the byte
// before the return address for a caller.
type Location struct {
	Mapping int32  // index into Set.Mappings, or NoMapping
	Addr    uint64 // run-time address in Mapping's own range
	Kind    Kind   // that of the mapping, or what the recording tells without one

	line, lines uint32 // Set.lines[line : line+lines]
}

// Line is a function at a location. Of several at one location the first is the
// innermost, inlined into the next.
type Line struct {
	Function uint32 // index into Set.Functions
	Line     int64  // source line, 0 if unknown
	Column   int64
}

// Function is a named piece of code.
type Function struct {
	Name       string // for people, demangled
	SystemName string // as the linker knows it
	File       string // source file, "" if unknown
	StartLine  int64  // first source line, 0 if unknown
}

// Label is a key with a string, or with a number when Str is empty.
type Label struct {
	Key  string
	Str  string
	Num  int64
	Unit string // of Num; "" means what the key says
}

// Sample is a row: a stack seen with certain labels for an event, and the sums
// of its values.
type Sample struct {
	Stack  StackID
	Labels LabelsID
	Event  int
	Values []int64 // one for each of the event's columns; owned by the Set
}

// StackID names an interned stack, LabelsID an interned list of labels. Both
// count from 0; LabelsID 0 is the empty list.
type (
	StackID  uint32
	LabelsID uint32
)

// Set is a profile. Exported slices may be read by everyone and are changed only
// through methods. Use New.
type Set struct {
	Events    []Event
	Mappings  []Mapping
	Locations []Location
	Functions []Function

	Comments      []string
	TimeNanos     int64 // start, Unix time in ns, 0 if unknown
	DurationNanos int64
	PeriodType    ValueType
	Period        int64 // of PeriodType.Unit between two samples, 0 if none or varying
	DefaultType   string
	DocURL        string
	// DropFrames and KeepFrames are pprof's regular expressions, kept for
	// profiles that bring them.
	DropFrames, KeepFrames string

	// CallersExact says that callers were recorded as the places of their calls:
	// their locations are not the bytes before return addresses.
	CallersExact bool

	// TimedSamples are the single samples behind the rows, in the order of their
	// times; nil where times were not kept. See AddTimedSample and SortTimedSamples.
	TimedSamples []TimedSample
	// Wakes are the wake-ups within the times off the CPU among them, in no order; nil where
	// who woke was not asked for. What is merged into a Set adds none.
	Wakes []Wake

	// BlockSums are sums of these over blocks of time, in the order of blocks; nil where
	// they were not kept. A Set may have both, or either. See AddBlockSum and SumBlocks.
	BlockSums []BlockSum

	lines     []Line
	functions functionTable
	labels    labelTable
	chains    chainTable
	rows      rowTable

	blockShift uint8 // blocks of time are as many bits of nanoseconds long
	summed     int   // number of BlockSums after they were last added up
}

// New returns an empty Set for the given events.
func New(events ...Event) *Set {
	s := &Set{Events: events}
	s.functions.init(0)
	s.labels.init()
	s.chains.init()
	s.rows.init()
	return s
}

// Grow makes room for that many more functions, and locations with a line each. Without
// it the Set grows as they come.
func (s *Set) Grow(functions, locations int) {
	if len(s.Functions) == 0 {
		s.functions.init(functions)
	}
	s.Functions = slices.Grow(s.Functions, functions)
	s.Locations = slices.Grow(s.Locations, locations)
	s.lines = slices.Grow(s.lines, locations)
}

// GrowLines makes room for that many more lines of locations.
func (s *Set) GrowLines(n int) { s.lines = slices.Grow(s.lines, n) }

// AddEvent appends an event and returns its index.
func (s *Set) AddEvent(e Event) int {
	s.Events = append(s.Events, e)
	return len(s.Events) - 1
}

// AddMapping appends m and returns its index. It does not look for an equal one.
func (s *Set) AddMapping(m Mapping) int32 {
	s.Mappings = append(s.Mappings, m)
	return int32(len(s.Mappings) - 1)
}

// AddLocation appends a location and returns its index. It does not look for an
// equal one: what makes two locations equal is the caller's to know.
func (s *Set) AddLocation(mapping int32, addr uint64, kind Kind) uint32 {
	s.Locations = append(withRoom(s.Locations), Location{Mapping: mapping, Addr: addr, Kind: kind})
	return uint32(len(s.Locations) - 1)
}

// AddFunction returns the index of f, which it appends if it is new.
func (s *Set) AddFunction(f Function) uint32 {
	return s.addFunction(&f, s.functions.hash(&f))
}

func (s *Set) addFunction(f *Function, hash uint64) uint32 {
	p := s.functions.index.Probe(hash)
	for id, ok := p.Next(); ok; id, ok = p.Next() {
		if s.Functions[id] == *f {
			return id
		}
	}
	id := uint32(len(s.Functions))
	s.Functions = append(s.Functions, *f)
	s.functions.index.Put(p, id)
	return id
}

// CopyLocations gives a new Set the mappings and locations of another, under the same
// numbers, and their lines.
func (s *Set) CopyLocations(from *Set) {
	for _, m := range from.Mappings {
		s.AddMapping(m)
	}
	for loc, l := range from.Locations {
		s.AddLocation(l.Mapping, l.Addr, l.Kind)
		var lines []Line
		for _, x := range from.Lines(uint32(loc)) {
			x.Function = s.AddFunction(from.Functions[x.Function])
			lines = append(lines, x)
		}
		s.SetLines(uint32(loc), lines...)
	}
}

// SetLines names a location. It is to be called at most once for each.
func (s *Set) SetLines(loc uint32, lines ...Line) {
	l := &s.Locations[loc]
	l.line, l.lines = uint32(len(s.lines)), uint32(len(lines))
	s.lines = append(s.lines, lines...)
}

// Lines are the functions at a location, innermost first; none if it has no
// name. The slice belongs to the Set.
func (s *Set) Lines(loc uint32) []Line {
	l := &s.Locations[loc]
	return s.lines[l.line : l.line+l.lines : l.line+l.lines]
}

// Intern returns the id of a stack given as locations, leaf first. The slice is
// copied. It panics on a stack of more than MaxDepth locations.
func (s *Set) Intern(stack []uint32) StackID { return StackID(s.chains.intern(stack)) }

// Knows reports whether a stack has an id.
func (s *Set) Knows(stack []uint32) bool { return s.chains.knows(stack) }

// InternAll appends to ids those of many stacks, as Intern would give them one
// after the other: ends are where each ends in locs. It is faster, as it waits for
// memory of several at once.
func (s *Set) InternAll(ids []StackID, locs []uint32, ends []int) []StackID {
	return s.chains.internAll(ids, locs, ends)
}

// Stack returns the locations of a stack, leaf first. The slice belongs to the
// Set.
func (s *Set) Stack(id StackID) []uint32 { return s.chains.at(uint32(id)) }

// NumStacks is the number of distinct stacks.
func (s *Set) NumStacks() int { return len(s.chains.pos) }

// InternLabels returns the id of a list of labels, whose order counts. The
// slice is copied.
func (s *Set) InternLabels(l []Label) LabelsID { return s.labels.intern(l) }

// Labels returns the labels of an id. The slice belongs to the Set.
func (s *Set) Labels(id LabelsID) []Label { return s.labels.sets[id] }

// NumLabels is the number of distinct label lists.
func (s *Set) NumLabels() int { return len(s.labels.sets) }

// LabelKeys are the keys of the labels that there are, sorted.
func (s *Set) LabelKeys() []string {
	var keys []string
	for id := range s.NumLabels() {
		for _, l := range s.Labels(LabelsID(id)) {
			if !slices.Contains(keys, l.Key) {
				keys = append(keys, l.Key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// Label returns the label with the given key, and whether there is one.
func (s *Set) Label(id LabelsID, key string) (Label, bool) {
	for _, l := range s.labels.sets[id] {
		if l.Key == key {
			return l, true
		}
	}
	return Label{}, false
}

// Add adds values, one for each column of the event, to the row of that stack,
// labels and event, and returns the row's number. It panics if their number is
// wrong or above MaxColumns.
func (s *Set) Add(event int, stack StackID, labels LabelsID, values ...int64) int {
	if len(values) != len(s.Events[event].Values) {
		panic(fmt.Sprintf("stacks: %d values for the %d columns of event %q",
			len(values), len(s.Events[event].Values), s.Events[event].Name))
	}
	if len(values) > MaxColumns {
		panic(fmt.Sprintf("stacks: %d columns, at most %d can be stored", len(values), MaxColumns))
	}
	return int(s.rows.add(uint32(event), uint32(stack), uint32(labels), values, s.chains.mark(uint32(stack))))
}

// Fetch brings the first rows of some stacks near, of which Add will have need: it
// waits for the memory of several at once. They should fit into the CPU's cache.
func (s *Set) Fetch(ids []StackID) { s.rows.fetch(&s.chains, ids) }

// NumSamples is the number of rows.
func (s *Set) NumSamples() int { return s.rows.n }

// Sample returns row i. Rows are in the order in which they were first added.
func (s *Set) Sample(i int) Sample {
	r := s.rows.at(i)
	return Sample{
		Stack:  StackID(r.stack),
		Labels: LabelsID(r.labels),
		Event:  int(r.event),
		Values: s.rows.valuesAt(r.value, len(s.Events[r.event].Values)),
	}
}

// Totals sums each column of an event over its rows.
func (s *Set) Totals(event int) []int64 {
	sum := make([]int64, len(s.Events[event].Values))
	for i := range s.rows.n {
		r := s.rows.at(i)
		if int(r.event) != event {
			continue
		}
		for c, v := range s.rows.valuesAt(r.value, len(sum)) {
			sum[c] += v
		}
	}
	return sum
}

// BelowZero counts the rows of an event whose value in a column is negative, which have no
// width in a picture.
func (s *Set) BelowZero(event, column int) (rows int) {
	for i := range s.rows.n {
		r := s.rows.at(i)
		if int(r.event) == event && s.rows.valuesAt(r.value, column+1)[column] < 0 {
			rows++
		}
	}
	return rows
}

// EventIndex returns the index of the event called name, or -1.
func (s *Set) EventIndex(name string) int {
	for i, e := range s.Events {
		if e.Name == name {
			return i
		}
	}
	return -1
}
