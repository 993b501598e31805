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

// TestErrorsAmongPointers: what functions return is written as a decimal number where it may be an error, else
// in hexadecimal (the option funcgraph-retval); errors are found as they are written.
func TestErrorsAmongPointers(t *testing.T) {
	name := written(t, "# tracer: function_graph\n 0)   0.651 us    |  get(); /* = 0xffff93fcfd346c00 */\n 0)   0.380 us    |  put(); /* = 0x0 */\n"+
		" 0)   0.380 us    |  read(); /* = -11 */\n 0)   0.380 us    |  close(); /* close ret=-22 */\n")
	where, err := expr.Parse("retval >= -4095 && retval < 0")
	if err != nil {
		t.Fatal(err)
	}
	o := convert.Options{}
	o.Where = where
	if got, want := strings.Join(folded(t, name, "ftrace:function_graph", 1, o), ","), "close 380,read 380"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
