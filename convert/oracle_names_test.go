package convert

import (
	"fmt"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
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
