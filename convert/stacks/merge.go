package stacks

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"kprof/convert/intern"
)

// Merge adds the samples of src to s. Events are matched by name and columns,
// functions and label lists by what they hold, mappings and locations as a [Merger]
// does; what s does not have is appended. Comments that s lacks are appended, durations
// added, and the earlier start time is kept. TimedSamples and BlockSums are sorted by time together,
// whether or not the two were recorded by the same clock. Of what describes a whole profile (period,
// default type, URL, frames to drop or keep) s's own stays.
//
// Locations of s that are equal stay apart; those of src join the first equal one.
// To add up many Sets a Merger is faster.
func (s *Set) Merge(src *Set) {
	m := newMerger(s, MergeOptions{})
	a := addition{Merger: m, src: src, how: Addend{Scale: 1}}
	for _, e := range src.Events {
		i := slices.IndexFunc(s.Events, func(d Event) bool {
			return d.Name == e.Name && slices.Equal(d.Values, e.Values)
		})
		if i < 0 {
			i = s.AddEvent(e)
		}
		a.events = append(a.events, target{event: i})
	}
	a.add()
	s.SortTimedSamples()
	s.SumBlocks()
	for _, c := range src.Comments {
		if !slices.Contains(s.Comments, c) {
			s.Comments = append(s.Comments, c)
		}
	}
	s.mergeTimes(src)
}

func (s *Set) mergeTimes(src *Set) {
	if s.TimeNanos == 0 || src.TimeNanos != 0 && src.TimeNanos < s.TimeNanos {
		s.TimeNanos = src.TimeNanos
	}
	s.DurationNanos += src.DurationNanos
}

// MergeOptions say what a Merger takes for equal.
type MergeOptions struct {
	// Functions makes one location of all that have the same functions and lines in the
	// same mapping: those without a name stay apart. It loses the addresses.
	Functions bool
}

// Merger adds up Sets one after the other, whatever their order. It keeps what is
// different in them, and nothing of each: memory grows with the number of different
// stacks with different labels.
//
// Mappings of one file and build id are one, wherever the machines and processes had
// them (the addresses of a kernel and of its modules are randomized at each boot); so are
// those of one file, offset and size without a build id, but for kernels, whose builds
// only the build id tells. Locations are equal at equal distances from the start of their
// mapping, if they have the same lines. They get the addresses of the first Set that has
// the mapping.
//
// Events are equal if they have the same name and columns, where an event alone and one of
// several, which have their columns named differently, may have the same. Columns that differ in
// nothing but units of which one becomes the other (UnitRatio) have the finest in the sum.
type Merger struct {
	set      *Set
	o        MergeOptions
	mapping  map[mappingKey]int32
	location intern.Index // of the sum's locations
	seed     uint64
	merged   []mergedEvent
	comments map[string]bool
	sets     int
	rest     remainders // of values that were multiplied
}

// NewMerger returns a Merger that has nothing to add up yet.
func NewMerger(o MergeOptions) *Merger { return newMerger(New(), o) }

func newMerger(s *Set, o MergeOptions) *Merger {
	m := &Merger{
		set: s, o: o, comments: map[string]bool{},
		mapping:  make(map[mappingKey]int32, len(s.Mappings)),
		location: intern.NewIndexFor(len(s.Locations)), seed: intern.Seed(),
	}
	for i := range s.Mappings {
		if k := keyOf(&s.Mappings[i]); !m.hasMapping(k) {
			m.mapping[k] = int32(i)
		}
	}
	for i := range s.Locations {
		l, lines := &s.Locations[i], s.Lines(uint32(i))
		if p, _, known := m.findLocation(l, lines, m.hashLocation(l, lines)); !known {
			m.location.Put(p, uint32(i))
		}
	}
	return m
}

func (m *Merger) hasMapping(k mappingKey) bool { _, ok := m.mapping[k]; return ok }

// mappingKey is what tells mappings apart, whoever had them.
type mappingKey struct {
	file, buildID       string
	kind                Kind
	fixed               bool // only those at the same place are equal
	start, size, offset uint64
}

// sizeRounding is how much sizes of equal mappings may differ: linkers and recorders do
// not all round to pages.
const sizeRounding = 0x1000

func keyOf(m *Mapping) mappingKey {
	k := mappingKey{file: m.File, buildID: m.BuildID, kind: m.Kind}
	switch kernel := m.Kind == KindKernel || m.Kind == KindModule; {
	case m.BuildID != "" && kernel && m.Start != 0:
		return k // its size and offset are addresses too, in some recordings
	case (m.BuildID != "" || m.File != "" && m.Kind.ByOffset()) && !kernel:
		k.size, k.offset = (m.Limit-m.Start+sizeRounding-1)/sizeRounding, m.Offset
		return k
	}
	k.fixed = true
	k.start, k.size, k.offset = m.Start, m.Limit-m.Start, m.Offset
	return k
}

// Addend says what becomes of a Set as it is added.
type Addend struct {
	Drop   []string // keys of labels that are left out
	Labels []Label  // labels that all samples get, instead of those with the same keys
	// Scale is what values are multiplied with. 0 means 1. They are rounded so that the sum
	// of each column is right within 1, of all Sets: what a row loses the next one gets.
	Scale float64
}

// TooLargeSumError says that a column adds up to more than 63 bits hold.
type TooLargeSumError struct{ Event, Column string }

func (e *TooLargeSumError) Error() string {
	return fmt.Sprintf("the values of column %q of event %q add up to more than 63 bits hold", e.Column, e.Event)
}

// UnknownPeriodsError says that one Set knows how much of an event each sample stands for, and
// another one only that there are samples: these are no sum.
type UnknownPeriodsError struct{ Event string }

func (e *UnknownPeriodsError) Error() string {
	return fmt.Sprintf("event %q has periods in some profiles and none in others, with which they do not add up (perf script prints them with -F +period)", e.Event)
}

// Add adds up one more Set, which is not needed afterwards. An error, a
// *TooLargeSumError or *UnknownPeriodsError, leaves the sum as it was.
func (m *Merger) Add(src *Set, how Addend) error {
	if how.Scale == 0 {
		how.Scale = 1
	}
	a := addition{Merger: m, src: src, how: how, sorted: true}
	if err := a.matchEvents(); err != nil {
		return err
	}
	a.add()
	s := m.set
	for _, c := range src.Comments {
		if !m.comments[c] {
			m.comments[c] = true
			s.Comments = append(s.Comments, c)
		}
	}
	if m.sets++; m.sets == 1 {
		s.PeriodType, s.Period, s.DocURL = src.PeriodType, src.Period, src.DocURL
		s.DropFrames, s.KeepFrames, s.CallersExact = src.DropFrames, src.KeepFrames, src.CallersExact
		s.DefaultType = src.DefaultType
	}
	// What not all say is not said of the sum.
	if s.PeriodType != src.PeriodType || s.Period != src.Period {
		s.PeriodType, s.Period = ValueType{}, 0
	}
	for _, both := range [][2]*string{{&s.DocURL, &src.DocURL}, {&s.DropFrames, &src.DropFrames}, {&s.KeepFrames, &src.KeepFrames}, {&s.DefaultType, &src.DefaultType}} {
		if *both[0] != *both[1] {
			*both[0] = ""
		}
	}
	s.CallersExact = s.CallersExact && src.CallersExact
	s.mergeTimes(src)
	return nil
}

// Set returns the sum, after the last Add. Comments are in the order in which they came,
// each once.
func (m *Merger) Set() *Set {
	m.nameColumns()
	m.set.SortTimedSamples()
	m.set.SumBlocks()
	return m.set
}

// addition is one Set that is added; it holds, for each index of src, the one of the sum.
type addition struct {
	*Merger
	src       *Set
	how       Addend
	sorted    bool // labels, by their keys
	events    []target
	mappings  []int32
	functions []uint32 // of those that locations have
	location  []uint32
}

// target is what becomes of an event.
type target struct {
	event   int
	columns []int   // of src, for each of the sum's; nil for the same
	units   []int64 // that values of src have in units of the sum; nil for the same
	finer   []int64 // that values of the sum have in units of src, before it is added; nil for the same
}

// unit is what the values of a column of the sum are multiplied with.
func (t *target) unit(column int) int64 {
	if t.units == nil {
		return 1
	}
	return t.units[column]
}

func (a *addition) add() {
	a.addMappings()
	a.addFunctions()
	a.addLocations()
	a.addSamples()
}

func (a *addition) addMappings() {
	for i := range a.src.Mappings {
		x := &a.src.Mappings[i]
		k := keyOf(x)
		id, ok := a.mapping[k]
		if !ok {
			id = a.set.AddMapping(*x)
			a.mapping[k] = id
		}
		d := &a.set.Mappings[id]
		d.HasFunctions = d.HasFunctions || x.HasFunctions
		d.HasFilenames = d.HasFilenames || x.HasFilenames
		d.HasLineNumbers = d.HasLineNumbers || x.HasLineNumbers
		d.HasInlineFrames = d.HasInlineFrames || x.HasInlineFrames
		if x.Limit-x.Start > d.Limit-d.Start {
			d.Limit = d.Start + (x.Limit - x.Start)
		}
		a.mappings = append(a.mappings, id)
	}
}

// addFunctions adds those that locations have, in their order.
func (a *addition) addFunctions() {
	a.functions = make([]uint32, len(a.src.Functions))
	seen := make([]bool, len(a.src.Functions))
	var order []uint32
	for i := range a.src.Locations {
		for _, x := range a.src.Lines(uint32(i)) {
			if !seen[x.Function] {
				seen[x.Function] = true
				order = append(order, x.Function)
			}
		}
	}
	a.set.addFunctions(a.functions, a.src.Functions, order)
}

// addLocations adds locations in groups of look-ups that wait for memory together.
func (a *addition) addLocations() {
	a.location = make([]uint32, 0, len(a.src.Locations))
	var (
		locs   [intern.Group]Location
		hashes [intern.Group]uint64
		heads  [intern.Group]uint32
		lines  []Line
	)
	s := a.set
	for from := 0; from < len(a.src.Locations); from += intern.Group {
		group := a.src.Locations[from:min(from+intern.Group, len(a.src.Locations))]
		lines = lines[:0]
		for i, l := range group {
			if l.Mapping >= 0 {
				start := a.src.Mappings[l.Mapping].Start
				l.Mapping = a.mappings[l.Mapping]
				l.Addr += s.Mappings[l.Mapping].Start - start
			}
			first := len(lines)
			for _, x := range a.src.Lines(uint32(from + i)) {
				x.Function = a.functions[x.Function]
				lines = append(lines, x)
			}
			l.line, l.lines = uint32(first), uint32(len(lines)-first) // in lines
			locs[i], hashes[i] = l, a.hashLocation(&l, lines[first:])
		}
		known := a.Merger.location.Candidates(heads[:0], hashes[:len(group)])
		for i, id := range known {
			known[i] = s.Locations[id].line
		}
		for _, at := range known {
			if int(at) < len(s.lines) {
				s.chains.fetched += s.lines[at].Function
			}
		}
		for i := range group {
			l := &locs[i]
			own := lines[l.line:][:l.lines]
			p, id, ok := a.findLocation(l, own, hashes[i])
			if !ok {
				id = s.AddLocation(l.Mapping, l.Addr, l.Kind)
				s.SetLines(id, own...)
				a.Merger.location.Put(p, id)
			}
			a.location = append(a.location, id)
		}
	}
}

// hashLocation hashes what tells two locations of the sum apart.
func (m *Merger) hashLocation(l *Location, lines []Line) uint64 {
	h := intern.Pair(m.seed, uint64(uint32(l.Mapping)), uint64(l.Kind))
	if !m.anywhere(lines) {
		h = intern.Pair(h, l.Addr, 1)
	}
	for i := range lines {
		x := &lines[i]
		h = intern.Pair(intern.Pair(intern.Pair(h, uint64(x.Function), 2), uint64(x.Line), 3), uint64(x.Column), 4)
	}
	return h
}

// anywhere reports whether locations with these lines are equal at any address.
func (m *Merger) anywhere(lines []Line) bool { return m.o.Functions && len(lines) > 0 }

// findLocation finds the location of the sum that is equal to l with these lines, whose mapping and
// functions are the sum's; p is where it belongs if there is none.
func (m *Merger) findLocation(l *Location, lines []Line, hash uint64) (p intern.Probe, id uint32, known bool) {
	p = m.location.Probe(hash)
	for id, ok := p.Next(); ok; id, ok = p.Next() {
		if o := &m.set.Locations[id]; o.Kind == l.Kind && o.Mapping == l.Mapping && (o.Addr == l.Addr || m.anywhere(lines)) && slices.Equal(m.set.Lines(id), lines) {
			return p, id, true
		}
	}
	return p, 0, false
}

func (a *addition) addSamples() {
	src, dst := a.src, a.set
	labels, there := make([]LabelsID, src.NumLabels()), make([]bool, src.NumLabels())
	for i := range src.NumSamples() {
		there[src.rows.at(i).labels] = true
	}
	var list []Label
	for i := range labels {
		if !there[i] { // any more
			continue
		}
		list = a.labelsOf(list[:0], src.Labels(LabelsID(i)))
		labels[i] = dst.InternLabels(list)
	}
	stack := make([]StackID, 0, src.NumStacks())
	var locs []uint32
	var ends []int
	internStacks := func() {
		stack = dst.InternAll(stack, locs, ends)
		locs, ends = locs[:0], ends[:0]
	}
	for i := range src.NumStacks() {
		for _, l := range src.Stack(StackID(i)) {
			locs = append(locs, a.location[l])
		}
		if ends = append(ends, len(locs)); len(ends) == 256 {
			internStacks()
		}
	}
	internStacks()
	var row []uint32
	rest := &a.rest
	timed := len(src.TimedSamples)+len(src.BlockSums) > 0
	var values []int64
	var next [intern.Group]StackID
	for i := range src.NumSamples() {
		if i%intern.Group == 0 {
			ids := next[:min(intern.Group, src.NumSamples()-i)]
			for j := range ids {
				ids[j] = stack[src.rows.at(i+j).stack]
			}
			dst.Fetch(ids)
		}
		x := src.Sample(i)
		to := &a.events[x.Event]
		values = a.valuesOf(values[:0], to, x.Values, rest.of(to.event))
		r := dst.Add(to.event, stack[x.Stack], labels[x.Labels], values...)
		if timed {
			row = append(row, uint32(r))
		}
	}
	for _, x := range src.TimedSamples {
		t := a.targetOf(x.Sample)
		value := a.scaled(x.Value, t.unit(len(t.units)-1), &rest.of(t.event).timed)
		dst.AddTimedSample(TimedSample{x.Time, row[x.Sample], value})
	}
	if len(src.BlockSums) > 0 {
		dst.blockShift = max(dst.blockShift, src.blockShift)
	}
	for _, x := range src.BlockSums {
		t := a.targetOf(x.Sample)
		value := a.scaled(x.Value, t.unit(len(t.units)-1), &rest.of(t.event).blocks)
		dst.AddBlockSum(BlockSum{x.Time, row[x.Sample], x.Count, value})
	}
}

// targetOf is what becomes of the event of a row.
func (a *addition) targetOf(row uint32) *target { return &a.events[a.src.Sample(int(row)).Event] }

// valuesOf appends what is added of a row's values.
func (a *addition) valuesOf(to []int64, t *target, values []int64, rest *remainder) []int64 {
	if t.columns == nil {
		to = append(to, values...)
	}
	for _, c := range t.columns {
		to = append(to, values[c])
	}
	if a.how.Scale != 1 || t.units != nil {
		if rest.columns == nil {
			rest.columns = make([]float64, len(to))
		}
		for i := range to {
			to[i] = a.scaled(to[i], t.unit(i), &rest.columns[i])
		}
	}
	return to
}

// labelsOf appends what becomes of a list of labels.
func (a *addition) labelsOf(to, list []Label) []Label {
	for _, l := range list {
		if !slices.Contains(a.how.Drop, l.Key) && !slices.ContainsFunc(a.how.Labels, func(o Label) bool { return o.Key == l.Key }) {
			to = append(to, l)
		}
	}
	to = append(to, a.how.Labels...)
	if a.sorted {
		slices.SortStableFunc(to, func(x, y Label) int { return strings.Compare(x.Key, y.Key) })
	}
	return to
}

// sums returns what is added to each column of each event of the sum, without signs.
// Those that are too large are the largest.
func (a *addition) sums(columns map[int]int) map[int][]uint64 {
	sums := map[int][]uint64{}
	var values []int64
	rest := a.rest.clone()
	for i := range a.src.NumSamples() {
		x := a.src.Sample(i)
		t := &a.events[x.Event]
		values = a.valuesOf(values[:0], t, x.Values, rest.of(t.event))
		sum := sums[t.event]
		if sum == nil {
			sum = make([]uint64, columns[t.event])
			sums[t.event] = sum
		}
		for c, v := range values {
			var carry uint64
			if sum[c], carry = bits.Add64(sum[c], magnitude(v), 0); carry != 0 || sum[c] > math.MaxInt64 {
				sum[c] = math.MaxUint64 >> 1
				sum[c]++ // more than fits
			}
		}
	}
	return sums
}
