package trace

import (
	"strings"

	"kprof/convert/trace/ftracetext"
)

// sliceEvent is the event that what programs mark is.
const sliceEvent = "atrace:slice"

// marked is what a program wrote into trace_marker, of an event that is that. Where trace-cmd report does not
// know the function that writes it, there is its address, "0xffff00000819ff24s: TEXT"; hitrace of OpenHarmony
// leaves it out.
func marked(l *ftracetext.Line) (text string, ok bool) {
	switch l.Name {
	case "tracing_mark_write":
		return l.Text, true
	case "print":
		if ip, text, ok := strings.Cut(l.Text, ": "); ok && strings.HasPrefix(ip, "0x") && !strings.Contains(ip, " ") {
			return text, true
		}
		return l.Text, true
	}
	return "", false
}

// slice takes a marker of Android's programs (system/core, libcutils/trace-dev.inc): "B|PID|NAME"
// begins a slice of a thread, "E|PID" or "E" ends the last one. It reports whether the event
// was one; e is then the slice that ended, if it has a kind.
func (w *textWalk) slice(e *textEvent, l *ftracetext.Line) bool {
	text, ok := marked(l)
	if !ok {
		return false
	}
	mark, rest, _ := strings.Cut(text, "|")
	if mark != "B" && mark != "E" || mark == "B" && !strings.Contains(rest, "|") || e.tid < 0 {
		return false
	}
	key := taskKey(e.tid, e.cpu)
	depth := w.slices.depth(key, e.cpu)
	if mark == "B" {
		_, name, _ := strings.Cut(rest, "|")
		if name == "" {
			name = unknownFunction
		}
		w.slices.enter(key, e.cpu, depth, callFrame{fn: w.t.address(name), begin: e.time})
		return true
	}
	c := w.slices.leave(key, e.cpu, max(depth-1, 0), ending{now: e.time})
	if e.kind = w.t.kind("slice", l.Buffer); e.kind == nil {
		return true
	}
	e.kind.system, e.kind.graph = "atrace", true
	w.setCall(e, &c)
	name := w.t.nameOf(e.kernel[0])
	e.text = name
	e.fields = append(e.fields, ftracetext.Field{Name: "name", Value: name})
	e.numbers = append(e.numbers, textNumber{"depth", uint64(max(depth-1, 0))}, textNumber{"duration", c.took}, textNumber{"self", c.self})
	return true
}

// setCall makes an event a call.
func (w *textWalk) setCall(e *textEvent, c *call) {
	e.self, e.took = c.self, c.took
	e.kernel = append(e.kernel, c.path...)
	if e.kernel[0] == 0 {
		e.kernel[0] = w.t.address(unknownFunction)
	}
}
