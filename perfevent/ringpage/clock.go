package ringpage

import "strings"

// ChosenClock is the clock that the text of trace_clock has in brackets: of "[local] global", local;
// without any it is the text.
func ChosenClock(text string) string {
	if _, rest, ok := strings.Cut(text, "["); ok {
		text, _, _ = strings.Cut(rest, "]")
	}
	return strings.TrimSpace(text)
}

// CountsNanoseconds reports whether a clock of the tracer, by its name in trace_clock, counts
// ns (kernel/trace/trace.c, trace_clocks). The others count events (counter), jiffies (uptime)
// or cycles (x86-tsc, ppc-tb).
func CountsNanoseconds(clock string) bool {
	switch clock {
	case "local", "global", "perf", "mono", "mono_raw", "boot", "tai":
		return true
	}
	return false
}
