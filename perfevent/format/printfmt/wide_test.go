package printfmt_test

import (
	"strings"
	"testing"

	"kprof/perfevent/format"
	"kprof/perfevent/format/printfmt"
)

// TestWideHelpers reads the helpers for 64 bits as a kernel of 32 bits writes them, what its
// preprocessor made of them, and does not cut what they print. What only looks like them stays
// a statement that is not evaluated.
func TestWideHelpers(t *testing.T) {
	const (
		flags   = `({ static const struct trace_print_flags_u64 __flags[] = { { 0xfedcba9800000000ULL, "HIGH" }, { (1ULL << 9), "NINE" "TH" }, { -1, ((void *)0) } }; trace_print_flags_seq_u64(p, "|", REC->w64, __flags); })`
		symbols = `({ static const struct trace_print_flags_u64 symbols[] = { { 0x76543210, "LOW" }, { 0xfedcba9876543210ULL, "ALL" }, { -1, ((void *)0) } }; trace_print_symbols_seq_u64(p, REC->w64, symbols); })`
	)
	for _, tt := range []struct {
		src, want string
		reason    printfmt.Reason // 0 where all is printed
	}{
		{`"%s %d", ` + flags + `, REC->zero`, "HIGH|NINETH|0x76543010 0", 0},
		{`"%s %d", ` + symbols + `, REC->zero`, "ALL 0", 0},
		{`"%s", ` + strings.ReplaceAll(strings.ReplaceAll(symbols, "REC->w64", "REC->w64 - 1"), "trace_print_sym", "ftrace_print_sym"), "0xfedcba987654320f", 0},
		{`"%s", REC->zero ? "none" : ` + flags, "HIGH|NINETH|0x76543010", 0},
		{`"%s", __print_flags(REC->w64, "|", { 0xfedcba9800000000ULL, "HIGH" }, { 0x200, "NINE" })`, "HIGH|NINE|0x76543010", 0}, // as the kernel, whose long has 32 bits: a mask of 0 is in all
		{`"%s", __print_flags_u64(REC->w64, "|", { 0xfedcba9800000000ULL, "HIGH" })`, "HIGH|0x76543210", 0},
		{`"%s", ({ static const struct trace_print_flags_u64 s[] = { { 1, "a" }, }; trace_print_symbols_seq_u64(p, REC->w8, s); })`, "0xfa", 0},
		{`"%s %d", ` + strings.Replace(flags, "(1ULL << 9)", "I_UNKNOWN", 1) + `, REC->zero`, "HIGH|0x76543210 0", printfmt.Identifier},
		{`"%s %d", ` + strings.Replace(symbols, "w64, symbols", "w64, others", 1) + `, REC->zero`, "? 0 w64=18364758544493064720", printfmt.Statements},
		{`"%s %d", ` + strings.Replace(symbols, "seq_u64", "seq_u32", 1) + `, REC->zero`, "? 0", printfmt.Statements},
		{`"%s %d", ` + strings.Replace(flags, `"HIGH"`, `"HIGH`+`", 5`, 1) + `, REC->zero`, "? 0", printfmt.Statements},
		{`"%s %d", ` + strings.Replace(flags, `p, "|"`, `p, 1`, 1) + `, REC->zero`, "? 0", printfmt.Statements},
		{`"%s %d", ` + strings.Replace(flags, `; })`, `; x; })`, 1) + `, REC->zero`, "? 0", printfmt.Statements},
	} {
		f, err := format.Parse(format.Text("every", 1, fields, tt.src), format.Machine{LongSize: 4})
		if err != nil {
			t.Fatal(err)
		}
		p := printfmt.Compile(f, options)
		got := string(p.AppendTo(nil, payload()))
		pr := p.Problem()
		if tt.reason == 0 && (got != tt.want || pr != nil) || tt.reason != 0 && (!strings.HasPrefix(got, tt.want) || pr == nil || pr.Reason != tt.reason || pr.Whole) {
			t.Errorf("%s\n%s, want\n%s; %v", tt.src, got, tt.want, pr)
		}
	}
}
