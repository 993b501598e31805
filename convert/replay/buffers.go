package replay

import (
	"strings"

	"kprof/convert/payload"
	"kprof/perfevent/format"
	"kprof/perfevent/perfdata"
)

// buffers are those of the kernel's tracer whose events are in a recording. Where several have
// switches, each tells of the same ones, with times of its own.
type buffers struct {
	scanned  int             // events
	paired   string          // the first that has switches
	switches map[string]bool // those that have
}

// bufferOf is the buffer that an event is of: what package trace puts behind its name,
// "sched:sched_switch@instance"; empty for the top one, and for what is of no buffer.
func bufferOf(e *perfdata.Event, of *format.Format) string {
	if buffer, ok := strings.CutPrefix(e.Name, of.System+":"+of.Name+"@"); ok {
		return buffer
	}
	return ""
}

// scan looks at the events that have come since it was last called.
func (b *buffers) scan(events []*perfdata.Event, formats *payload.Formats) {
	for ; b.scanned < len(events); b.scanned++ {
		e := events[b.scanned]
		of, err := formats.Of(&e.Attr)
		if err != nil || of == nil || of.System != "sched" || of.Name != "sched_switch" {
			continue
		}
		if b.switches == nil {
			b.switches, b.paired = map[string]bool{}, bufferOf(e, of)
		}
		b.switches[bufferOf(e, of)] = true
	}
}

// leaves reports whether what a buffer has of switches and wake-ups is left out.
func (b *buffers) leaves(buffer string) bool { return buffer != b.paired && b.switches[buffer] }
