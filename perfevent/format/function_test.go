package format_test

import (
	"fmt"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
)

// TestFunction: fields of formats as tracefs has them, shortened.
func TestFunction(t *testing.T) {
	const head = "name: %s\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	const (
		ret    = "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
		entry  = "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n"
		traced = "\tfield:unsigned long ip;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:unsigned long parent_ip;\toffset:12;\tsize:4;\tsigned:0;\n"
		text   = "\tfield:char __probe_func[8];\toffset:8;\tsize:8;\tsigned:0;\n\tfield:__data_loc char[] __probe_ret_ip;\toffset:16;\tsize:4;\tsigned:0;\n"
	)
	for _, tt := range []struct {
		name, fields string
		want         abi.FunctionFields
	}{
		{"do_wait", ret, abi.FunctionFields{Func: 8, Caller: 16, Size: 8}},
		{"do_wait", entry, abi.FunctionFields{Func: 8, Size: 8}},
		{"function", traced, abi.FunctionFields{Func: 8, Caller: 12, Size: 4}},
		{"another", traced, abi.FunctionFields{}},
		{"odd", text, abi.FunctionFields{}},
	} {
		f, err := format.Parse(fmt.Sprintf(head, tt.name)+tt.fields, format.Machine{})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Function(); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
