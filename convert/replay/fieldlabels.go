package replay

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"kprof/convert/payload"
	"kprof/convert/stacks"
	"kprof/perfevent/datasrc"
	"kprof/perfevent/format"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/format/printfmt"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/spanrule"
	"kprof/perfevent/spelling"
	"kprof/perfevent/syscalls"
)

// fieldLabels makes labels of fields of events. The labels of a sample are a list, which
// has a number: rows carry that, and new lists go with the batch, as another goroutine
// puts them into the Set.
type fieldLabels struct {
	keys   []labelKeyOf
	events [][]labelField // by index of event and key; nil before the first sample
	values []stacks.Label // what samples have; the number 0 is that of no value
	lists  map[string]uint32
	list   []byte // scratch: the numbers of a sample's values
	text   []byte // scratch

	overflow uint64 // samples whose list is others', as there are too many

	// syscalls is the table of the recorded machine.
	syscalls func() *syscalls.Table
	// code finds the function at an address of the kernel, ok false for none.
	code func(addr uint64) (name string, offset uint64, ok bool)
}

// labelKeyOf is what one of Options.FieldLabels asks for.
type labelKeyOf struct {
	key, qualifier, field string
	as                    spanrule.Meaning
	ofRule                bool              // of Options.Spans: events may be without
	texts                 map[string]uint32 // numbers of values by their text
	labels                map[stacks.Label]uint32
	others                uint32 // of the values that are not told apart
	overflow              uint64 // samples that have these
}

// labelField is where an event has such a field.
type labelField struct {
	field    *format.Field // nil for nowhere
	own      *expr.Program // in its place, what samples of the event have beside their fields
	fixed    uint32        // in its place, the number of the value that all samples of the event have; 0 for none
	symbolic *printfmt.Symbolic
	unit     string
	returns  bool // errors as negative numbers
	numbers  map[uint64]uint32
}

// maxValues bounds the values of a key that are told apart, and maxLists the different
// lists of them; maxLabelText the bytes of one, which are what a path can have.
const (
	maxValues    = 1 << 14
	maxLists     = 1 << 17
	maxLabelText = 4096
)

// otherValues is the value of those that are not told apart.
const otherValues = "[others]"

// noList and otherLists are the numbers of the list without values, and of the one for
// samples whose lists are not told apart.
const (
	noList     = 0
	otherLists = 1
)

func newFieldLabels(keys []labelKeyOf) fieldLabels {
	l := fieldLabels{values: make([]stacks.Label, 1), lists: map[string]uint32{}}
	for _, k := range keys {
		k.texts, k.labels = map[string]uint32{}, map[stacks.Label]uint32{}
		k.others = l.add(stacks.Label{Key: k.key, Str: otherValues})
		l.keys = append(l.keys, k)
	}
	return l
}

// first are the lists that there are from the beginning.
func (l *fieldLabels) first() [][]stacks.Label {
	var others []stacks.Label
	for i := range l.keys {
		others = append(others, l.values[l.keys[i].others])
	}
	return [][]stacks.Label{noList: nil, otherLists: others}
}

func (l *fieldLabels) add(v stacks.Label) uint32 {
	l.values = append(l.values, v)
	return uint32(len(l.values) - 1)
}

// of returns what labels are made of for an event.
func (l *fieldLabels) of(e *perfdata.Event, formats *payload.Formats) []labelField {
	for len(l.events) <= e.Index {
		l.events = append(l.events, nil)
	}
	if l.events[e.Index] != nil {
		return l.events[e.Index]
	}
	found := make([]labelField, len(l.keys))
	l.events[e.Index] = found
	f, _ := formats.Of(&e.Attr)
	var printer *printfmt.Printer
	if f != nil {
		printer = formats.Printer(f, nil)
	}
	for i := range l.keys {
		k := &l.keys[i]
		if own := formats.Own(e, k.name()); own != nil && !k.ofRule {
			found[i] = labelField{own: own, numbers: map[uint64]uint32{}}
			continue
		}
		event := payload.EventName(e.Name, f)
		if f == nil || !k.means(event) {
			continue
		}
		if k.as == spanrule.Varying {
			if !l.labelled(found[:i], k.key) {
				varying, _ := (&spanrule.Side{Event: k.qualifier}).Matches(event)
				found[i].fixed = l.intern(k, stacks.Label{Key: k.key, Str: varying})
			}
			continue
		}
		if field := f.Field(k.field); field != nil {
			found[i] = labelField{
				field: field, symbolic: printer.Symbolic(field.Name), unit: format.Unit(f.System+":"+f.Name, field.Name),
				returns: field.ReturnsError(), numbers: map[uint64]uint32{},
			}
		}
	}
	return found
}

func (f *labelField) found() bool { return f.field != nil || f.own != nil || f.fixed != 0 }

// labelled reports whether the first labels of an event have one of a key.
func (l *fieldLabels) labelled(first []labelField, key string) bool {
	for i := range first {
		if l.keys[i].key == key && first[i].found() {
			return true
		}
	}
	return false
}

// name is the key as expressions have it.
func (k *labelKeyOf) name() string {
	if k.qualifier == "" {
		return k.field
	}
	return k.qualifier + "." + k.field
}

// same reports whether both are the label of the same field.
func (k *labelKeyOf) same(o *labelKeyOf) bool {
	return k.key == o.key && k.qualifier == o.qualifier && k.field == o.field && k.as == o.as
}

// means reports whether the key may be a field of an event.
func (k *labelKeyOf) means(event string) bool {
	if k.ofRule && k.qualifier != "" {
		_, ok := (&spanrule.Side{Event: k.qualifier}).Matches(event)
		return ok
	}
	return k.qualifier == "" || k.qualifier == "field" || k.qualifier == event || k.qualifier == event[strings.IndexByte(event, ':')+1:]
}

// listOf returns the number of the list of what a sample has, and the list itself where it
// is new.
func (l *fieldLabels) listOf(fields []labelField, x *expr.Sample) (id uint32, list []stacks.Label) {
	l.list = l.list[:0]
	any := false
	for i := range fields {
		v := l.value(&l.keys[i], &fields[i], x)
		any = any || v != 0
		l.list = binary.LittleEndian.AppendUint32(l.list, v)
	}
	if !any {
		return noList, nil
	}
	if id, known := l.lists[string(l.list)]; known {
		return id, nil
	}
	if len(l.lists) >= maxLists {
		l.overflow++
		return otherLists, nil
	}
	for b := l.list; len(b) > 0; b = b[4:] {
		if v := binary.LittleEndian.Uint32(b); v != 0 {
			list = append(list, l.values[v])
		}
	}
	id = uint32(len(l.lists)) + otherLists + 1
	l.lists[string(l.list)] = id
	return id, list
}

// value returns the number of the value that a field has in a sample, 0 for none.
func (l *fieldLabels) value(k *labelKeyOf, f *labelField, x *expr.Sample) uint32 {
	raw := x.Raw
	switch {
	case f.field == nil && f.own == nil:
		return f.fixed
	case f.own != nil && f.own.IsText():
		var ok bool
		if l.text, ok = f.own.Text(x, l.text[:0]); !ok {
			return 0
		}
		return l.valueOf(k, l.text)
	case f.own != nil || f.field.Scalar():
		n, ok := f.uint(x)
		if !ok {
			return 0
		}
		if k.as == spanrule.Errno && (int64(n) >= 0 || int64(n) < -format.MaxErrno) {
			return 0
		}
		id, known := f.numbers[n]
		if !known {
			id = l.intern(k, l.number(k, f, n, raw))
			if id != k.others && len(f.numbers) < maxValues {
				f.numbers[n] = id
			}
		}
		if id == k.others {
			k.overflow++
		}
		return id
	}
	var text []byte
	if f.field.Text() {
		var ok bool
		if text, ok = f.field.String(raw); !ok {
			return 0
		}
	} else {
		if _, ok := f.field.Bytes(raw); !ok {
			return 0
		}
		l.text = f.field.AppendValue(l.text[:0], raw)
		text = l.text
	}
	return l.valueOf(k, text)
}

// valueOf returns the number of a text.
func (l *fieldLabels) valueOf(k *labelKeyOf, text []byte) uint32 {
	text = text[:min(len(text), maxLabelText)]
	id, known := k.texts[string(text)]
	if !known {
		if id = l.intern(k, stacks.Label{Key: k.key, Str: shownText(string(text))}); id != k.others && len(k.texts) < maxValues {
			k.texts[string(text)] = id
		}
	}
	if id == k.others {
		k.overflow++
	}
	return id
}

// uint returns the number that a sample has.
func (f *labelField) uint(x *expr.Sample) (uint64, bool) {
	if f.own == nil {
		return f.field.Uint(x.Raw)
	}
	v, ok := f.own.Value(x)
	return v.Bits, ok
}

// intern returns the number of a value.
func (l *fieldLabels) intern(k *labelKeyOf, v stacks.Label) uint32 {
	if id, known := k.labels[v]; known {
		return id
	}
	if len(k.labels) >= maxValues {
		return k.others
	}
	id := l.add(v)
	k.labels[v] = id
	return id
}

// shownText is text as labels may have it, which an empty one would not be.
func shownText(s string) string {
	if s == "" {
		return `""`
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// number is the label of a number: the names of flags and symbols as the event prints
// them, errors by name, addresses in hexadecimal, all else with its unit.
func (l *fieldLabels) number(k *labelKeyOf, f *labelField, n uint64, raw []byte) stacks.Label {
	label := stacks.Label{Key: k.key}
	signed := int64(n)
	if f.own != nil {
		switch k.field {
		case "weight", "ins_lat", "retire_lat":
			label.Num, label.Unit = signed, "count"
		case "data_page_size", "code_page_size":
			label.Str = string(datasrc.AppendPageSize(nil, n))
		case "data_src":
			label.Str = string(datasrc.Source(n).AppendTo(nil))
		default: // an address, or what may be one
			label.Str = fmt.Sprintf("%#x", n)
		}
		return label
	}
	if f.returns && f.field.Size == 4 {
		signed = int64(int32(n))
	}
	switch {
	case k.as == spanrule.Errno:
		label.Str = format.ErrnoName(int(-signed))
	case k.as == spanrule.Syscall:
		name, ok := l.syscalls().Name(n)
		if !ok {
			name = fmt.Sprintf("syscall %d", signed)
		}
		label.Str = name
	case f.symbolic != nil:
		l.text = f.symbolic.AppendTo(l.text[:0], raw)
		if label.Str = shownText(string(l.text)); len(l.text) == 0 {
			label.Str = "0"
		}
	case f.returns && signed < 0 && signed >= -format.MaxErrno:
		label.Str = format.ErrnoName(int(-signed))
	case format.CodeAddress(f.field.Name) && l.code != nil:
		label.Str = fmt.Sprintf("%#x", n)
		if name, offset, ok := l.code(n); ok && offset == 0 && k.as == spanrule.Code {
			label.Str = name
		} else if ok {
			label.Str = fmt.Sprintf("%s+%#x", name, offset)
		}
	case f.field.Kind == format.Pointer, format.CodeAddress(f.field.Name), (!f.field.Signed || f.returns && f.field.Size == 8) && n > math.MaxInt64:
		label.Str = fmt.Sprintf("%#x", n)
	case f.field.Kind == format.Char:
		l.text = f.field.AppendValue(l.text[:0], raw)
		label.Str = shownText(string(l.text))
	default:
		label.Num, label.Unit = int64(n), f.unit
	}
	return label
}

// UnknownFieldError reports a label that no event has a field for.
type UnknownFieldError struct {
	Key    string
	Near   []string // fields whose names are much alike
	Fields []string // that events have, sorted; without the common ones
}

func (e *UnknownFieldError) Error() string {
	switch {
	case len(e.Near) > 0:
		return fmt.Sprintf("no event has a field %q%s", e.Key, spelling.Question(e.Near))
	case len(e.Fields) == 0:
		return fmt.Sprintf("no event has a field %q, nor any other", e.Key)
	}
	return fmt.Sprintf("no event has a field %q; fields here: %s", e.Key, strings.Join(e.Fields, ", "))
}

// check returns an error if a key is of none of the events.
func (l *fieldLabels) check(events []*perfdata.Event, formats *payload.Formats) error {
	for i := range l.keys {
		if l.keys[i].ofRule {
			continue
		}
		has := func(e *perfdata.Event) bool { return l.of(e, formats)[i].found() }
		if len(events) == 0 || slices.ContainsFunc(events, has) {
			continue
		}
		fields := l.known(events, formats)
		return &UnknownFieldError{Key: l.keys[i].key, Near: spelling.Closest(l.keys[i].field, fields), Fields: fields}
	}
	return nil
}

// known lists what there is to label samples by: the events' own fields, registers and the like, and
// what rules of spans make of them.
func (l *fieldLabels) known(events []*perfdata.Event, formats *payload.Formats) []string {
	names := formats.LabelNames(events)
	for i := range l.keys {
		if l.keys[i].ofRule && slices.ContainsFunc(events, func(e *perfdata.Event) bool { return l.of(e, formats)[i].found() }) {
			names = append(names, l.keys[i].key)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// LabelOverflow is how many samples have a value of a key that is not told apart.
type LabelOverflow struct {
	Key     string
	Samples uint64
}

// overflows are those of all keys that have any.
func (l *fieldLabels) overflows() (all []LabelOverflow) {
	for i := range l.keys {
		if n := l.keys[i].overflow + l.overflow; n > 0 {
			all = append(all, LabelOverflow{l.keys[i].key, n})
		}
	}
	return all
}
