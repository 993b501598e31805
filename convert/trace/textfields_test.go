package trace_test

import (
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/tracetest"
)

// listedWhere are the last digits of the times of the events that match.
func listedWhere(t *testing.T, name, where string) string {
	t.Helper()
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
	return strings.Join(got, " ")
}

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
		if s := listedWhere(t, name, where); s != want {
			t.Errorf("%s: %q, want %q", where, s, want)
		}
	}
}

// TestFieldsOfOption: with the tracer's option fields numbers are there in hexadecimal and decimal, errors below 0,
// and pointers in brackets.
func TestFieldsOfOption(t *testing.T) {
	name := written(t, `# tracer: nop
              ls-803     [000] ...1.   100.000001: sys_exit_openat: __syscall_nr=0x101 (257) ret=0xfffffffffffffffe (-2)
              ls-803     [000] ...1.   100.000002: sys_enter_readlink: __syscall_nr=0x59 (89) path=(0x00000000090f39e0) buf=(0x00000000090f2460) bufsiz=0x50 (80)
              ls-803     [000] ...1.   100.000003: sys_exit_readlink: __syscall_nr=0x59 (89) ret=0xc (12)
`)
	for where, want := range map[string]string{"ret < 0": "1", "ret == -2": "1", "ret > 0": "3", "path == 0x90f39e0": "2", "__syscall_nr == 89": "2 3"} {
		if s := listedWhere(t, name, where); s != want {
			t.Errorf("%s: %q, want %q", where, s, want)
		}
	}
	text := list(t, name, listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.Fields}})
	for _, want := range []string{"__syscall_nr=257 ret=-2 ", "path=0x90f39e0 buf=0x90f2460 bufsiz=80 "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestErrorsAmongPointers: what functions return is written as a decimal number where it may be an error, else
// in hexadecimal (the option funcgraph-retval); errors are found as they are written.
func TestErrorsAmongPointers(t *testing.T) {
	const pointers = "# tracer: function_graph\n 0)   0.651 us    |  get(); /* = 0xffff93fcfd346c00 */\n 0)   0.380 us    |  put(); /* = 0x0 */\n"
	name := written(t, pointers+" 0)   0.380 us    |  read(); /* = -11 */\n 0)   0.380 us    |  close(); /* close ret=-22 */\n 0)   0.380 us    |  stat(); /* = 0xfffffffe */\n")
	where, err := expr.Parse("retval >= -4095 && retval < 0")
	if err != nil {
		t.Fatal(err)
	}
	o := convert.Options{}
	o.Where = where
	if got, want := strings.Join(folded(t, name, "ftrace:function_graph", 1, o), ","), "close 380,read 380,stat 380"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	fields := listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.Fields}}
	if got, want := list(t, name, listing.Options{}, fields), "retval=0xffff93fcfd346c00 "; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	p, err := convert.Open(t.Context(), name, convert.Options{Selection: convert.Selection{FieldLabels: []string{"retval"}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Set.NumSamples() {
		x := p.Set.Sample(i)
		if got, want := p.Set.Functions[p.Set.Lines(p.Set.Stack(x.Stack)[0])[0].Function].Name, "get"; got == want && !slices.ContainsFunc(p.Set.Labels(x.Labels), func(l stacks.Label) bool { return l.Str == "0xffff93fcfd346c00" }) {
			t.Errorf("%s has the labels %v", got, p.Set.Labels(x.Labels))
		}
	}
	// Signed too where there are no errors.
	if where, err = expr.Parse("retval < 0"); err != nil {
		t.Fatal(err)
	}
	o.Where = where
	if got, want := strings.Join(folded(t, written(t, pointers), "ftrace:function_graph", 1, o), ","), "get 651"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestReturnedByType: what functions return is a number also where the kernel writes it by the function's type.
func TestReturnedByType(t *testing.T) {
	name := written(t, "# tracer: function_graph\n 2)               |  touch() { /* <-filemap_read+0x2f5/0x390 */\n 2)   0.070 us    |    uid(idmap=0xffffffff82a1b4c0, kuid=(kuid_t)[0x5]); /* <-touch+0x45/0x100 ret=0x9 */\n"+
		" 2)   0.312 us    |    time(); /* ret=0x69380649(trunc) */\n 2)   0.100 us    |    needs(); /* ret=true */\n 2)   0.899 us    |  } /* touch ret=false */\n")
	for where, want := range map[string]string{
		"retval == 0x69380649": "touch;time 312", "retval == 1": "touch;needs 100", "retval == 9": "touch;uid 70", "retval == 0": "touch 417",
	} {
		x, err := expr.Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		o := convert.Options{}
		o.Where = x
		if got := strings.Join(folded(t, name, "ftrace:function_graph", 1, o), ","); got != want {
			t.Errorf("%s: %q, want %q", where, got, want)
		}
	}
}

// TestErrorsOfInts: an error that a function returned as an int is in the lower half of what a trace.dat has.
func TestErrorsOfInts(t *testing.T) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 512}
	call := func(value uint64) []byte {
		return slices.Concat(m.Event(1, m.Enter(7, schedule, 0)), m.Event(10, m.LeaveUntimed(7, schedule, 0, value)))
	}
	d := &tracetest.Dat{
		Machine: m, Version: 6, Ftrace: []string{tracetest.GraphEntry, tracetest.GraphExitUntimed}, Kallsyms: symbols,
		Buffers: []tracetest.Instance{{Clock: "local", CPUs: [][][]byte{{m.Sub(1000, 0,
			call(0xffffffea), call(0xffffffffffffffea), call(0xffff93fcfd346c00), call(0x80000000), call(3))}}}},
	}
	name := written(t, string(d.Bytes()))
	for where, want := range map[string]string{
		"retval == -22": "schedule 20", "retval >= -4095 && retval < 0": "schedule 20", "retval < -4095": "schedule 10", "retval == 0x80000000": "schedule 10", "retval > 0": "schedule 20",
	} {
		x, err := expr.Parse(where)
		if err != nil {
			t.Fatal(err)
		}
		o := convert.Options{}
		o.Where = x
		if got := strings.Join(folded(t, name, "ftrace:function_graph", 1, o), ","); got != want {
			t.Errorf("%s: %q, want %q", where, got, want)
		}
	}
}

// TestFieldsOfTasks: a name that looks like fields is a name, and leaves those behind it numbers, in all events of the
// kind. Names have 15 characters at most.
func TestFieldsOfTasks(t *testing.T) {
	name := written(t, `# tracer: nop
            bash-14      [001] d..2.   100.000001: sched_switch: prev_comm=bash prev_pid=14 prev_prio=120 prev_state=S ==> next_comm=y next_pid=9 z next_pid=10 next_prio=120
 y next_pid=9 z-10      [001] d..2.   100.000002: sched_switch: prev_comm=y next_pid=9 z prev_pid=10 prev_prio=120 prev_state=D ==> next_comm=a prev_pid=1 next_pid=8 next_prio=120
   a prev_pid=1-8       [001] d..2.   100.000003: sched_switch: prev_comm=a prev_pid=1 prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=k=v next_pid=7 next_prio=120
            k=v-7       [001] d..2.   100.000004: sched_switch: prev_comm=k=v prev_pid=7 prev_prio=120 prev_state=R+ ==> next_comm=x k=v next_pid=6 next_prio=120
          x k=v-6       [001] d..2.   100.000005: sched_waking: comm=b pid=3 pid=77 prio=120 target_cpu=000
          x k=v-6       [001] d..2.   100.000006: sched_waking: comm=bash pid=14 prio=120 target_cpu=000
`)
	for where, want := range map[string]string{
		"next_pid == 10 && prev_pid == 14":                 "1",
		`next_comm == "y next_pid=9 z" && prev_state == 1`: "1",
		`prev_comm == "y next_pid=9 z" && prev_pid == 10`:  "2",
		`next_comm == "a prev_pid=1" && prev_state == 2`:   "2",
		`prev_comm == "a prev_pid=1" && prev_pid == 8`:     "3",
		`next_comm == "k=v"`:                               "3",
		`prev_comm == "k=v" && prev_state == 256`:          "4",
		`next_comm == "x k=v" && next_prio == 120`:         "4",
		`field.comm == "b pid=3" && field.pid == 77`:       "5",
		"field.pid == 14 && target_cpu == 0":               "6",
	} {
		if s := listedWhere(t, name, where); s != want {
			t.Errorf("%s: %q, want %q", where, s, want)
		}
	}
}

// TestFieldsOfPlugin: so they are in what trace-cmd report prints of switches and wake-ups.
func TestFieldsOfPlugin(t *testing.T) {
	name := written(t, `cpus=2
            bash-14    [001]   100.000001: sched_switch:         bash:14 [120] S ==> k=v [x]:10 [120]
         k=v [x]-10    [001]   100.000002: sched_switch:         k=v [x]:10 [120] D ==> bash:14 [120]
            bash-14    [001]   100.000003: sched_wakeup:         k=v [x]:10 [120] success=1 CPU:000
            bash-14    [001]   100.000004: sched_wakeup:         bash:14 [120] CPU:001
`)
	for where, want := range map[string]string{
		"prev_pid == 14 && next_pid == 10":                              "1",
		`next_comm == "k=v [x]" && prev_state == 1`:                     "1",
		`prev_comm == "k=v [x]" && prev_pid == 10`:                      "2",
		`field.comm == "k=v [x]" && field.pid == 10 && target_cpu == 0`: "3",
		"success == 1": "3",
		"field.pid == 14 && field.prio == 120 && target_cpu == 1": "4",
	} {
		if s := listedWhere(t, name, where); s != want {
			t.Errorf("%s: %q, want %q", where, s, want)
		}
	}
}
