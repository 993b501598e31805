package format

import (
	"fmt"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
)

// commonFields are the lines of the fields that every event begins with
// (kernel/trace/trace_events.c, trace_define_common_fields).
const commonFields = `	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;
`

// Text is the format of an event that is made up, as the kernel would write it: with the fields
// that every event begins with, and behind these the lines of its own, from offset 8 on. print is
// its print fmt.
func Text(name string, id uint64, fields, print string) string {
	return fmt.Sprintf("name: %s\nID: %d\nformat:\n%s\n%s\nprint fmt: %s\n", name, id, commonFields, fields, print)
}

// InterruptLevel says in what an event happened by its field common_flags (enum
// trace_flag_type): 0 for a task, 1 for a softirq, 2 for a hardirq, 3 for an NMI. What is of a
// higher level interrupts what is of a lower one.
func InterruptLevel(flags uint64) int {
	switch {
	case flags&0x40 != 0:
		return 3
	case flags&0x08 != 0:
		return 2
	case flags&0x10 != 0:
		return 1
	}
	return 0
}

// Format is the description of an event.
type Format struct {
	System string // "sched"; empty unless the caller sets it, the text has none
	Name   string // "sched_switch"
	ID     uint64 // common_type of its records, perf_event_attr.config of its events

	Order    abi.Order // of the recording
	LongSize int       // bytes of a long and of a pointer in the recording: 4 or 8

	Fields   []Field // in the order of the text, the common ones first
	Common   int     // how many of Fields are common to all events
	PrintFmt string  // what follows "print fmt:", empty when there is none
}

// Machine is what a format's text does not say of the kernel that wrote it. The
// zero value is a little-endian kernel of 64 bits.
type Machine struct {
	Order    abi.Order
	LongSize int // bytes: 4 or 8; 0 is 8
	// MaxSize is the largest size of a field, in bytes; 0 is 64 KiB, above which no event has any.
	MaxSize int
}

// What a format may have. Kernels stay far below: their payloads end at 64 KiB,
// for which fields have 16 bits.
const (
	maxText   = 1 << 20
	maxFields = 4096
	maxOffset = 1 << 16
)

// SyntaxError is a format whose text is not one.
type SyntaxError struct {
	Name   string // of the event, if it was read
	Offset int    // in the text, bytes
	Line   string // that is wrong
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("format of event %q, offset %d: %s: %q", e.Name, e.Offset, e.Reason, e.Line)
}

// Parse reads the text of a format file. What it does not know is passed over;
// a field that it cannot read is an error, for to leave it out would be to say
// that the event lacks it.
func Parse(text string, m Machine) (*Format, error) {
	if m.LongSize == 0 {
		m.LongSize = 8
	}
	if m.MaxSize == 0 {
		m.MaxSize = maxOffset
	}
	f := &Format{Order: m.Order, LongSize: m.LongSize}
	fail := func(off int, line, reason string, args ...any) (*Format, error) {
		const most = 200
		if len(line) > most {
			line = line[:most] + "…"
		}
		return nil, &SyntaxError{Name: f.Name, Offset: off, Line: line, Reason: fmt.Sprintf(reason, args...)}
	}
	switch {
	case m.LongSize != 4 && m.LongSize != 8:
		return fail(0, "", "a long of %d bytes", m.LongSize)
	case len(text) > maxText:
		return fail(0, text, "%d bytes, at most %d are read", len(text), maxText)
	}
	f.Fields = make([]Field, 0, min(strings.Count(text, "field"), maxFields))
	off := 0
	for raw := range strings.Lines(text) {
		at := off
		off += len(raw)
		line := strings.TrimSpace(raw)
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		switch key {
		case "name":
			f.Name = strings.TrimSpace(value)
		case "ID":
			id, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			if err != nil {
				return fail(at, line, "the id is not a number")
			}
			f.ID = id
		case "field", "field special":
			if len(f.Fields) == maxFields {
				return fail(at, line, "more than %d fields", maxFields)
			}
			field, reason := parseField(value, m)
			if reason != "" {
				return fail(at, line, "%s", reason)
			}
			f.Fields = append(f.Fields, field)
			if f.Common == len(f.Fields)-1 && strings.HasPrefix(field.Name, "common_") {
				f.Common++
			}
		case "print fmt":
			// It is the last, and the only one that may have several lines.
			_, rest, _ := strings.Cut(text[at:], ":")
			f.PrintFmt = strings.TrimSpace(rest)
			f.markFetched()
			return f, nil
		}
	}
	if len(f.Fields) == 0 {
		return fail(0, strings.TrimSpace(text), "no fields")
	}
	f.markFetched()
	return f, nil
}

// markFetched marks the fields of a probe.
func (f *Format) markFetched() {
	if f.Name == "function" || f.Function() == (abi.FunctionFields{}) {
		return
	}
	for i := range f.Own() {
		f.Fields[f.Common+i].fetched = true
	}
}

// Field returns the field of that name, nil when the event has none. It is for
// the time of compiling: it searches.
func (f *Format) Field(name string) *Field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}

// Own is the fields that are not common to all events.
func (f *Format) Own() []Field { return f.Fields[f.Common:] }
