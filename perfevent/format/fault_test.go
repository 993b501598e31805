package format_test

import (
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
)

// TestFault: text of a probe that the kernel could not read, which has not even a NUL, is not taken
// for empty text. Of other events such text is empty.
func TestFault(t *testing.T) {
	const text = "\tfield:__data_loc char[] s;	offset:16;	size:4;	signed:1;\n"
	for _, test := range []struct {
		name, fields string
		length       uint32
		want         string
	}{
		{"f", "\tfield:unsigned long __probe_ip;	offset:8;	size:8;	signed:0;\n" + text, 0, "(fault)"},
		{"f", "\tfield:unsigned long __probe_ip;	offset:8;	size:8;	signed:0;\n" + text, 1, ""},
		{"f", "\tfield:unsigned long __probe_func;	offset:8;	size:8;	signed:0;\n\tfield:unsigned long __probe_ret_ip;	offset:24;	size:8;	signed:0;\n" + text, 0, "(fault)"},
		{"function", "\tfield:unsigned long ip;	offset:8;	size:8;	signed:0;\n\tfield:unsigned long parent_ip;	offset:24;	size:8;	signed:0;\n" + text, 0, ""},
		{"other", text, 0, ""},
	} {
		for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
			f := parse(t, format.Text(test.name, 7, test.fields, `"s=\"%s\"", __get_str(s)`), format.Machine{Order: o})
			raw := make([]byte, 40)
			o.PutUint32(raw[16:], test.length<<16|32)
			s := f.Field("s")
			if got, ok := s.String(raw); string(got) != test.want || !ok {
				t.Errorf("%s with %d bytes of text: %q %v, want %q", test.fields, test.length, got, ok, test.want)
			}
			if got := string(s.AppendValue(nil, raw)); got != test.want {
				t.Errorf("%s with %d bytes of text: %q, want %q", test.fields, test.length, got, test.want)
			}
		}
	}
}
