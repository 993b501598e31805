package pprof

import (
	"errors"
	"fmt"

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
	m := message{rest: r.k.raw}
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
		case profileStringTable:
			m.within()
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

// message walks over the fields of one; where one of them is wrong, that is err, and there
// are no more.
type message struct {
	rest []byte
	field
	body []byte
	err  error
}

// next goes to the next field, if there is one.
func (m *message) next() bool {
	if m.err != nil || len(m.rest) == 0 {
		return false
	}
	m.field, m.body, m.rest, m.err = cut(m.rest)
	return m.err == nil
}

// number takes a number that is not repeated.
func number[T ~int64 | ~uint64](m *message, to *T) {
	if m.wire != wireVarint {
		m.err = errType
		return
	}
	*to = T(m.value)
}

// within returns the message that the field is.
func (m *message) within() message {
	if m.wire != wireBytes {
		m.err = errType
	}
	return message{rest: m.body, err: m.err}
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

// tables reads mappings, functions and locations, in this order: each refers to those
// before, wherever they stand in the file. A mapping that says nothing is what
// google/pprof writes for none where there is no other.
func (r *reader) tables() error {
	k := r.k
	r.mappings, r.functions, r.locations = newIndex(k.mappings), newIndex(k.functions), newIndex(k.locations)
	r.set.Grow(k.functions, k.locations)
	for _, table := range []struct {
		num  uint64
		read func(m message) error
	}{
		{profileMapping, r.mapping}, {profileFunction, r.function}, {profileLocation, r.location},
	} {
		m := message{rest: k.raw}
		for m.next() {
			if m.num == table.num {
				m.err = table.read(m.within())
			}
		}
		if m.err != nil {
			return m.err
		}
	}
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

func (r *reader) mapping(m message) error {
	var id, file, buildID uint64
	var x stacks.Mapping
	flags := [...]*bool{&x.HasFunctions, &x.HasFilenames, &x.HasLineNumbers, &x.HasInlineFrames}
	for m.next() {
		switch m.num {
		case mappingID:
			number(&m, &id)
		case mappingStart:
			number(&m, &x.Start)
		case mappingLimit:
			number(&m, &x.Limit)
		case mappingOffset:
			number(&m, &x.Offset)
		case mappingFile:
			number(&m, &file)
		case mappingBuildID:
			number(&m, &buildID)
		case mappingHasFunctions, mappingHasFilenames, mappingHasLineNumbers, mappingHasInlineFrames:
			var is uint64
			number(&m, &is)
			*flags[m.num-mappingHasFunctions] = is != 0
		}
	}
	if m.err != nil {
		return m.err
	}
	if err := r.texts(textOf{&x.File, file}, textOf{&x.BuildID, buildID}); err != nil {
		return err
	}
	if r.k.mappings == 1 && x.File == "" && x.BuildID == "" && x.Start == 0 && x.Limit == 0 && x.Offset == 0 {
		r.noMapping = true
		return once(&r.mappings, "mapping", id, 0)
	}
	x.Kind = kind(x.File)
	return once(&r.mappings, "mapping", id, uint32(r.set.AddMapping(x)))
}

func (r *reader) function(m message) error {
	var id, name, systemName, file uint64
	var x stacks.Function
	for m.next() {
		switch m.num {
		case functionID:
			number(&m, &id)
		case functionName:
			number(&m, &name)
		case functionSystemName:
			number(&m, &systemName)
		case functionFilename:
			number(&m, &file)
		case functionStartLine:
			number(&m, &x.StartLine)
		}
	}
	if m.err != nil {
		return m.err
	}
	if err := r.texts(textOf{&x.Name, name}, textOf{&x.SystemName, systemName}, textOf{&x.File, file}); err != nil {
		return err
	}
	return once(&r.functions, "function", id, r.set.AddFunction(x))
}

func (r *reader) location(m message) error {
	var id, in, addr uint64
	r.lines = r.lines[:0]
	for m.next() {
		switch m.num {
		case locationID:
			number(&m, &id)
		case locationMapping:
			number(&m, &in)
		case locationAddress:
			number(&m, &addr)
		case locationLine:
			m.err = r.line(m.within())
		case locationIsFolded:
			var is uint64
			number(&m, &is) // and is not kept
		}
	}
	if m.err != nil {
		return m.err
	}
	mapping, kind := int32(stacks.NoMapping), stacks.KindUnknown
	if i, known := r.mappings.of(in); known && !r.noMapping {
		mapping, kind = int32(i), r.set.Mappings[i].Kind
	}
	loc := r.set.AddLocation(mapping, addr, kind)
	// What only says where it is, as Write does, has no function.
	lines := r.lines
	if len(lines) != 1 || lines[0].Line != 0 || lines[0].Column != 0 ||
		!isPlace(r.set.Functions[lines[0].Function]) || r.set.Functions[lines[0].Function].Name != r.set.PlaceName(loc) {
		r.set.SetLines(loc, lines...)
	}
	return once(&r.locations, "location", id, loc)
}

// line appends one of a location to lines.
func (r *reader) line(m message) error {
	var function uint64
	var x stacks.Line
	for m.next() {
		switch m.num {
		case lineFunction:
			number(&m, &function)
		case lineLine:
			number(&m, &x.Line)
		case lineColumn:
			number(&m, &x.Column)
		}
	}
	if m.err != nil {
		return m.err
	}
	var known bool
	if x.Function, known = r.functions.of(function); !known {
		return fmt.Errorf("no function has id %d", function)
	}
	r.lines = append(r.lines, x)
	return nil
}
