package tracedat

import (
	"strings"

	"kprof/perfevent/ringpage"
)

// Ticks reports whether times in the pages of a buffer are ticks of a clock that does not count ns, and which,
// where the file says it.
//
// That Buffer.Clock counts ns says nothing of an instance: trace-cmd writes the clock of the top buffer for all of
// them (trace-output.c, get_clock), and as Options.Clock that of the first one. So it counts how the kernel prints
// the times in the statistics of a CPU: of ns as seconds, "now ts:  2147.645596", of ticks as they are, "now ts:
// 2309" (kernel/trace/trace.c, tracing_stats_read).
func (f *File) Ticks(b *Buffer) (clock string, ticks bool) {
	for _, c := range []string{b.Clock, f.Options.Clock} {
		if clock == "" && c != "" && !ringpage.CountsNanoseconds(c) {
			clock = c
		}
	}
	switch whole, known := f.wholeTimes(b.Name); {
	case known && whole:
		return clock, true
	case clock == "", known && clock != b.Clock:
		return "", false
	}
	return clock, true
}

// wholeTimes reports whether times in the statistics of a buffer have no point, if there are any.
func (f *File) wholeTimes(buffer string) (whole, known bool) {
	of := "" // whose statistics they are
	for _, text := range f.Options.Stats {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if name, ok := strings.CutPrefix(line, "Buffer: "); ok {
				of = name
			} else if t, ok := strings.CutPrefix(line, "now ts:"); ok && of == buffer {
				return !strings.Contains(t, "."), true
			}
		}
	}
	return false, false
}
