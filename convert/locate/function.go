package locate

import (
	"slices"
	"strings"

	"kprof/convert/samples"
	"kprof/perfevent/abi"
)

// The callchains of some events do not begin with the function that the event is about.
// The fields of such a sample say which it is, and who called it:
//
//	event                callchain, leaf first          becomes
//	return probe         caller …                       function caller …
//	ftrace:function      tracer's … function caller …   function caller …
//	tracepoint on arm64  function function …            function …
//
// The last is how arm64 unwinds from within a function: it begins with where it is, which
// is also what the first frame record returns to. Nowhere else are the two equal, as the
// one is no call of the function itself.

// calls returns the callchain of s, from the function that it is about on. It is valid
// until the next call.
func (l *Locator) calls(s *samples.Sample) []uint64 {
	from := slices.IndexFunc(s.Callchain, func(addr uint64) bool { return addr < abi.ContextMax })
	if from < 0 {
		return s.Callchain
	}
	chain := s.Callchain[from:]
	fn, caller, ok := l.function(s)
	if !ok {
		if s.Event.Attr.Type == abi.TypeTracepoint && len(chain) > 1 && chain[0] == chain[1] {
			l.chained = append(append(l.chained[:0], s.Callchain[:from]...), chain[1:]...)
			return l.chained
		}
		return s.Callchain
	}
	above := chain
	if end := slices.IndexFunc(chain, func(addr uint64) bool { return addr >= abi.ContextMax }); end >= 0 {
		above = chain[:end]
	}
	// Before the caller is what belongs to the tracer, and the function itself, at the
	// return address of its call of the tracer: by this it is found where the caller is
	// not, as when another tracer has replaced the address that the function returns to.
	const call = 32 // bytes from a function's entry to behind its call of the tracer
	at := slices.Index(above, caller)
	if at < 0 {
		at = 1 + slices.IndexFunc(above, func(addr uint64) bool { return addr-fn <= call })
	}
	l.chained = append(append(l.chained[:0], s.Callchain[:from]...), fn)
	l.chained = append(l.chained, chain[at:]...)
	return l.chained
}

// function returns the function that s is about and its caller, where fields say so. Of
// several return probes of one function only the youngest knows the caller, the others
// the trampoline of the next.
func (l *Locator) function(s *samples.Sample) (fn, caller uint64, ok bool) {
	e := s.Event
	if fn, caller, ok = e.Function.Read(s.Raw, e.Layout.Order); !ok || fn == 0 {
		return 0, 0, false
	}
	if e.Attr.Type != abi.TypeTracepoint && caller != s.IP && !strings.HasPrefix(e.Name, "kretprobe:") && !strings.HasPrefix(e.Name, "uretprobe:") {
		return 0, 0, false // it only looks like a return probe
	}
	return fn, caller, true
}
