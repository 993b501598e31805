package pprof

import (
	"errors"
	"fmt"
	"strings"

	"kprof/convert/stacks"
)

// reader fills a Set from a profile of which skeleton has kept all but the samples. It
// renumbers the ids of what is in the profile to be indices of the Set's tables. What it
// refuses is what google/pprof refuses (profile/encode.go, CheckValid).
type reader struct {
	set       *stacks.Set
	k         *skeleton
	mappings  index
	functions index
	locations index
	noMapping bool // the only mapping stands for none, see tables

	chain  []uint32
	labels []stacks.Label
	lines  []stacks.Line
}

// newReader makes a Set of all of a profile but its samples.
func newReader(k *skeleton) (*reader, error) {
	r := &reader{set: stacks.New(), k: k}
	if len(k.strings) == 0 {
		return nil, errors.New("no table of strings")
	}
	if s, err := k.text(0); err != nil || s != "" {
		return nil, errors.New("string_table[0] must be ''")
	}
	if err := r.header(); err != nil {
		return nil, err
	}
	return r, r.tables()
}

// header reads what is neither a sample nor in a table.
func (r *reader) header() error {
	s := r.set
	var columns []stacks.ValueType
	var dropFrames, keepFrames, defaultType, docURL uint64
	m := message{rest: r.k.head}
	for m.next() {
		switch m.num {
		case profileSampleType:
			columns = append(columns, r.valueType(&m))
		case profilePeriodType:
			s.PeriodType = r.valueType(&m)
		case profileDropFrames:
			number(&m, &dropFrames)
		case profileKeepFrames:
			number(&m, &keepFrames)
		case profileDefaultType:
			number(&m, &defaultType)
		case profileDocURL:
			number(&m, &docURL)
		case profileTimeNanos:
			if s.TimeNanos != 0 {
				return errors.New("concatenated profiles")
			}
			number(&m, &s.TimeNanos)
		case profileDurationNanos:
			number(&m, &s.DurationNanos)
		case profilePeriod:
			number(&m, &s.Period)
		case profileComment:
			m.err = r.comments(m.field, m.body)
		case profileMapping, profileLocation, profileFunction, profileStringTable:
			m.err = errType // of the right one they are in tables
		}
	}
	if m.err != nil {
		return m.err
	}
	if err := r.texts(textOf{&s.DropFrames, dropFrames}, textOf{&s.KeepFrames, keepFrames},
		textOf{&s.DefaultType, defaultType}, textOf{&s.DocURL, docURL}); err != nil {
		return err
	}
	switch {
	case len(columns) == 0 && r.k.samples > 0:
		return errors.New("missing sample type information")
	case len(columns) > stacks.MaxColumns:
		return fmt.Errorf("%d sample types, at most %d can be stored", len(columns), stacks.MaxColumns)
	case len(columns) == 0:
		return nil
	}
	for _, e := range Events(columns) {
		s.AddEvent(e)
	}
	if len(s.Events) == 1 && s.Events[0].Name == "samples" && s.PeriodType.Type != "" {
		s.Events[0].Name = s.PeriodType.Type
	}
	return nil
}

// texts looks up strings by their numbers: of a field that comes twice, the last counts.
func (r *reader) texts(pairs ...textOf) error {
	for _, p := range pairs {
		var err error
		if *p.to, err = r.k.text(p.number); err != nil {
			return err
		}
	}
	return nil
}

// textOf says where a string goes.
type textOf struct {
	to     *string
	number uint64
}

func (r *reader) comments(f field, body []byte) error {
	numbers, err := appendNumbers(nil, f, body)
	for _, n := range numbers {
		var c string
		if err == nil {
			c, err = r.k.text(uint64(n))
			r.set.Comments = append(r.set.Comments, c)
		}
	}
	return err
}

func (r *reader) valueType(of *message) (t stacks.ValueType) {
	var typ, unit uint64
	m := of.within()
	for m.next() {
		switch m.num {
		case valueTypeType:
			number(&m, &typ)
		case valueTypeUnit:
			number(&m, &unit)
		}
	}
	if of.err = m.err; of.err == nil {
		of.err = r.texts(textOf{&t.Type, typ}, textOf{&t.Unit, unit})
	}
	return t
}

// tables makes the Set's of those of the skeleton: each refers to those before, wherever they
// stand in the file. A mapping that says nothing is what google/pprof writes for none where
// there is no other.
func (r *reader) tables() error {
	k := r.k
	r.mappings, r.functions, r.locations = newIndex(len(k.mappings)), newIndex(len(k.functions)), newIndex(len(k.locations))
	r.set.Grow(len(k.functions), len(k.locations))
	for i := range k.mappings {
		if err := r.mapping(&k.mappings[i]); err != nil {
			return err
		}
	}
	for i := range k.functions {
		if err := r.function(&k.functions[i]); err != nil {
			return err
		}
	}
	for i := range k.locations {
		if err := r.location(&k.locations[i]); err != nil {
			return err
		}
	}
	k.mappings, k.functions, k.locations, k.lines = nil, nil, nil, nil
	return nil
}

// once records what became of an id, of which there is to be one.
func once(x *index, what string, id uint64, i uint32) error {
	if id == 0 {
		return fmt.Errorf("found %s with the reserved id 0", what)
	}
	if _, known := x.of(id); known {
		return fmt.Errorf("several of %s with id %d", what, id)
	}
	x.set(id, i)
	return nil
}

func (r *reader) mapping(from *rawMapping) error {
	x := from.Mapping
	if err := r.texts(textOf{&x.File, from.file}, textOf{&x.BuildID, from.buildID}); err != nil {
		return err
	}
	if len(r.k.mappings) == 1 && x.File == "" && x.BuildID == "" && x.Start == 0 && x.Limit == 0 && x.Offset == 0 {
		r.noMapping = true
		return once(&r.mappings, "mapping", from.id, 0)
	}
	x.Kind = kind(x.File)
	return once(&r.mappings, "mapping", from.id, uint32(r.set.AddMapping(x)))
}

func (r *reader) function(from *rawFunction) error {
	x := stacks.Function{StartLine: from.startLine}
	if err := r.texts(textOf{&x.Name, from.name}, textOf{&x.SystemName, from.systemName}, textOf{&x.File, from.file}); err != nil {
		return err
	}
	return once(&r.functions, "function", from.id, r.set.AddFunction(x))
}

func (r *reader) location(from *rawLocation) error {
	mapping, kind := int32(stacks.NoMapping), stacks.KindUnknown
	if i, known := r.mappings.of(from.mapping); known && !r.noMapping {
		mapping, kind = int32(i), r.set.Mappings[i].Kind
	}
	loc := r.set.AddLocation(mapping, from.addr, kind)
	r.lines = r.lines[:0]
	for _, x := range r.k.lines[from.line:][:from.lines] {
		function, known := r.functions.of(x.function)
		if !known {
			return fmt.Errorf("no function has id %d", x.function)
		}
		r.lines = append(r.lines, stacks.Line{Function: function, Line: x.line, Column: x.column})
	}
	if !r.standsForPlace(loc) {
		r.set.SetLines(loc, r.lines...)
	}
	return once(&r.locations, "location", from.id, loc)
}

// standsForPlace reports whether the lines of a location only say where it is, as Write does
// for those without a function, or nothing at all, as Go's runtime writes of address 0.
func (r *reader) standsForPlace(loc uint32) bool {
	if len(r.lines) != 1 || r.lines[0].Line != 0 || r.lines[0].Column != 0 {
		return false
	}
	f := &r.set.Functions[r.lines[0].Function]
	return *f == stacks.Function{} || strings.HasPrefix(f.Name, "[") && isPlace(*f) && f.Name == r.set.PlaceName(loc)
}
