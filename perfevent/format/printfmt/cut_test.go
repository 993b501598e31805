package printfmt_test

import (
	"strings"
	"testing"
)

// TestCut prints records that end anywhere: what is in what is left is printed, and for the rest
// stands a question mark.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		src, want string
		from      int // length from which on that is what is printed
	}{
		{`"%u", REC->__data_loc_name`, "327856", 76},
		{`"%u", __get_dynamic_array_len(name)`, "5", 181},
		{`"%u", REC->w8`, "250", 10},
		{`"%lld", REC->i64`, "-5000000000", 32},
		{`"%x", *((u32 *)__get_dynamic_array(words) + 1)`, "fffffff6", 192},
		{`"%d", REC->pair[2]`, "3", 60},
		{`"%s", __print_symbolic(REC->i8, { -5, "minus five" })`, "minus five", 9},
		{`"%s", __print_flags(REC->w8, "|", { 250, "all" })`, "all", 10},
		{`"%s", __print_array(REC->pair, 3, 2)`, "{0x1,0xfffe,0x3}", 60},
		{`"%*d", REC->w8, REC->zero`, strings.Repeat(" ", 249) + "0", 172},
		{`"%c", REC->c`, "x", 15},
		{`"%pS", REC->ptr`, "start_kernel+0x10", 72},
	} {
		p := compile(t, tt.src, options)
		all := payload()
		for n := range len(all) + 1 {
			got := string(p.AppendTo(nil, all[:n:n]))
			if n >= tt.from && got != tt.want || n < tt.from && !strings.HasSuffix(got, "?") {
				t.Errorf("%s of %d bytes: %q, want %q from %d on", tt.src, n, got, tt.want, tt.from)
				break
			}
		}
	}
}
