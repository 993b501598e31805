package format

import "kprof/perfevent/abi"

// Function returns where records of f have the function that they are about and its
// caller, if callchains do not begin with it: those of probes on return, which all have
// the fields __probe_func and __probe_ret_ip (kernel/trace/trace_probe.h), and of
// ftrace:function.
func (f *Format) Function() abi.FunctionFields {
	for _, names := range [...]struct {
		fn, caller string
		only       string // the event's name; empty for any
	}{
		{"__probe_func", "__probe_ret_ip", ""},
		{"ip", "parent_ip", "function"},
	} {
		fn, caller := f.Field(names.fn), f.Field(names.caller)
		if fn == nil || caller == nil || names.only != "" && f.Name != names.only {
			continue
		}
		if s := fn.Size; (s == 4 || s == 8) && caller.Size == s && fn.Place == Inline && caller.Place == Inline && fn.Offset > 0 && caller.Offset > 0 {
			return abi.FunctionFields{Func: fn.Offset, Caller: caller.Offset, Size: s}
		}
	}
	return abi.FunctionFields{}
}
