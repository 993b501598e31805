package replay

import (
	"fmt"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// TestScriptNames compares what events are called that nothing but their attribute
// names.
func TestScriptNames(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	var attrs []string
	for config := range 12 {
		attrs = append(attrs, fmt.Sprintf("type=hardware config=%d", config))
	}
	for config := range 10 { // the later ones perf does not know
		attrs = append(attrs, fmt.Sprintf("type=software config=%d", config))
	}
	for cache := range 8 {
		for op := range 4 {
			for result := range 3 {
				attrs = append(attrs, fmt.Sprintf("type=hw_cache config=%#x", cache|op<<8|result<<16))
			}
		}
	}
	for access := range 8 {
		attrs = append(attrs, fmt.Sprintf("type=breakpoint config1=0x1000 config2=4 bp_type=%d", access))
	}
	attrs = append(attrs, "type=raw config=0x1a8", "type=raw")
	for _, flags := range []string{
		"exclude_user", "exclude_kernel", "exclude_hv", "exclude_kernel,exclude_hv", "exclude_user,exclude_kernel,exclude_hv",
		"precise0,precise1", "exclude_kernel,exclude_hv,exclude_guest", "exclude_guest", "exclude_host",
		"exclude_host,exclude_guest", "exclude_host,exclude_kernel", "precise0,precise1,exclude_guest,exclude_kernel",
	} {
		for _, typ := range []string{"hardware", "software", "hw_cache", "raw", "breakpoint"} {
			attrs = append(attrs, "type="+typ+" flags=sample_id_all,"+flags)
		}
	}
	var text strings.Builder
	for i, a := range attrs {
		fmt.Fprintf(&text, "event e ids=%d %s\n", i+1, a)
	}
	for i := range attrs {
		fmt.Fprintf(&text, "sample t=%d id=%d pid=7 user 0x1000\n", i+1, i+1)
	}
	rec := perftext.MustParse(text.String())
	for _, f := range []perftext.Form{{}, {Order: abi.BigEndian}, {Pipe: true}} {
		f.Nameless = true
		t.Run(f.String(), func(t *testing.T) {
			if !compareForm(t, rec, f) {
				t.Error("perf cannot read it")
			}
		})
	}
}

// TestScriptTracepoints compares the names of tracepoints that only the tracing
// data name, in both byte orders.
func TestScriptTracepoints(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	const field = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	rec := perftext.MustParse(`
event e type=tracepoint config=315 ids=1
event e type=tracepoint config=17 ids=2
sample t=1 id=1 pid=7 user 0x1000
sample t=2 id=2 pid=7 user 0x1000
`)
	for _, f := range []perftext.Form{{}, {Order: abi.BigEndian}} {
		f.Nameless = true
		t.Run(f.String(), func(t *testing.T) {
			td := perfdata.TracingData{
				Version: "0.6", Order: f.Order, LongSize: 8, PageSize: 4096,
				HeaderPage:  "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n",
				HeaderEvent: "# compressed entry header\n",
				Tracepoints: []perfdata.Tracepoint{
					{System: "irq", Format: "name: irq_entry\nID: 17\nformat:\n" + field + "\nprint fmt: \"%d\", REC->pid\n"},
					{System: "sched", Format: "name: sched_switch\nID: 315\nformat:\n" + field + "\nprint fmt: \"%d\", REC->pid\n"},
				},
			}
			rec.Features.TracingData = td.AppendTo(nil)
			if !compareForm(t, rec, f) {
				t.Error("perf cannot read it")
			}
		})
	}
}
