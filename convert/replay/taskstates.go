package replay

import (
	"bytes"

	"kprof/convert/payload"
	"kprof/convert/span"
	"kprof/perfevent/format"
	"kprof/perfevent/format/printfmt"
)

// taskStates says what the field prev_state of a sched:sched_switch means. The letters that the
// event's print fmt has for it are the same in all kernels, its bits are not: up to Linux 4.13 it
// was the kernel's own state, in which 0x100 is no task that was preempted.
type taskStates struct {
	field   *format.Field // prev_state
	printer *printfmt.Printer
	known   map[uint64]span.State

	blank []byte // a record with nothing but a state
	text  []byte
}

// maxKnownStates bounds how many states of an event are kept; kernels have a few dozen.
const maxKnownStates = 1 << 10

func newTaskStates(field *format.Field, of *format.Format, formats *payload.Formats) *taskStates {
	return &taskStates{field: field, printer: formats.Printer(of, nil), known: map[uint64]span.State{}}
}

// of is the state in a record; one that has none is of a task that wants to run.
func (t *taskStates) of(raw []byte) span.State {
	n, ok := t.field.Uint(raw)
	if !ok {
		return span.Preempted
	}
	state, ok := t.known[n]
	if !ok {
		state = t.read(n, raw)
		if len(t.known) < maxKnownStates {
			t.known[n] = state
		}
	}
	return state
}

// read reads what the kernel would print of a state, "prev_state=D|K ==>"; where that cannot be
// printed, the bits are those of today.
func (t *taskStates) read(n uint64, raw []byte) span.State {
	t.blank = append(t.blank[:0], make([]byte, len(raw))...)
	f := t.field
	copy(t.blank[f.Offset:], raw[f.Offset:f.Offset+f.Size])
	t.text = t.printer.AppendTo(t.text[:0], t.blank)
	if _, after, ok := bytes.Cut(t.text, []byte("prev_state=")); ok {
		letters, _, _ := bytes.Cut(after, []byte(" "))
		if mask, ok := span.StateMask(string(letters)); ok {
			return span.StateOf(mask)
		}
	}
	return span.StateOf(n)
}
