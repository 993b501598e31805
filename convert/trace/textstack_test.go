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

// TestStackInGraph: between the lines of function_graph, the stack of an event is a comment as
// the event is, without a task, or an ordinary line with one (kernel/trace/trace_functions_graph.c).
func TestStackInGraph(t *testing.T) {
	const lines = ` 1)               |  vfs_read() {
 1)               |    /* sched_waking: comm=x pid=3 */
              sh-99      [001] d..2.    26.117071: <stack trace>
 => schedule
 => do_wait
 1)               |    /* <user stack trace>
 =>  <0000000000460a63>
 =>  <0000000000460a70> */
 1)               |    /* sched_waking: comm=y pid=4 */
 1)               |    /* <stack trace>
 => schedule
 => do_exit */
 1)   2.500 us    |  }
`
	const banner = ` ------------------------------------------
 1)    cat-7       =>     sh-99
 ------------------------------------------

`
	for _, x := range []struct{ what, banner, who string }{
		{"behind a switch", banner, "sh 99 [001] "},
		{"of an unknown task", "", "[001] "},
	} {
		got := stacked(t, "# tracer: function_graph\n#\n# CPU  DURATION                  FUNCTION CALLS\n"+x.banner+lines)
		for _, want := range []string{
			x.who + "sched:sched_waking: comm=x pid=3\nschedule\ndo_wait\n0x460a63\n0x460a70\n\n",
			x.who + "sched:sched_waking: comm=y pid=4\nschedule\ndo_exit\n\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", x.what, want, got)
			}
		}
	}
}
