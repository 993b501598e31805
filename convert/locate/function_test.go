package locate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/samples"
	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// TestFunction takes callchains as kernels wrote them (the comments say which) to what a
// stack is to show.
func TestFunction(t *testing.T) {
	const (
		kernel = abi.ContextKernel
		user   = abi.ContextUser
	)
	fields := abi.FunctionFields{Func: 8, Caller: 16, Size: 8}
	tracepoint := abi.Event{Attr: abi.Attr{Type: abi.TypeTracepoint}, Function: fields}
	pmu := abi.Event{Attr: abi.Attr{Type: 8}, Function: fields}
	entry := tracepoint
	entry.Function = abi.FunctionFields{Func: 8, Size: 8}
	named := pmu
	named.Name = "kretprobe:f"
	for name, tt := range map[string]struct {
		event abi.Event
		ip    uint64
		raw   []uint64 // from the function on
		chain []uint64
		want  []uint64
	}{
		"return probe":        {tracepoint, 0x200, []uint64{0x100, 0x200}, []uint64{kernel, 0x200, 0x300, user, 0x10}, []uint64{kernel, 0x100, 0x200, 0x300, user, 0x10}},
		"of the PMU":          {pmu, 0x200, []uint64{0x100, 0x200}, []uint64{kernel, 0x200, 0x300}, []uint64{kernel, 0x100, 0x200, 0x300}},
		"of a program":        {pmu, 0x20, []uint64{0x10, 0x20}, []uint64{user, 0x20, 0x30}, []uint64{user, 0x10, 0x20, 0x30}},
		"PMU, no return":      {pmu, 0x200, []uint64{0x100, 0x208}, []uint64{kernel, 0x200, 0x300}, []uint64{kernel, 0x200, 0x300}},
		"under another one":   {named, 0x200, []uint64{0x100, 0x8888}, []uint64{kernel, 0x200, 0x300}, []uint64{kernel, 0x100, 0x200, 0x300}},
		"fields cut":          {tracepoint, 0x200, []uint64{0x100}, []uint64{kernel, 0x200, 0x300}, []uint64{kernel, 0x200, 0x300}},
		"caller only in user": {tracepoint, 0x200, []uint64{0x100, 0x10}, []uint64{kernel, 0x200, user, 0x10}, []uint64{kernel, 0x100, 0x200, user, 0x10}},
		"no chain":            {tracepoint, 0x200, []uint64{0x100, 0x200}, []uint64{user}, []uint64{user}},
		// x86_64 6.12: ftrace_ops_list_func, ftrace_call, vfs_read+9, ksys_read.
		"ftrace:function": {tracepoint, 0x9010, []uint64{0x104, 0x200}, []uint64{kernel, 0x9010, 0x9020, 0x109, 0x200, 0x300}, []uint64{kernel, 0x104, 0x200, 0x300}},
		// arm64 6.1: the first address twice.
		"ftrace:function, arm64": {tracepoint, 0x9010, []uint64{0x104, 0x200}, []uint64{kernel, 0x9010, 0x9010, 0x9020, 0x10c, 0x200, 0x300}, []uint64{kernel, 0x104, 0x200, 0x300}},
		"caller replaced":        {tracepoint, 0x9010, []uint64{0x104, 0x8888}, []uint64{kernel, 0x9010, 0x109, 0x200, 0x300}, []uint64{kernel, 0x104, 0x200, 0x300}},
		"neither there":          {tracepoint, 0x9010, []uint64{0x104, 0x8888}, []uint64{kernel, 0x9010, 0x200}, []uint64{kernel, 0x104, 0x9010, 0x200}},
		// x86_64 7.3: the chain begins behind the sample's address.
		"fprobe":                 {entry, 0x109, []uint64{0x104}, []uint64{kernel, 0x200, 0x300}, []uint64{kernel, 0x109, 0x200, 0x300}},
		"fprobe, return":         {tracepoint, 0x200, []uint64{0x104, 0x200}, []uint64{kernel, 0x300, user, 0x10}, []uint64{kernel, 0x104, 0x200, 0x300, user, 0x10}},
		"kprobe":                 {entry, 0x101, []uint64{0x100}, []uint64{kernel, 0x101, 0x200}, []uint64{kernel, 0x101, 0x200}},
		"kprobe, from elsewhere": {entry, 0x201, []uint64{0x100}, []uint64{kernel, 0x201, 0x300}, []uint64{kernel, 0x201, 0x300}},
		// arm64, any tracepoint.
		"twice":          {abi.Event{Attr: abi.Attr{Type: abi.TypeTracepoint}}, 0x100, nil, []uint64{kernel, 0x100, 0x100, 0x200, 0x200}, []uint64{kernel, 0x100, 0x200, 0x200}},
		"twice, a clock": {abi.Event{Attr: abi.Attr{Type: abi.TypeSoftware}}, 0x100, nil, []uint64{kernel, 0x100, 0x100, 0x200}, []uint64{kernel, 0x100, 0x100, 0x200}},
	} {
		l := New(timeline.New(timeline.Options{}), stacks.New(), Options{})
		for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
			e := perfdata.NewEventSet(o, []abi.Event{tt.event}).Events[0]
			s := &samples.Sample{Event: e}
			s.IP, s.Callchain, s.HasChain, s.Raw = tt.ip, tt.chain, true, make([]byte, 8)
			for _, v := range tt.raw {
				s.Raw = o.AppendUint64(s.Raw, v)
			}
			if d := cmp.Diff(tt.want, l.calls(s)); d != "" {
				t.Errorf("%s: -want +got\n%s", name, d)
			}
			if n := testing.AllocsPerRun(10, func() { l.calls(s) }); n != 0 {
				t.Errorf("%s: %v allocations", name, n)
			}
		}
	}
}
