package store

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"kprof/convert/stacks"
)

// otlpPath is where a receiver takes profiles by HTTP (OTLP specification 1.11; of
// collector/profiles/v1development/profiles_service_http.yaml).
const otlpPath = "/v1development/profiles"

// maxOTLPSize bounds a profile whose indices must be of 31 bits.
const maxOTLPSize = math.MaxInt32

// otlpNames are the names that the semantic conventions of OpenTelemetry have for labels.
var otlpNames = map[string]string{"service_name": "service.name", "host": "host.name", "arch": "host.arch"}

// otlpArchs are the values of host.arch, where they are not those of uname.
var otlpArchs = map[string]string{"x86_64": "amd64", "aarch64": "arm64", "i686": "x86", "i386": "x86"}

// otlpLabel is a label as OpenTelemetry has it: names are any text, and those of its conventions.
// No two attributes of a resource may have one name, so that this is before labels replace others.
func otlpLabel(l Label) Label {
	l = Label{value(l.Name), value(l.Value)}
	if known := otlpNames[l.Name]; known != "" {
		l.Name = known
	}
	if known := otlpArchs[l.Value]; known != "" && l.Name == "host.arch" {
		l.Value = known
	}
	return l
}

// otlpRequest is a collector.profiles.v1development.ExportProfilesServiceRequest of a Set
// of one event whose samples have no labels, as go.opentelemetry.io/proto/otlp v1.11.0 and
// profiles/v1development v0.4.0 have it. Each column is a Profile, without the samples
// that are 0 in it; all share one dictionary. labels are those of series, of which no two have one
// name.
//
//	ExportProfilesServiceRequest { ResourceProfiles resource_profiles = 1; ProfilesDictionary dictionary = 2 }
//	ResourceProfiles             { Resource resource = 1; ScopeProfiles scope_profiles = 2 }
//	ScopeProfiles                { InstrumentationScope scope = 1; Profile profiles = 2 }
//	Resource                     { KeyValue attributes = 1 }
//	InstrumentationScope         { string name = 1; KeyValue attributes = 3 }
//	Profile                      { ValueType sample_type = 1; Sample samples = 2; fixed64 time_unix_nano = 3;
//	                               uint64 duration_nano = 4; ValueType period_type = 5; int64 period = 6; bytes profile_id = 7 }
//	Sample                       { int32 stack_index = 1; repeated int64 values = 4 }
func otlpRequest(s *stacks.Set, labels []Label) ([]byte, error) {
	var resource, scope []byte
	scope = appendString(scope, 1, "kprof")
	for _, l := range labels {
		switch l.Name {
		case nameLabel: // the types of columns say it
		case "event":
			scope = appendMessage(scope, 3, keyValue(l.Name, l.Value))
		default:
			resource = appendMessage(resource, 1, keyValue(l.Name, l.Value))
		}
	}

	d := newDictionary(s)
	scoped := appendMessage(nil, 1, scope)
	for column := range s.Events[0].Values {
		p, any := d.profile(s, column)
		if !any {
			continue
		}
		h := sha256.New()
		h.Write(resource)
		h.Write(scope)
		h.Write(p)
		for i := range d.tables {
			h.Write(d.tables[i])
		}
		scoped = appendMessage(scoped, 2, protowire.AppendBytes(protowire.AppendTag(p, 7, protowire.BytesType), h.Sum(nil)[:16]))
	}
	profiles := appendMessage(nil, 1, resource)
	profiles = appendMessage(profiles, 2, scoped)
	request := appendMessage(nil, 1, profiles)
	size := 0
	for i := range d.tables {
		size += len(d.tables[i])
	}
	if size+len(request) > maxOTLPSize {
		return nil, fmt.Errorf("a profile of %d MB", (size+len(request))/1e6)
	}
	return appendMessage(request, 2, d.encoded()), nil
}

// keyValue is a common.v1.KeyValue of text: { string key = 1; AnyValue value = 2 } and
// AnyValue { string string_value = 1 }.
func keyValue(key, v string) []byte {
	text := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), v)
	return appendMessage(appendString(nil, 1, key), 2, text)
}

// The tables of a ProfilesDictionary, by their field numbers less one. The first element
// of each is empty, and means none.
const (
	mappingTable = iota
	locationTable
	functionTable
	linkTable
	stringTable
	attributeTable
	stackTable
	numTables
)

// dictionary is a ProfilesDictionary: what the Profiles of a request have in common.
type dictionary struct {
	tables  [numTables][]byte // their elements, as fields of the dictionary
	lengths [numTables]int64
	strings map[string]int64
	kinds   map[stacks.Kind]int64 // attributes that say the kind of a frame
	stacks  map[stacks.StackID]int64
	scratch []byte
}

// newDictionary is all of a Set but its samples: stacks are added by profile. Index i of
// mappings, functions and locations is i+1 here.
func newDictionary(s *stacks.Set) *dictionary {
	d := &dictionary{strings: map[string]int64{}, kinds: map[stacks.Kind]int64{}, stacks: map[stacks.StackID]int64{}}
	for t := range numTables {
		var none []byte
		if t == linkTable { // ids of the lengths that ids have
			none = protowire.AppendBytes(protowire.AppendTag(none, 1, protowire.BytesType), make([]byte, 16))
			none = protowire.AppendBytes(protowire.AppendTag(none, 2, protowire.BytesType), make([]byte, 8))
		}
		d.add(t, none)
	}
	d.strings[""] = 0
	for i := range s.Mappings {
		m := &s.Mappings[i]
		b := appendInt(nil, 1, int64(m.Start))
		b = appendInt(appendInt(b, 2, int64(m.Limit)), 3, int64(m.Offset))
		b = appendInt(b, 4, d.text(m.File))
		if m.BuildID != "" {
			b = appendInts(b, 5, d.attribute("process.executable.build_id.gnu", m.BuildID))
		}
		d.add(mappingTable, b)
	}
	for _, f := range s.Functions {
		b := appendInt(nil, 1, d.text(f.Name))
		b = appendInt(appendInt(b, 2, d.text(f.SystemName)), 3, d.text(f.File))
		d.add(functionTable, appendInt(b, 4, f.StartLine))
	}
	for i := range s.Locations {
		l := &s.Locations[i]
		b := appendInt(nil, 1, int64(l.Mapping)+1)
		b = appendInt(b, 2, int64(l.Addr))
		for _, x := range s.Lines(uint32(i)) {
			line := appendInt(nil, 1, int64(x.Function)+1)
			b = appendMessage(b, 3, appendInt(appendInt(line, 2, x.Line), 3, x.Column))
		}
		if a := d.kind(l.Kind); a != 0 {
			b = appendInts(b, 4, a)
		}
		d.add(locationTable, b)
	}
	return d
}

// add appends an element to a table, and returns its index.
func (d *dictionary) add(table int, element []byte) int64 {
	d.tables[table] = appendMessage(d.tables[table], protowire.Number(table+1), element)
	d.lengths[table]++
	return d.lengths[table] - 1
}

// text is the index of a string.
func (d *dictionary) text(s string) int64 {
	i, ok := d.strings[s]
	if !ok {
		i = d.add(stringTable, []byte(strings.ToValidUTF8(s, "?")))
		d.strings[s] = i
	}
	return i
}

// attribute is the index of one more KeyValueAndUnit { int32 key_strindex = 1; AnyValue value = 2 }.
func (d *dictionary) attribute(key, v string) int64 {
	text := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), v)
	return d.add(attributeTable, appendMessage(appendInt(nil, 1, d.text(key)), 2, text))
}

// kind is the index of the attribute that says the kind of a frame, 0 for none.
func (d *dictionary) kind(k stacks.Kind) int64 {
	i, ok := d.kinds[k]
	if !ok {
		switch k {
		case stacks.KindKernel, stacks.KindModule, stacks.KindBPF:
			i = d.attribute("profile.frame.type", "kernel")
		case stacks.KindUser, stacks.KindVDSO:
			i = d.attribute("profile.frame.type", "native")
		}
		d.kinds[k] = i
	}
	return i
}

// valueType is a ValueType { int32 type_strindex = 1; int32 unit_strindex = 2 }.
func (d *dictionary) valueType(v stacks.ValueType) []byte {
	return appendInt(appendInt(nil, 1, d.text(v.Type)), 2, d.text(v.Unit))
}

// profile is a Profile of one column, without an id, and whether it has a sample.
func (d *dictionary) profile(s *stacks.Set, column int) (b []byte, any bool) {
	b = appendMessage(nil, 1, d.valueType(s.Events[0].Values[column]))
	for i := range s.NumSamples() {
		x := s.Sample(i)
		v := x.Values[column]
		if v == 0 {
			continue
		}
		any = true
		stack, ok := d.stacks[x.Stack]
		if !ok {
			packed := d.scratch[:0]
			for _, l := range s.Stack(x.Stack) {
				packed = protowire.AppendVarint(packed, uint64(l)+1)
			}
			if d.scratch = packed; len(packed) > 0 { // else it is the empty one, which is there
				stack = d.add(stackTable, appendMessage(nil, 1, packed))
			}
			d.stacks[x.Stack] = stack
		}
		b = appendMessage(b, 2, appendInts(appendInt(nil, 1, stack), 4, v))
	}
	b = protowire.AppendFixed64(protowire.AppendTag(b, 3, protowire.Fixed64Type), uint64(s.TimeNanos))
	b = appendInt(b, 4, s.DurationNanos)
	if s.Period != 0 {
		b = appendMessage(b, 5, d.valueType(s.PeriodType))
		b = appendInt(b, 6, s.Period)
	}
	return b, any
}

// encoded is the dictionary as a message.
func (d *dictionary) encoded() []byte {
	var b []byte
	for i := range d.tables {
		b = append(b, d.tables[i]...)
	}
	return b
}

// appendInts appends a packed field of one number.
func appendInts(b []byte, field protowire.Number, v int64) []byte {
	return appendMessage(b, field, protowire.AppendVarint(nil, uint64(v)))
}

// PartialError says that a receiver took a request, but not all of it, as
// ExportProfilesPartialSuccess tells; or, with 0 rejected, that it took all and has
// something to say of it.
type PartialError struct {
	Rejected int64 // profiles: each column of an event is one
	Message  string
}

func (e *PartialError) Error() string {
	if e.Rejected == 0 {
		return fmt.Sprintf("the store took it and says: %s", e.Message)
	}
	profiles := "profiles"
	if e.Rejected == 1 {
		profiles = "profile"
	}
	return fmt.Sprintf("the store rejected %d %s of those that it was sent at once: %s", e.Rejected, profiles, e.Message)
}

// parsePartial reads an ExportProfilesServiceResponse { ExportProfilesPartialSuccess
// partial_success = 1 }, whose fields are int64 rejected_profiles = 1 and string
// error_message = 2, of which shown is shown; nil for all is well.
func parsePartial(answer []byte, shown func(string) string) error {
	var e PartialError
	err := fields(answer, func(f protowire.Number, b []byte) error {
		if f != 1 {
			return nil
		}
		rejected, err := intOf(b, 1)
		if err != nil {
			return err
		}
		texts, err := stringsOf(b, 2)
		if err != nil {
			return err
		}
		e.Rejected = max(rejected, 0)
		if len(texts) > 0 {
			e.Message = shown(strings.TrimSpace(texts[len(texts)-1]))
		}
		return nil
	})
	if err != nil || e == (PartialError{}) {
		return err
	}
	return &e
}

// parseJSONPartial is parsePartial of the same message in the JSON of protocol buffers, in which an
// int64 is text or a number: some receivers answer so, whatever they were sent.
func parseJSONPartial(answer []byte, shown func(string) string) error {
	var told struct {
		PartialSuccess struct {
			RejectedProfiles json.RawMessage
			ErrorMessage     string
		}
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		return fmt.Errorf("%w: %w", errAnswer, err)
	}
	e := PartialError{Message: shown(strings.TrimSpace(told.PartialSuccess.ErrorMessage))}
	if text := strings.Trim(string(told.PartialSuccess.RejectedProfiles), `"`); text != "" && text != "null" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%w: %w", errAnswer, err)
		}
		e.Rejected = max(n, 0)
	}
	if e == (PartialError{}) {
		return nil
	}
	return &e
}

// intOf is the number in a field of a message, 0 if there is none.
func intOf(b []byte, field protowire.Number) (v int64, err error) {
	for len(b) > 0 {
		f, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0, errors.Join(errAnswer, protowire.ParseError(n))
		}
		m := protowire.ConsumeFieldValue(f, wire, b[n:])
		if m < 0 {
			return 0, errors.Join(errAnswer, protowire.ParseError(m))
		}
		if f == field && wire == protowire.VarintType {
			u, _ := protowire.ConsumeVarint(b[n:])
			v = int64(u)
		}
		b = b[n+m:]
	}
	return v, nil
}

// statusText is what a google.rpc.Status { int32 code = 1; string message = 2 } says.
func statusText(b []byte) string {
	texts, err := stringsOf(b, 2)
	if err != nil || len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// isOTLP reports whether the content type of an answer is that of the protocol.
func isOTLP(contentType string) bool {
	return strings.HasPrefix(contentType, "application/x-protobuf") || strings.HasPrefix(contentType, "application/protobuf")
}

// isOTLPAnswer reports whether a receiver may answer with a content type, "" for one that says
// nothing.
func isOTLPAnswer(contentType string) bool {
	return contentType == "" || isOTLP(contentType) || isJSON(contentType)
}

func isJSON(contentType string) bool { return strings.HasPrefix(contentType, "application/json") }
