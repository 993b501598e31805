package printfmt_test

import (
	"strings"
	"testing"
)

// TestEdges prints what lies at the edge of what the kernel and C take: the ends of format strings and
// of escapes in them, empty texts, no bytes, equal numbers, constants alone.
func TestEdges(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		// conversions that are cut short stay as they stand
		{`"50%"`, "50%"}, {`"50%%"`, "50%"}, {`"%5"`, "%5"}, {`"%-"`, "%-"}, {`"%5."`, "%5."}, {`"%.3"`, "%.3"}, {`"%l"`, "%l"}, {`"%hh"`, "%hh"},
		{`"%d%", REC->w8`, "250%"}, {`"%p", REC->ptr`, "0xffffffff81000010"}, {`"%pS_", REC->ptr`, "start_kernel+0x10_"},

		// escapes of C
		{`"\x41g|\x4g|\101x|\18|\60|\7|\q|\a\b\f\v\r."`, "Ag|\x04g|Ax|\x018|0|\a|q|\a\b\f\v\r."},
		{`"z\x4"`, "z\x04"}, {`"z\x4a"`, "zJ"}, {`"z\1"`, "z\x01"}, {`"z\10"`, "z\b"}, {`"z\1018"`, "zA8"}, {`"z\1011\00x\x0a\x4\70."`, "zA1\x00x\n\x048."},

		// texts
		{`"%.9s|%.0s|%.4s|%s.", REC->comm, REC->comm, REC->comm, (char *)REC->uuid`, "bash||bash|."},
		{`"%d %s", *(const volatile u8 *)REC->mac, (const char *)REC->comm`, "45 bash"},

		// numbers
		{`"%X|%3d|%05d|%05.0d|%+d|% d", REC->w8, REC->zero, REC->zero, REC->i8, REC->zero, REC->zero`, "FA|  0|00000|   -5|+0| 0"},
		{`"%d%d%d%d", REC->i8 < -5, REC->i8 <= -5, REC->i8 > -5, REC->i8 >= -5`, "0101"},
		{`"%d%d%d%d", REC->w64 < 0xfedcba9876543210ULL, REC->w64 <= 0xfedcba9876543210ULL, REC->w64 > 0xfedcba9876543210ULL, REC->w64 >= 0xfedcba9876543210ULL`, "0101"},
		{`"%d%d%d%d%d%d%d", 1 && 2, 1 && 0, 0 && 0, 0 || 3, 0 || 0, !0, !5`, "1001010"},
		{`"%x %x", *((u32 *)__get_dynamic_array(words) + 1), *((u32 *)__get_dynamic_array(words) + 0)`, "fffffff6 a"},
		{`"%x", *((u32 *)__get_dynamic_array(words) + 2)`, "?"},
		{`"%d %d", REC->graph_ent.w8, REC->graph_ent.i8 + 1`, "250 -4"}, // as ftrace:funcgraph_entry writes it

		// arrays
		{`"%s %s %s", __print_array(REC->mac, 2, 1), __print_array(__get_dynamic_array(cpus), 1, 8), __print_array(REC->pair, 0, 2)`, "{0x2d,0x48} {0x100000000f} {}"},
		{`"%s", __print_array(REC->mac, 2, 3)`, "?"},

		// pointers
		{`"%pe|%pe", (void *)(long)REC->zero, REC->ptr`, "(nil)|0xffffffff81000010"},
		{`"%pI4h|%pI4n|%pI4b", REC->ip4, REC->ip4, REC->ip4`, "7.0.168.192|192.168.0.7|192.168.0.7"},
		{`"%pISp|%pISc|%pIS", REC->sa4, REC->sa6, REC->sa6`, "10.0.0.1:8080|::1|0000:0000:0000:0000:0000:0000:0000:0001"},
		{`"%pa", __get_dynamic_array(cpus)`, "0x000000100000000f"},
		{`"[%*ph] [%*phN] [%ph]", 0, REC->mac, 1, REC->mac, REC->mac`, "[] [2d] [2d]"},
	} {
		p := compile(t, tt.src, options)
		got := string(p.AppendTo([]byte("dst "), payload()))
		if got != "dst "+tt.want || p.Problem() != nil && !strings.HasPrefix(tt.want, "?") {
			t.Errorf("%s\n%q, want\n%q %v", tt.src, got, "dst "+tt.want, p.Problem())
		}
	}
}
