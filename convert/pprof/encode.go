package pprof

import (
	"encoding/binary"
	"math"
	"strings"

	"kprof/convert/intern"
	"kprof/convert/stacks"
)

// Field numbers of profile.proto (github.com/google/pprof/proto/profile.proto).
const (
	profileSampleType    = 1
	profileSample        = 2
	profileMapping       = 3
	profileLocation      = 4
	profileFunction      = 5
	profileStringTable   = 6
	profileDropFrames    = 7
	profileKeepFrames    = 8
	profileTimeNanos     = 9
	profileDurationNanos = 10
	profilePeriodType    = 11
	profilePeriod        = 12
	profileComment       = 13
	profileDefaultType   = 14
	profileDocURL        = 15

	valueTypeType = 1
	valueTypeUnit = 2

	sampleLocation = 1
	sampleValue    = 2
	sampleLabel    = 3

	labelKey  = 1
	labelStr  = 2
	labelNum  = 3
	labelUnit = 4

	mappingID              = 1
	mappingStart           = 2
	mappingLimit           = 3
	mappingOffset          = 4
	mappingFile            = 5
	mappingBuildID         = 6
	mappingHasFunctions    = 7
	mappingHasFilenames    = 8
	mappingHasLineNumbers  = 9
	mappingHasInlineFrames = 10

	locationID       = 1
	locationMapping  = 2
	locationAddress  = 3
	locationLine     = 4
	locationIsFolded = 5

	lineFunction = 1
	lineLine     = 2
	lineColumn   = 3

	functionID         = 1
	functionName       = 2
	functionSystemName = 3
	functionFilename   = 4
	functionStartLine  = 5
)

// buf holds protocol buffer wire format. As in proto3, a field that is zero is
// left out.
type buf []byte

func (b *buf) varint(x uint64) { *b = binary.AppendUvarint(*b, x) }

func (b *buf) uint(field int, x uint64) {
	if x != 0 {
		b.varint(uint64(field) << 3)
		b.varint(x)
	}
}

func (b *buf) int(field int, x int64) { b.uint(field, uint64(x)) }

func (b *buf) bool(field int, x bool) {
	if x {
		b.uint(field, 1)
	}
}

// bytes appends a string, a message or a packed list, an empty one too.
func (b *buf) bytes(field int, x []byte) {
	b.varint(uint64(field)<<3 | 2)
	b.varint(uint64(len(x)))
	*b = append(*b, x...)
}

// encoder turns a Set into profile.proto, a piece at a time: each method appends
// to out, and flush hands full buffers on.
type encoder struct {
	set     *stacks.Set
	out     buf
	msg     buf // the message being made
	sub     buf // a message inside msg
	strings intern.Strings
	// placeIDs has a function for each name that locations without one are called by
	// (Set.PlaceName): one of the set, or one of places, which come behind those.
	placeIDs map[string]uint32
	places   []string
	placesOf []string // Set.PlaceName of each mapping, empty before it was asked for
	flush    func(b []byte) (next []byte, ok bool)

	blocks *blockWriter // nil if there are no sums over blocks of time
}

// bufferSize is how much is encoded before it is handed on.
const bufferSize = 256 << 10

// run encodes the whole set; false if flush said to stop.
func (e *encoder) run() bool {
	e.header()
	if !e.samples() || !e.each(len(e.set.Mappings), e.mapping) {
		return false
	}
	if len(e.set.Mappings) == 0 && len(e.set.Locations) > 0 {
		e.noMapping()
	}
	e.nameUnnamed()
	if !e.each(len(e.set.Locations), func(i int) { e.location(uint32(i)) }) || !e.each(len(e.set.Functions), e.function) || !e.each(len(e.places), e.place) {
		return false
	}
	// Last, because everything above adds to it. A decoder resolves strings once
	// it has read everything.
	if !e.each(len(e.strings.All), e.text) {
		return false
	}
	_, ok := e.flush(e.out)
	return ok
}

// each encodes n of a kind; false if flush said to stop.
func (e *encoder) each(n int, encode func(i int)) bool {
	for i := range n {
		encode(i)
		if !e.room() {
			return false
		}
	}
	return true
}

// place is the function of a name that locations without one are called by.
func (e *encoder) place(i int) {
	e.functionNamed(len(e.set.Functions)+i, &stacks.Function{Name: e.places[i]})
}

func (e *encoder) text(i int) { e.out.bytes(profileStringTable, []byte(e.strings.All[i])) }

// room hands out on when it is full.
func (e *encoder) room() bool {
	if len(e.out) < bufferSize {
		return true
	}
	next, ok := e.flush(e.out)
	e.out = next[:0]
	return ok
}

// emit appends msg to out as a field of the profile and empties it.
func (e *encoder) emit(field int) {
	e.out.bytes(field, e.msg)
	e.msg = e.msg[:0]
}

// str is the number of a string in the profile's table, the first of which is "". Names and paths
// are any bytes, and readers of protocol buffers refuse a whole profile for one string that is not
// UTF-8 (https://protobuf.dev/programming-guides/proto3/#scalar): such bytes become U+FFFD.
func (e *encoder) str(s string) int64 {
	return int64(e.strings.ID(strings.ToValidUTF8(s, "\uFFFD")))
}

func (e *encoder) valueType(field int, v stacks.ValueType) {
	e.msg.int(valueTypeType, e.str(v.Type))
	e.msg.int(valueTypeUnit, e.str(v.Unit))
	e.emit(field)
}

func (e *encoder) header() {
	s := e.set
	for _, ev := range s.Events {
		for _, v := range ev.Values {
			e.valueType(profileSampleType, v)
		}
	}
	e.out.int(profileDropFrames, e.str(s.DropFrames))
	e.out.int(profileKeepFrames, e.str(s.KeepFrames))
	e.out.int(profileTimeNanos, s.TimeNanos)
	e.out.int(profileDurationNanos, s.DurationNanos)
	if s.PeriodType != (stacks.ValueType{}) {
		e.valueType(profilePeriodType, s.PeriodType)
	}
	e.out.int(profilePeriod, s.Period)
	for _, c := range s.Comments {
		e.out.varint(profileComment << 3) // an empty comment is one too
		e.out.varint(uint64(e.str(c)))
	}
	e.out.int(profileDefaultType, e.str(s.DefaultType))
	e.out.int(profileDocURL, e.str(s.DocURL))
	if e.blocks = newBlockWriter(s); e.blocks != nil {
		e.out.bytes(profileBlocks, e.blocks.header)
	}
}

// samples are nearly all of a profile. What rows share is encoded once: the
// labels of each set, and the zeros of the columns of other events.
func (e *encoder) samples() bool {
	s := e.set
	labels := e.labelSets()
	width := 0
	first := make([]int, len(s.Events)) // an event's first column
	for i, ev := range s.Events {
		first[i] = width
		width += len(ev.Values)
	}
	zeros := make([]byte, width)
	for i := range s.NumSamples() {
		x := s.Sample(i)
		stack := s.Stack(x.Stack)
		msg := e.msg[:0]
		if len(stack) > 0 {
			sub := e.sub[:0]
			for _, l := range stack {
				id := l + 1
				for id >= 0x80 {
					sub = append(sub, byte(id)|0x80)
					id >>= 7
				}
				sub = append(sub, byte(id))
			}
			e.sub = sub
			msg.bytes(sampleLocation, sub)
		}
		values := e.sub[:0]
		values = append(values, zeros[:first[x.Event]]...)
		for _, v := range x.Values {
			values.varint(uint64(v))
		}
		values = append(values, zeros[first[x.Event]+len(x.Values):]...)
		e.sub = values
		if width > 0 {
			msg.bytes(sampleValue, values)
		}
		if e.msg = append(msg, labels[x.Labels]...); e.blocks != nil {
			e.msg, e.sub = e.blocks.append(e.msg, e.sub, i)
		}
		e.emit(profileSample)
		if !e.room() {
			return false
		}
	}
	return true
}

// labelSets encodes each list of labels as the fields of a sample.
func (e *encoder) labelSets() [][]byte {
	sets := make([][]byte, e.set.NumLabels())
	for i := range sets {
		var b buf
		for _, l := range e.set.Labels(stacks.LabelsID(i)) {
			m := e.sub[:0]
			m.int(labelKey, e.str(l.Key))
			if l.Str != "" {
				m.int(labelStr, e.str(l.Str))
			} else {
				m.int(labelNum, l.Num)
				m.int(labelUnit, e.str(numUnit(l)))
			}
			b.bytes(sampleLabel, m)
			e.sub = m
		}
		sets[i] = b
	}
	return sets
}

// numUnit is the unit to write. google/pprof drops a numeric label that has
// neither value nor unit, such as pid 0; and for a missing unit it takes the key,
// or bytes for two of old (profile.NumLabelUnits). Writing that keeps the label,
// and what it means; Read takes a unit that is the key away again.
func numUnit(l stacks.Label) string {
	if l.Unit != "" {
		return l.Unit
	}
	if l.Key == "alignment" || l.Key == "request" {
		return "bytes"
	}
	return l.Key
}

func (e *encoder) mapping(i int) {
	m := &e.set.Mappings[i]
	e.msg.uint(mappingID, uint64(i)+1)
	e.msg.uint(mappingStart, m.Start)
	e.msg.uint(mappingLimit, m.Limit)
	e.msg.uint(mappingOffset, m.Offset)
	e.msg.int(mappingFile, e.str(m.File))
	e.msg.int(mappingBuildID, e.str(m.BuildID))
	// Always: pprof looks for the binary of a mapping without functions, on a
	// machine that may not be the recorded one, and complains.
	e.msg.bool(mappingHasFunctions, true)
	e.msg.bool(mappingHasFilenames, m.HasFilenames)
	e.msg.bool(mappingHasLineNumbers, m.HasLineNumbers)
	e.msg.bool(mappingHasInlineFrames, m.HasInlineFrames)
	e.emit(profileMapping)
}

// noMapping stands for the mapping of a Set that has none: pprof would make up
// one of its own, and try to symbolize it.
func (e *encoder) noMapping() {
	e.msg.uint(mappingID, 1)
	e.msg.bool(mappingHasFunctions, true)
	e.emit(profileMapping)
}

// nameUnnamed finds the functions that stand for locations without any: of these
// pprof and most other viewers show nothing, or an address each.
func (e *encoder) nameUnnamed() {
	e.placeIDs, e.placesOf = make(map[string]uint32), make([]string, len(e.set.Mappings))
	for i := range e.set.Locations {
		if len(e.set.Lines(uint32(i))) == 0 {
			e.placeIDs[e.placeName(uint32(i))] = noFunction
		}
	}
	if len(e.placeIDs) == 0 {
		return
	}
	for i, f := range e.set.Functions {
		if id, ok := e.placeIDs[f.Name]; ok && id == noFunction && isPlace(f) {
			e.placeIDs[f.Name] = uint32(i)
		}
	}
	for i := range e.set.Locations {
		if len(e.set.Lines(uint32(i))) > 0 {
			continue
		}
		if name := e.placeName(uint32(i)); e.placeIDs[name] == noFunction {
			e.placeIDs[name] = uint32(len(e.set.Functions) + len(e.places))
			e.places = append(e.places, name)
		}
	}
}

const noFunction = math.MaxUint32

// placeName is Set.PlaceName, which those of a mapping have in common.
func (e *encoder) placeName(loc uint32) string {
	m := e.set.Locations[loc].Mapping
	if m < 0 {
		return e.set.PlaceName(loc)
	}
	if e.placesOf[m] == "" {
		e.placesOf[m] = e.set.PlaceName(loc)
	}
	return e.placesOf[m]
}

// isPlace reports whether a function has nothing but a name, as those have that stand
// for places.
func isPlace(f stacks.Function) bool { return f == stacks.Function{Name: f.Name} }

func (e *encoder) location(id uint32) {
	l := &e.set.Locations[id]
	e.msg.uint(locationID, uint64(id)+1)
	e.msg.uint(locationMapping, uint64(l.Mapping+1)) // 0 for NoMapping
	e.msg.uint(locationAddress, l.Addr)
	lines := e.set.Lines(id)
	if len(lines) == 0 {
		m := e.sub[:0]
		m.uint(lineFunction, uint64(e.placeIDs[e.placeName(id)])+1)
		e.msg.bytes(locationLine, m)
		e.sub = m
	}
	for _, line := range lines {
		m := e.sub[:0]
		m.uint(lineFunction, uint64(line.Function)+1)
		m.int(lineLine, line.Line)
		m.int(lineColumn, line.Column)
		e.msg.bytes(locationLine, m)
		e.sub = m
	}
	e.emit(profileLocation)
}

func (e *encoder) function(i int) { e.functionNamed(i, &e.set.Functions[i]) }

func (e *encoder) functionNamed(i int, f *stacks.Function) {
	e.msg.uint(functionID, uint64(i)+1)
	e.msg.int(functionName, e.str(f.Name))
	if f.SystemName != f.Name || !shortened(f.Name) {
		e.msg.int(functionSystemName, e.str(f.SystemName))
	}
	e.msg.int(functionFilename, e.str(f.File))
	e.msg.int(functionStartLine, f.StartLine)
	e.emit(profileFunction)
}

// shortened reports whether pprof may take a name for one of C++ of which it is to show less, where
// it is what the linker calls the function too: it leaves out all in brackets, and of Rust's
// "<T as Trait>::f" nothing but "::f" is left. Names without another one it shows as they are.
func shortened(name string) bool {
	return strings.ContainsAny(name, "<(") && (strings.ContainsAny(name, "<>[]") || strings.Contains(name, "::"))
}
