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
//	fprobe, Linux 7.3    caller …                       function caller …
//	  on return          caller's caller …              function caller …
//	tracepoint on arm64  function function …            function …
//
// An fprobe lost what the sample's address is. The last is how arm64 unwinds from within a
// function: it begins with where it is, which is also what the first frame record returns
// to. Nowhere else are the two equal, as the one is no call of the function itself.

// near is how many bytes a function's call of the tracer, or a probe's instruction, may
// end behind the address that fields say.
const near = 32

// calls returns the callchain of s, from the function that it is about on. It is valid
// until the next call.
func (l *Locator) calls(s *samples.Sample) []uint64 {
	from := slices.IndexFunc(s.Callchain, func(addr uint64) bool { return addr < abi.ContextMax })
	if from < 0 {
		return s.Callchain
	}
	head, chain := s.Callchain[:from], s.Callchain[from:]
	fn, caller, ok := l.function(s)
	switch {
	case !ok && s.Event.Attr.Type == abi.TypeTracepoint && len(chain) > 1 && chain[0] == chain[1]:
		return l.join(head, chain[1:])
	case !ok:
		return s.Callchain
	case caller == 0: // on entry
		if chain[0]-fn > near && s.IP-fn <= near {
			return l.join(head, chain, s.IP)
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
	if at := slices.Index(above, caller); at >= 0 {
		return l.join(head, chain[at:], fn)
	}
	if at := slices.IndexFunc(above, func(addr uint64) bool { return addr-fn <= near }); at >= 0 {
		return l.join(head, chain[at+1:], fn)
	}
	if caller == s.IP {
		return l.join(head, chain, fn, caller)
	}
	return l.join(head, chain, fn)
}

// join returns a callchain of these parts, which is valid until the next call.
func (l *Locator) join(head, chain []uint64, leaf ...uint64) []uint64 {
	l.chained = append(append(append(l.chained[:0], head...), leaf...), chain...)
	return l.chained
}

// function returns the function that s is about and its caller, where fields say so, or
// the place of a probe on entry, and 0. Of several return probes of one function only the
// youngest knows the caller, the others the trampoline of the next.
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
