package trace_test

import (
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/perfevent/format/expr"
)

// TestFieldsOfProbes: strings of dynamic probes have what stands between their quotes, and numbers
// may need all of 64 bits, as in a trace.dat.
func TestFieldsOfProbes(t *testing.T) {
	name := written(t, `# tracer: nop
            bash-1234    [000] .....  100.000001: open: (do_sys_openat2+0x0/0x90) dfd=-100 filename="/etc/passwd" big=1 id="7"
            bash-1234    [000] .....  100.000002: open: (do_sys_openat2+0x0/0x90) dfd=-100 filename="/tmp/a b=c x" big=18446744073709551615 id="8"
`)
	for where, want := range map[string]string{
		`filename == "/etc/passwd"`:     "1",
		`filename == "/tmp/a b=c x"`:    "2",
		"big > 9223372036854775807":     "2",
		"big == 18446744073709551615":   "2",
		"dfd == -100":                   "1 2",
		`id == "7"`:                     "1",
		`big < 5 && filename ~ "/etc*"`: "1",
	} {
		x, err := expr.Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		o := listing.Options{Options: convert.Options{Selection: convert.Selection{Where: x}}}
		for line := range strings.Lines(list(t, name, o, listing.PrinterOptions{})) {
			_, after, _ := strings.Cut(line, "100.00000")
			got = append(got, after[:1])
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", where, s, want)
		}
	}
}
