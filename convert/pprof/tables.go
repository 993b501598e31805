package pprof

import (
	"cmp"
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
	for rest := r.k.raw; len(rest) > 0; {
		f, body, next, err := cut(rest)
		if err != nil {
			return err
		}
		rest = next
		switch f.num {
		case profileSampleType:
			var t stacks.ValueType
			t, err = r.valueType(f, body)
			columns = append(columns, t)
		case profilePeriodType:
			s.PeriodType, err = r.valueType(f, body)
		case profileDropFrames:
			err = number(&dropFrames, f)
		case profileKeepFrames:
			err = number(&keepFrames, f)
		case profileDefaultType:
			err = number(&defaultType, f)
		case profileDocURL:
			err = number(&docURL, f)
		case profileTimeNanos:
			if s.TimeNanos != 0 {
				err = errors.New("concatenated profiles")
			}
			err = cmp.Or(err, number(&s.TimeNanos, f))
		case profileDurationNanos:
			err = number(&s.DurationNanos, f)
		case profilePeriod:
			err = number(&s.Period, f)
		case profileComment:
			err = r.comments(f, body)
		case profileStringTable:
			if f.wire != wireBytes {
				err = errType
			}
		}
		if err != nil {
			return err
		}
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

// number takes a number that is not repeated.
func number[T ~int64 | ~uint64](to *T, f field) error {
	if f.wire != wireVarint {
		return errType
	}
	*to = T(f.value)
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

func (r *reader) valueType(of field, msg []byte) (t stacks.ValueType, err error) {
	if of.wire != wireBytes {
		return t, errType
	}
	var typ, unit uint64
	for len(msg) > 0 {
		f, _, rest, err := cut(msg)
		if err != nil {
			return t, err
		}
		msg = rest
		switch f.num {
		case valueTypeType:
			err = number(&typ, f)
		case valueTypeUnit:
			err = number(&unit, f)
		}
		if err != nil {
			return t, err
		}
	}
	return t, r.texts(textOf{&t.Type, typ}, textOf{&t.Unit, unit})
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
		read func(msg []byte) error
	}{
		{profileMapping, r.mapping}, {profileFunction, r.function}, {profileLocation, r.location},
	} {
		for rest := k.raw; len(rest) > 0; {
			f, body, next, err := cut(rest)
			if err != nil {
				return err
			}
			rest = next
			if f.num != table.num {
				continue
			}
			if f.wire != wireBytes {
				return errType
			}
			if err := table.read(body); err != nil {
				return err
			}
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

func (r *reader) mapping(msg []byte) error {
	var id, file, buildID uint64
	var m stacks.Mapping
	flags := [...]*bool{&m.HasFunctions, &m.HasFilenames, &m.HasLineNumbers, &m.HasInlineFrames}
	for len(msg) > 0 {
		f, _, rest, err := cut(msg)
		if err != nil {
			return err
		}
		msg = rest
		switch f.num {
		case mappingID:
			err = number(&id, f)
		case mappingStart:
			err = number(&m.Start, f)
		case mappingLimit:
			err = number(&m.Limit, f)
		case mappingOffset:
			err = number(&m.Offset, f)
		case mappingFile:
			err = number(&file, f)
		case mappingBuildID:
			err = number(&buildID, f)
		case mappingHasFunctions, mappingHasFilenames, mappingHasLineNumbers, mappingHasInlineFrames:
			var is uint64
			err = number(&is, f)
			*flags[f.num-mappingHasFunctions] = is != 0
		}
		if err != nil {
			return err
		}
	}
	if err := r.texts(textOf{&m.File, file}, textOf{&m.BuildID, buildID}); err != nil {
		return err
	}
	if r.k.mappings == 1 && m.File == "" && m.BuildID == "" && m.Start == 0 && m.Limit == 0 && m.Offset == 0 {
		r.noMapping = true
		return once(&r.mappings, "mapping", id, 0)
	}
	m.Kind = kind(m.File)
	return once(&r.mappings, "mapping", id, uint32(r.set.AddMapping(m)))
}

func (r *reader) function(msg []byte) error {
	var id, name, systemName, file uint64
	var x stacks.Function
	for len(msg) > 0 {
		f, _, rest, err := cut(msg)
		if err != nil {
			return err
		}
		msg = rest
		switch f.num {
		case functionID:
			err = number(&id, f)
		case functionName:
			err = number(&name, f)
		case functionSystemName:
			err = number(&systemName, f)
		case functionFilename:
			err = number(&file, f)
		case functionStartLine:
			err = number(&x.StartLine, f)
		}
		if err != nil {
			return err
		}
	}
	if err := r.texts(textOf{&x.Name, name}, textOf{&x.SystemName, systemName}, textOf{&x.File, file}); err != nil {
		return err
	}
	return once(&r.functions, "function", id, r.set.AddFunction(x))
}

func (r *reader) location(msg []byte) error {
	var id, in, addr uint64
	r.lines = r.lines[:0]
	for len(msg) > 0 {
		f, body, rest, err := cut(msg)
		if err != nil {
			return err
		}
		msg = rest
		switch f.num {
		case locationID:
			err = number(&id, f)
		case locationMapping:
			err = number(&in, f)
		case locationAddress:
			err = number(&addr, f)
		case locationLine:
			err = r.line(f, body)
		case locationIsFolded:
			var is uint64
			err = number(&is, f) // and is not kept
		}
		if err != nil {
			return err
		}
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
func (r *reader) line(of field, msg []byte) error {
	if of.wire != wireBytes {
		return errType
	}
	var function uint64
	var x stacks.Line
	for len(msg) > 0 {
		f, _, rest, err := cut(msg)
		if err != nil {
			return err
		}
		msg = rest
		switch f.num {
		case lineFunction:
			err = number(&function, f)
		case lineLine:
			err = number(&x.Line, f)
		case lineColumn:
			err = number(&x.Column, f)
		}
		if err != nil {
			return err
		}
	}
	var known bool
	if x.Function, known = r.functions.of(function); !known {
		return fmt.Errorf("no function has id %d", function)
	}
	r.lines = append(r.lines, x)
	return nil
}
