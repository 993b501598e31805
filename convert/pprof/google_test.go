package pprof

import (
	"fmt"

	"github.com/google/pprof/profile"

	"kprof/convert/stacks"
)

// reference fills a Set from a profile that has passed CheckValid. It renumbers the
// ids of what is in the profile to be indices of the Set's tables.
type reference struct {
	p         *profile.Profile
	set       *stacks.Set
	locations index

	chain  []uint32
	labels []stacks.Label
}

// fromProfile makes a Set of a whole profile that google/pprof has read.
func fromProfile(p *profile.Profile) (*stacks.Set, error) {
	r, err := newReference(p)
	if err == nil {
		err = r.samples()
	}
	if err != nil {
		return nil, err
	}
	return r.set, nil
}

// newReference makes a Set of all of a profile but its samples.
func newReference(p *profile.Profile) (*reference, error) {
	if n := len(p.SampleType); n > stacks.MaxColumns {
		return nil, fmt.Errorf("%d sample types, at most %d can be stored", n, stacks.MaxColumns)
	}
	r := &reference{p: p, set: stacks.New(), locations: newIndex(len(p.Location))}
	r.header()
	r.tables()
	return r, nil
}

func (r *reference) header() {
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

func (r *reference) tables() {
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
	r.set.Grow(len(r.p.Function), len(r.p.Location))
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

func (r *reference) samples() error {
	for i, x := range r.p.Sample {
		if len(x.Location) > stacks.MaxDepth {
			return tooDeep(i, len(x.Location))
		}
		r.chain = r.chain[:0]
		for _, l := range x.Location {
			id, _ := r.locations.of(l.ID)
			r.chain = append(r.chain, id)
		}
		(&reader{set: r.set}).add(r.set.Intern(r.chain), r.set.InternLabels(r.labelsOf(x)), x.Value, nil)
	}
	return nil
}

// labelsOf returns a sample's labels sorted by key. The slice is reused.
func (r *reference) labelsOf(x *profile.Sample) []stacks.Label {
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
			if v == 0 && (i >= len(units) || units[i] == "") {
				continue // so in a legacy format only; as if absent when written
			}
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
