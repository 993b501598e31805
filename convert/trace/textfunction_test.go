package trace_test

import (
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
)

const functionText = `# tracer: function
  sh-99  [000] .....  1.000001: vfs_read(file=0xffff8881, buf=0x7ff0, count=0x1000) <-ksys_read
  sh-99  [000] .....  1.000002: foo_open(inode=0xff88)
  sh-99  [000] .....  1.000003: rw_verify_area <-vfs_read
  sh-99  [000] .....  1.000004: rw_verify_area <-vfs_read (repeats: 7, last_ts:     1.000020)
  sh-99  [000] .....  1.000030: schedule (repeats: 2, last_ts:     1.000040)
`

// TestFunctionArguments: what functions were called with is listed (the option func-args, since Linux 6.14).
func TestFunctionArguments(t *testing.T) {
	text := list(t, written(t, functionText), listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.Fields | listing.Trace}})
	for _, want := range []string{
		"args=file=0xffff8881, buf=0x7ff0, count=0x1000 ", "vfs_read(file=0xffff8881, buf=0x7ff0, count=0x1000) <-ksys_read", "args=inode=0xff88 ", "foo_open(inode=0xff88)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestFunctionRepeats: a line of calls that came again (the option func-no-repeats) is no call like others, but
// an event with their count.
func TestFunctionRepeats(t *testing.T) {
	name := written(t, functionText)
	if got, want := folded(t, name, "ftrace:function", 0, convert.Options{}), "foo_open 1,ksys_read;vfs_read 1,vfs_read;rw_verify_area 1"; strings.Join(got, ",") != want {
		t.Errorf("%q, want %s", got, want)
	}
	text := list(t, name, listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.Fields | listing.Trace}})
	for _, want := range []string{"count=7 ", "rw_verify_area <-vfs_read (repeats: 7, last_ts:     1.000020)", "count=2 ", "schedule (repeats: 2, last_ts:     1.000040)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
