package format

import "kprof/perfevent/abi"

// Function returns where records of f have the function that they are about and its
// caller, if callchains may not begin with it: those of probes on return, which all have
// the fields __probe_func and __probe_ret_ip, of ones on entry, which have __probe_ip
// alone (kernel/trace/trace_probe.h), and of ftrace:function.
func (f *Format) Function() abi.FunctionFields {
	for _, names := range [...]struct {
		fn, caller string
		only       string // the event's name; empty for any
	}{
		{"__probe_func", "__probe_ret_ip", ""},
		{"ip", "parent_ip", "function"},
		{"__probe_ip", "", ""},
	} {
		fn, caller := f.Field(names.fn), f.Field(names.caller)
		switch address := func(f *Field) bool {
			return f != nil && !f.Array && (f.Size == 4 || f.Size == 8) && f.Place == Inline && f.Offset > 0
		}; {
		case !address(fn) || names.only != "" && f.Name != names.only:
		case names.caller == "":
			return abi.FunctionFields{Func: fn.Offset, Size: fn.Size}
		case address(caller) && caller.Size == fn.Size:
			return abi.FunctionFields{Func: fn.Offset, Caller: caller.Offset, Size: fn.Size}
		}
	}
	return abi.FunctionFields{}
}
