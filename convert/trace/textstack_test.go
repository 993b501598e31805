package trace_test

import (
	"fmt"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
)

// stacked is what script prints of a text with stacks, without empty lines and the blanks that
// align it.
func stacked(t testing.TB, text string) string {
	t.Helper()
	s := list(t, written(t, text), listing.Options{Stacks: true}, listing.PrinterOptions{Stacks: true})
	var b strings.Builder
	for line := range strings.Lines(s) {
		if words := strings.Fields(line); len(words) > 0 {
			b.WriteString(strings.Join(words, " ") + "\n")
		}
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

// TestStackInterruptedVerbose: while an event waits for its stack, an interrupt has events of its own; with the
// options latency-format and verbose, flags are a number.
func TestStackInterruptedVerbose(t *testing.T) {
	line := func(flags int, text string) string {
		return fmt.Sprintf("              sh      99   1 %d 00000001 00000003 [00000dc5] 0.051ms (+0.002ms): %s\n", flags, text)
	}
	const hardirq, irqsOff = 0x08, 0x01
	got := stacked(t, "# tracer: nop\n#\n"+line(0, "kmalloc: bytes_req=5")+line(hardirq|irqsOff, "timer_start: timer=0x10")+
		line(hardirq|irqsOff, "<stack trace>")+" => timer\n => interrupt\n"+line(0, "<stack trace>")+" => kmalloc\n => read\n")
	const want = "sh 99 [001] 0.000051: kmem:kmalloc: bytes_req=5\nkmalloc\nread\nsh 99 [001] 0.000051: timer:timer_start: timer=0x10\ntimer\ninterrupt\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestStackOfInstances: stacks are of events of the same buffer, in trace-cmd report of several.
func TestStackOfInstances(t *testing.T) {
	got := stacked(t, `cpus=1
 a:              cat-98    [000] 12.000001: tick:                 count=1
 b:              cat-98    [000] 12.000002: tick:                 count=2
 a:              cat-98    [000] 12.000003: kernel_stack:         <stack trace >
=> first (ffffffff81000100)
 b:              cat-98    [000] 12.000004: kernel_stack:         <stack trace >
=> second (ffffffff81000200)
`)
	const want = "cat 98 [000] 12.000001: trace:tick@a: count=1\nfirst\ncat 98 [000] 12.000002: trace:tick@b: count=2\nsecond\n"
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
			x.who + "sched:sched_waking: comm=x pid=3\nschedule\ndo_wait\n0x460a63\n0x460a70\n",
			x.who + "sched:sched_waking: comm=y pid=4\nschedule\ndo_exit\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", x.what, want, got)
			}
		}
	}
}

// TestStackOfInterrupted: where an interrupt came between an event and its stack, each event has
// its own.
func TestStackOfInterrupted(t *testing.T) {
	got := stacked(t, `# tracer: nop
            cat-98      [000] ..... 26.000001: sys_enter: NR 0 (3, 0, 0, 0, 0, 0)
            cat-98      [000] ..s1. 26.000002: softirq_raise: vec=1
            cat-98      [000] d.h1. 26.000003: hrtimer_expire_exit: hrtimer=00000000abcdef01
            cat-98      [000] d.h1. 26.000004: <stack trace>
 => __hrtimer_run_queues
 => hrtimer_interrupt
            cat-98      [000] ..s1. 26.000005: <stack trace>
 => handle_softirqs
            cat-98      [000] ..... 26.000006: <stack trace>
 => syscall_trace_enter
 => do_syscall_64
            cat-98      [000] ..... 26.000007: <user stack trace>
 =>  <0000000000460a63>
            dog-99      [000] ..... 26.000008: sys_enter: NR 1 (3, 0, 0, 0, 0, 0)
`)
	const want = `cat 98 [000] 26.000001: raw_syscalls:sys_enter: NR 0 (3, 0, 0, 0, 0, 0)
syscall_trace_enter
do_syscall_64
0x460a63
cat 98 [000] 26.000002: irq:softirq_raise: vec=1
handle_softirqs
cat 98 [000] 26.000003: timer:hrtimer_expire_exit: hrtimer=00000000abcdef01
__hrtimer_run_queues
hrtimer_interrupt
dog 99 [000] 26.000008: raw_syscalls:sys_enter: NR 1 (3, 0, 0, 0, 0, 0)
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestStackAlone: a stack whose event is not there is an event by itself, and none of another.
func TestStackAlone(t *testing.T) {
	const event = "            cat-98      [000] ..... 26.000001: sys_enter: NR 0 (3, 0, 0, 0, 0, 0)\n"
	const stack = "            cat-98      [000] ..... 26.000002: <stack trace>\n => do_syscall_64\n"
	const listed = "cat 98 [000] 26.000001: raw_syscalls:sys_enter: NR 0 (3, 0, 0, 0, 0, 0)\n"
	const alone = "cat 98 [000] 26.000002: ftrace:kernel_stack: <stack trace>\ndo_syscall_64\n"
	many := ""
	for range 100 {
		many += "            dog-99      [001] ..... 26.000002: tick: n=1\n"
	}
	for _, x := range []struct{ what, text, want string }{
		{"a second one", event + stack + stack, listed + "do_syscall_64\n" + alone},
		{"of another task", event + strings.ReplaceAll(stack, "cat-98", "dog-99"), listed + strings.ReplaceAll(alone, "cat 98", "dog 99")},
		{"of an interrupt", event + strings.Replace(stack, ".....", "d.h1.", 1), listed + alone},
		{"behind a loss", event + "CPU:0 [LOST 3 EVENTS]\n" + stack, listed + "CPU:0 [LOST 3 EVENTS]\n" + alone},
		{"at the begin", stack, alone},
		{"long after", event + many + stack, listed + strings.Repeat("dog 99 [001] 26.000002: trace:tick: n=1\n", 100) + alone},
		{"with that of user space", stack + "            cat-98      [000] ..... 26.000003: <user stack trace>\n =>  <0000000000460a63>\n",
			alone + "cat 98 [000] 26.000003: ftrace:user_stack: <user stack trace>\n0x460a63\n"},
	} {
		if got := stacked(t, "# tracer: nop\n"+x.text); got != x.want {
			t.Errorf("%s:\n%s\nwant\n%s", x.what, got, x.want)
		}
	}
}

// TestStackOfPadding: the return address of a call that does not return may be in the padding in
// front of the next function, which the kernel prints by its own name (kallsyms has it since Linux
// 6.2). Whose call it was the text does not say: what it says is shown, and no other function. The
// same goes for names that are marks of code in a list of symbols.
func TestStackOfPadding(t *testing.T) {
	got := stacked(t, `# tracer: nop
            cat-98      [000] ..... 26.000001: sys_enter: NR 0 (3, 0, 0, 0, 0, 0)
            cat-98      [000] ..... 26.000002: <stack trace>
 => do_idle
 => cpu_startup_entry
 => __pfx_ap_starting
 => $x
 => .L17
 => secondary_startup_64
`)
	const want = `cat 98 [000] 26.000001: raw_syscalls:sys_enter: NR 0 (3, 0, 0, 0, 0, 0)
do_idle
cpu_startup_entry
__pfx_ap_starting
$x
.L17
secondary_startup_64
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestStackOfFunctionTracer: a stack begins in the tracer, and what the function tracer noted is its
// leaf. How the tracer's own trampoline is shown depends on the kernel, and it may be on stacks of
// interrupts too.
func TestStackOfFunctionTracer(t *testing.T) {
	const call = "            bash-2119    [000] ...1.   107.717000: vfs_write <-ksys_write\n"
	const event = "            bash-2119    [000] ...1.   107.717000: tick: n=1\n"
	const head = "            bash-2119    [000] ...1.   107.717001: <stack trace>\n"
	const listed = "bash 2119 [000] 107.717000: ftrace:function: vfs_write <-ksys_write\n"
	const tick = "bash 2119 [000] 107.717000: trace:tick: n=1\n"
	for _, x := range []struct{ what, text, want string }{
		{"without a stack", call, listed + "vfs_write\nksys_write\n"},
		{"marked", call + head + " => [FTRACE TRAMPOLINE]\n => vfs_write\n => ksys_write\n => do_syscall_64\n", listed + "vfs_write\nksys_write\ndo_syscall_64\n"},
		{"an address", call + head + " => 0xffffffffa0000083\n => vfs_write\n => ksys_write\n", listed + "vfs_write\nksys_write\n"},
		{"another name", call + head + " => (MODULE INIT FUNCTION)\n => vfs_write+0x5/0x490\n => ksys_write+0x6f/0xf0\n", listed + "vfs_write\nksys_write\n"},
		{"without the function", call + head + " => ftrace_regs_call\n => ksys_write\n => do_syscall_64\n", listed + "vfs_write\nksys_write\ndo_syscall_64\n"},
		{"without the caller", call + head + " => [FTRACE TRAMPOLINE]\n => vfs_write\n => return_to_handler\n", listed + "vfs_write\nreturn_to_handler\n"},
		{"without both", call + head + " => [FTRACE TRAMPOLINE]\n => return_to_handler\n", listed + "vfs_write\nreturn_to_handler\n"},
		{"empty", call + head, listed + "vfs_write\nksys_write\n"},
		{"with that of user space", call + head + " => [FTRACE TRAMPOLINE]\n => vfs_write\n" + strings.Replace(head, "<stack", "<user stack", 1) + " =>  <0000000000460a63>\n", listed + "vfs_write\n0x460a63\n"},
		{"of another event", event + head + " => asm_exc_nmi\n => [FTRACE TRAMPOLINE]\n => vfs_write\n", tick + "asm_exc_nmi\nvfs_write\n"},
	} {
		if got := stacked(t, "# tracer: function\n"+x.text); got != x.want {
			t.Errorf("%s:\n%s\nwant\n%s", x.what, got, x.want)
		}
	}
}

// TestSyntheticStack: a stack that is a field of a synthetic event is that event's.
func TestSyntheticStack(t *testing.T) {
	name := written(t, `# tracer: nop
          <idle>-0       [005] d..4.   521.164922: wake_lat: pid=0 delta=8322 stack=STACK:
=> __schedule+0x448/0x7b0
=> io_schedule+0x42/0x70

           <...>-2       [004] d..4.   525.184257: wake_lat: pid=2 delta=76 stack=STACK:
=> __schedule+0x448/0x7b0
=> kthread+0xe9/0x110
`)
	if got, want := strings.Join(folded(t, name, "trace:wake_lat", 0, convert.Options{}), ","), "io_schedule;__schedule 1,kthread;__schedule 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
