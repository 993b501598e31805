package trace_test

import (
	"strings"
	"testing"

	"kprof/convert/listing"
)

// stacked is what script prints of a text with stacks, without the blanks that align it.
func stacked(t testing.TB, text string) string {
	t.Helper()
	s := list(t, written(t, text), listing.Options{Stacks: true}, listing.PrinterOptions{Stacks: true})
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return b.String()
}

// TestStackOnHead: trace-cmd report has the first frame of a stack on the line that begins it
// where it prints by the event's format: stacks of user space, and with -N those of the kernel.
func TestStackOnHead(t *testing.T) {
	got := stacked(t, `cpus=1
             cat-98    [000] 82670.732931: sched_switch:         cat:98 [120] S ==> swapper/0:0 [120]
             cat-98    [000] 82670.732932: kernel_stack:         	=> schedule
	=> do_wait
             cat-98    [000] 82670.732933: user_stack:           	=> 0x40deee
	=> 0x4e76a6
`)
	const want = `cat 98 [000] 82670.732931: sched:sched_switch: cat:98 [120] S ==> swapper/0:0 [120]
schedule
do_wait
0x40deee
0x4e76a6

`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
