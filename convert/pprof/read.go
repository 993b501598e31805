package pprof

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"kprof/convert/stacks"
)

// maxSize is how large a file may be. It is kept while it is read.
const maxSize = 1 << 30

// Read reads a pprof file: profile.proto, compressed or not, or one of the
// legacy formats that google/pprof knows. At most 1 GiB as it is stored; of a
// compressed one, no more is kept than [stacks.MaxKept] allows, which a
// [stacks.TooLargeError] tells, however far it expands.
//
// The profile's columns become one event, unless they are named as kprof names
// those of several events (see [Events]). A sample's labels come sorted by key.
// A location's is_folded is not kept.
func Read(r io.Reader) (*stacks.Set, error) {
	s, err := read(r, maxSize)
	if err != nil {
		return nil, fmt.Errorf("read pprof: %w", err)
	}
	return s, nil
}

// read reads a profile in two passes over the file, so that the samples, which are
// nearly all of it, are never in memory in any form but the Set's:
//
//  1. All fields but the samples are kept as they are, decoded and checked by
//     google/pprof, and go into the Set's tables.
//  2. Each sample is decoded straight into the Set.
//
// What is wrong is explained by google/pprof, if that can be done cheaply, and so
// are the legacy formats read.
func read(r io.Reader, limit int64) (*stacks.Set, error) {
	data, err := readAll(r, limit)
	if err != nil {
		return nil, err
	}
	in := input{data: data}
	in.unpack()
	set, err := in.read()
	var large *stacks.TooLargeError
	var broken *decompressError
	if err == nil || errors.As(err, &large) || errors.As(err, &broken) {
		return set, err
	}
	return in.readWhole(err)
}

func (in input) read() (*stacks.Set, error) {
	k := skeleton{size: int64(len(in.data))}
	if err := in.scan(k.read); err != nil {
		return nil, err
	}
	p, err := k.decode()
	if err != nil {
		return nil, err
	}
	r, err := newReader(p)
	if err != nil {
		return nil, err
	}
	d := newDecoder(r, &k)
	p, r.p = nil, nil // what it has is in the Set now
	if err := in.scan(d.read); err != nil {
		return nil, err
	}
	return r.set, nil
}

// reader fills a Set from a profile that has passed CheckValid. It renumbers the
// ids of what is in the profile to be indices of the Set's tables.
type reader struct {
	p         *profile.Profile
	set       *stacks.Set
	locations index

	chain  []uint32
	labels []stacks.Label
}

// fromProfile makes a Set of a whole profile.
func fromProfile(p *profile.Profile) (*stacks.Set, error) {
	r, err := newReader(p)
	if err == nil {
		err = r.samples()
	}
	if err != nil {
		return nil, err
	}
	return r.set, nil
}

// newReader makes a Set of all of a profile but its samples.
func newReader(p *profile.Profile) (*reader, error) {
	if n := len(p.SampleType); n > stacks.MaxColumns {
		return nil, fmt.Errorf("%d sample types, at most %d can be stored", n, stacks.MaxColumns)
	}
	r := &reader{p: p, set: stacks.New(), locations: newIndex(len(p.Location))}
	r.header()
	r.tables()
	return r, nil
}

func (r *reader) header() {
	s, p := r.set, r.p
	s.Comments = p.Comments
	s.TimeNanos = p.TimeNanos
	s.DurationNanos = p.DurationNanos
	if p.PeriodType != nil {
		s.PeriodType = stacks.ValueType{Type: p.PeriodType.Type, Unit: p.PeriodType.Unit}
	}
	s.Period = p.Period
	s.DefaultType = p.DefaultSampleType
	s.DocURL = p.DocURL
	s.DropFrames = p.DropFrames
	s.KeepFrames = p.KeepFrames
	var columns []stacks.ValueType
	for _, t := range p.SampleType {
		columns = append(columns, stacks.ValueType{Type: t.Type, Unit: t.Unit})
	}
	for _, e := range Events(columns) {
		s.AddEvent(e)
	}
	if len(s.Events) == 1 && s.Events[0].Name == "samples" && s.PeriodType.Type != "" {
		s.Events[0].Name = s.PeriodType.Type
	}
}

func (r *reader) tables() {
	standIn := uint64(0) // id of the mapping that stands for none, see noMapping
	for _, m := range r.p.Mapping {
		if len(r.p.Mapping) == 1 && m.File == "" && m.BuildID == "" && m.Start == 0 && m.Limit == 0 && m.Offset == 0 {
			standIn = m.ID
			break
		}
		m.ID = uint64(r.set.AddMapping(stacks.Mapping{
			Start: m.Start, Limit: m.Limit, Offset: m.Offset,
			File: m.File, BuildID: m.BuildID, Kind: kind(m.File),
			HasFunctions: m.HasFunctions, HasFilenames: m.HasFilenames,
			HasLineNumbers: m.HasLineNumbers, HasInlineFrames: m.HasInlineFrames,
		}))
	}
	for _, f := range r.p.Function {
		f.ID = uint64(r.set.AddFunction(stacks.Function{
			Name: f.Name, SystemName: f.SystemName, File: f.Filename, StartLine: f.StartLine,
		}))
	}
	var lines []stacks.Line
	for _, l := range r.p.Location {
		in, k := int32(stacks.NoMapping), stacks.KindUnknown
		if m := l.Mapping; m != nil && standIn == 0 {
			in, k = int32(m.ID), r.set.Mappings[m.ID].Kind
		}
		lines = lines[:0]
		for _, x := range l.Line {
			lines = append(lines, stacks.Line{Function: uint32(x.Function.ID), Line: x.Line, Column: x.Column})
		}
		id := r.set.AddLocation(in, l.Address, k)
		// What only says where it is, as Write does, has no function.
		if len(lines) != 1 || lines[0].Line != 0 || lines[0].Column != 0 ||
			!isPlace(r.set.Functions[lines[0].Function]) || r.set.Functions[lines[0].Function].Name != r.set.PlaceName(id) {
			r.set.SetLines(id, lines...)
		}
		r.locations.set(l.ID, id)
	}
}

func (r *reader) samples() error {
	for i, x := range r.p.Sample {
		if len(x.Location) > stacks.MaxDepth {
			return tooDeep(i, len(x.Location))
		}
		r.chain = r.chain[:0]
		for _, l := range x.Location {
			id, _ := r.locations.of(l.ID)
			r.chain = append(r.chain, id)
		}
		r.add(r.set.Intern(r.chain), r.set.InternLabels(r.labelsOf(x)), x.Value)
	}
	return nil
}

// add gives each event its columns of a sample. A sample is one of all events
// for which it has a value, and of the first if it has none at all.
func (r *reader) add(stack stacks.StackID, labels stacks.LabelsID, values []int64) {
	all := values
	zero := true
	for i, e := range r.set.Events {
		v := values[:len(e.Values)]
		values = values[len(v):]
		if len(r.set.Events) == 1 || slices.ContainsFunc(v, func(x int64) bool { return x != 0 }) {
			r.set.Add(i, stack, labels, v...)
			zero = false
		}
	}
	if zero && len(r.set.Events) > 0 {
		r.set.Add(0, stack, labels, all[:len(r.set.Events[0].Values)]...)
	}
}

// labelsOf returns a sample's labels sorted by key. The slice is reused.
func (r *reader) labelsOf(x *profile.Sample) []stacks.Label {
	l := r.labels[:0]
	for k, vs := range x.Label {
		for _, v := range vs {
			if v != "" { // as if absent, also for pprof
				l = append(l, stacks.Label{Key: k, Str: v})
			}
		}
	}
	for k, vs := range x.NumLabel {
		units := x.NumUnit[k]
		for i, v := range vs {
			n := stacks.Label{Key: k, Num: v}
			if i < len(units) && units[i] != k { // see numUnit
				n.Unit = units[i]
			}
			l = append(l, n)
		}
	}
	sortLabels(l)
	r.labels = l
	return l
}

// sortLabels sorts by key. It is stable, because the values of one key are in the
// file's order.
func sortLabels(l []stacks.Label) {
	slices.SortStableFunc(l, func(a, b stacks.Label) int {
		if c := cmp.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return cmp.Compare(min(len(b.Str), 1), min(len(a.Str), 1)) // strings first
	})
}

func tooDeep(sample, locations int) error {
	return fmt.Errorf("sample %d has %d locations, at most %d can be stored", sample, locations, stacks.MaxDepth)
}

// Events divides the columns of a profile among events. Where all are named as
// kprof names those of several events (for each, "EVENT.samples" and then any number
// called "EVENT", or "EVENT.VALUE" of a field), these are the events; otherwise there is one event
// that has all columns, called by what its last column counts.
func Events(columns []stacks.ValueType) []stacks.Event {
	var several []stacks.Event
	for i, c := range columns {
		name, starts := strings.CutSuffix(c.Type, ".samples")
		switch {
		case starts && c.Unit == "count":
			if slices.ContainsFunc(several, func(e stacks.Event) bool { return e.Name == name }) {
				return one(columns)
			}
			several = append(several, stacks.Event{Name: name})
		case i == 0 || !valueOf(c.Type, several[len(several)-1].Name):
			return one(columns)
		}
		last := &several[len(several)-1]
		last.Values = append(last.Values, c)
	}
	return several
}

// valueOf reports whether a column is one of an event's values.
func valueOf(column, event string) bool {
	rest, ok := strings.CutPrefix(column, event)
	return ok && (rest == "" || rest[0] == '.')
}

func one(columns []stacks.ValueType) []stacks.Event {
	return []stacks.Event{{Name: columns[len(columns)-1].Type, Values: columns}}
}

// kind guesses from a mapping's file what it holds.
func kind(file string) stacks.Kind {
	switch {
	case file == "":
		return stacks.KindUnknown
	case strings.HasPrefix(file, "[kernel"):
		return stacks.KindKernel
	case strings.HasPrefix(file, "[guest"):
		return stacks.KindGuest
	case strings.HasPrefix(file, "[vdso"), file == "[vsyscall]", strings.HasPrefix(file, "linux-vdso"):
		return stacks.KindVDSO
	case strings.HasPrefix(file, "[stack"), strings.HasPrefix(file, "[heap"),
		strings.HasPrefix(file, "[anon"), strings.HasPrefix(file, "//anon"):
		return stacks.KindAnon
	case strings.HasPrefix(file, "[bpf"), strings.HasPrefix(file, "bpf_"):
		return stacks.KindBPF
	case strings.HasPrefix(file, "["), strings.HasSuffix(file, ".ko"):
		return stacks.KindModule
	}
	return stacks.KindUser
}
