package ftracetext

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// String is what a test compares.
func (l Line) String() string {
	var b strings.Builder
	name := [...]string{"other", "event", "call", "stack", "frame", "lost", "enter", "leave", "leaf", "switch"}[l.Kind]
	fmt.Fprintf(&b, "%s", name)
	add := func(what string, v any, is bool) {
		if is {
			fmt.Fprintf(&b, " %s=%v", what, v)
		}
	}
	add("task", l.Task, l.Task != "")
	add("tid", l.TID, l.TID >= 0)
	add("tgid", l.TGID, l.TGID >= 0)
	add("cpu", l.CPU, l.CPU >= 0)
	add("flags", l.Flags, l.Flags != "")
	add("t", l.Time, l.HasTime)
	add("ticks", l.Ticks, l.Ticks)
	add("name", l.Name, l.Name != "")
	add("text", l.Text, l.Text != "" && l.Kind == Event)
	add("buffer", l.Buffer, l.Buffer != "")
	add("from", fmt.Sprint(l.FromTask, "/", l.FromTID), l.FromTID >= 0)
	add("func", l.Func, l.Func != "")
	add("args", l.Args, l.Args != "")
	add("caller", l.Caller, l.Caller != "")
	add("user", l.User, l.User)
	add("depth", l.Depth, l.Kind >= Enter && l.Kind <= Leaf)
	add("took", l.Duration, l.Timed)
	add("ret", l.Return, l.Return != "")
	add("count", l.Count, l.Kind == Lost)
	return b.String()
}

var lines = []struct{ text, want string }{
	// Events, of several kernels.
	{"            bash-1977  [000] d..1. 17284.993652: sched_switch: prev_comm=x y prev_pid=1", "event task=bash tid=1977 cpu=0 flags=d..1. t=17284993652000 name=sched_switch text=prev_comm=x y prev_pid=1"},
	{"          <idle>-0     [003] d.h.    12.000001: irq_handler_entry: irq=1 name=a [b]", "event task=<idle> tid=0 cpu=3 flags=d.h. t=12000001000 name=irq_handler_entry text=irq=1 name=a [b]"},
	{" Web [Content]-x-42   (     40) [001] ..... 1.5: print_me: hi", "event task=Web [Content]-x tid=42 tgid=40 cpu=1 flags=..... t=1500000000 name=print_me text=hi"},
	{"           <...>-17    (-------) [011] .... 7.000000: foo: ", "event task=<...> tid=17 cpu=11 flags=.... t=7000000000 name=foo"},
	{"       trace-cmd-326   [000]    27.539637: sched_wakeup:         comm=rcu pid=15", "event task=trace-cmd tid=326 cpu=0 t=27539637000 name=sched_wakeup text=comm=rcu pid=15"},
	{"  cat-1 [000] ..... 123456789: foo: x", "event task=cat tid=1 cpu=0 flags=..... t=123456789 ticks=true name=foo text=x"},
	{"  cat-1 [000] ..... 1.0: sys_openat(dfd: ffffff9c, filename: 5)", "event task=cat tid=1 cpu=0 flags=..... t=1000000000 name=sys_enter_openat text=sys_openat(dfd: ffffff9c, filename: 5)"},
	{"  cat-1 [000] ..... 1.0: sys_openat -> 0x3", "event task=cat tid=1 cpu=0 flags=..... t=1000000000 name=sys_exit_openat text=sys_openat -> 0x3"},
	{"  cat-1 [000] ..... 1.0: bprint:               vfs_read: n=5", "event task=cat tid=1 cpu=0 flags=..... t=1000000000 name=vfs_read text=n=5"},
	{"  cat-1 [000] ..... 1.0: 12 plain words", "event task=cat tid=1 cpu=0 flags=..... t=1000000000 name=print text=12 plain words"},
	{"  cat-1 [000] 1.0: 0: B|1|draw", "event task=cat tid=1 cpu=0 t=1000000000 name=tracing_mark_write text=B|1|draw"}, // Linux 3.0
	{"  cat-1 [000] 1.0: 01: B|1|draw", "event task=cat tid=1 cpu=0 t=1000000000 name=print text=01: B|1|draw"},
	// Functions.
	{"  bash-1 [000] ..... 1.0: vfs_read", "call task=bash tid=1 cpu=0 flags=..... t=1000000000 func=vfs_read"},
	{"  bash-1 [000] ..... 1.0: foo.isra.0+0x0/0x20 [ext4] <ffffffffc0000000>", "call task=bash tid=1 cpu=0 flags=..... t=1000000000 func=foo.isra.0"},
	{"  bash-1 [000] ..... 1.0: vfs_read <ffffffff81000000>", "call task=bash tid=1 cpu=0 flags=..... t=1000000000 func=vfs_read"},
	{"  bash-1 [000] ..... 1.0: vfs_read(file=0x1, count=5)", "call task=bash tid=1 cpu=0 flags=..... t=1000000000 func=vfs_read args=file=0x1, count=5"},
	{"  bash-1 [000] ..... 1.0: print: hello", "event task=bash tid=1 cpu=0 flags=..... t=1000000000 name=print text=hello"},
	{"  bash-1 [000] ..... 1.0: vfs_read+0x1/0x2: hello", "event task=bash tid=1 cpu=0 flags=..... t=1000000000 name=vfs_read text=hello"},
	{"  bash-1 [000] ..... 1.0: hello world", "event task=bash tid=1 cpu=0 flags=..... t=1000000000 name=print text=hello world"},
	{"  bash-1 [000] ..... 1.0: sys_read(fd: 3)", "event task=bash tid=1 cpu=0 flags=..... t=1000000000 name=sys_enter_read text=sys_read(fd: 3)"},
	{"  bash-16939 [000] ....  6075.461561: mutex_unlock <-tracing_set_tracer", "call task=bash tid=16939 cpu=0 flags=.... t=6075461561000 func=mutex_unlock caller=tracing_set_tracer"},
	{"  bash-16939 [000] ....  6075.4: mutex_unlock+0x1/0x40 <-tracing_set_tracer+0x9/0x100", "call task=bash tid=16939 cpu=0 flags=.... t=6075400000000 func=mutex_unlock caller=tracing_set_tracer"},
	{"  bash-16939 [000] ....  6075.4: vfs_read(file=0x1, count=2) <-ksys_read", "call task=bash tid=16939 cpu=0 flags=.... t=6075400000000 func=vfs_read args=file=0x1, count=2 caller=ksys_read"},
	{"  bash-16939 [000] ....  6075.4: vfs_read+0x4/0x10(file=0x1, count=2) <-ksys_read+0x12/0x40", "call task=bash tid=16939 cpu=0 flags=.... t=6075400000000 func=vfs_read args=file=0x1, count=2 caller=ksys_read"},
	{"  bash-16939 [000] ....  6075.4: ext4_file_read_iter+0x4/0x10 [ext4](iocb=0x1) <-vfs_read+0x12/0x40", "call task=bash tid=16939 cpu=0 flags=.... t=6075400000000 func=ext4_file_read_iter args=iocb=0x1 caller=vfs_read"},
	{"  bash-16939 [000] ....  6075.4: vfs_read <ffffffff81234560>() <-ksys_read <ffffffff81234570>", "call task=bash tid=16939 cpu=0 flags=.... t=6075400000000 func=vfs_read caller=ksys_read"},
	{"  cat-7 [000] 1.0: function:             vfs_read <-- ksys_read", "call task=cat tid=7 cpu=0 t=1000000000 func=vfs_read caller=ksys_read"},
	// The latency format.
	{"    bash-1994    0d..1    4us+: _raw_spin_lock <-try_to_wake_up", "call task=bash tid=1994 cpu=0 flags=d..1 t=4000 func=_raw_spin_lock caller=try_to_wake_up"},
	{"  <idle>-0      12dNh3.  104us : sched_wakeup: comm=x pid=3", "event task=<idle> tid=0 cpu=12 flags=dNh3. t=104000 name=sched_wakeup text=comm=x pid=3"},
	{"  <idle>-0      12dNh3.  104us!: sched_wakeup: comm=x pid=3", "event task=<idle> tid=0 cpu=12 flags=dNh3. t=104000 name=sched_wakeup text=comm=x pid=3"},
	{"  <idle>-0       2.N... 4711: sched_wakeup: comm=x pid=3", "event task=<idle> tid=0 cpu=2 flags=.N... t=4711 ticks=true name=sched_wakeup text=comm=x pid=3"},
	{"trace-cm-326     0dNs4.    27.539636887: sched_wakeup:         rcu_preempt:15 [120] CPU:000", "event task=trace-cm tid=326 cpu=0 flags=dNs4. t=27539636887 name=sched_wakeup text=rcu_preempt:15 [120] CPU:000"},
	// trace-cmd of 2025, with its options depth and tail, and with retaddr.
	{"              sh-144   [000]    33.867468: funcgraph_entry:                   |  vfs_read(file=0x1) {", "enter task=sh tid=144 cpu=0 t=33867468000 name=funcgraph_entry func=vfs_read args=file=0x1 depth=0"},
	{"              sh-144   [000]    33.867468: funcgraph_entry:                   |  vfs_read() /* <-ksys_read */ {", "enter task=sh tid=144 cpu=0 t=33867468000 name=funcgraph_entry func=vfs_read depth=0"},
	{"              sh-144   [000]    33.867468: funcgraph_entry:                   |  vfs_read() { (0)", "enter task=sh tid=144 cpu=0 t=33867468000 name=funcgraph_entry func=vfs_read depth=0"},
	{"              sh-144   [000]    33.867468: funcgraph_entry:                   |  vfs_read(a=(x)[0x1]) /* <-ksys_read */ { (0)", "enter task=sh tid=144 cpu=0 t=33867468000 name=funcgraph_entry func=vfs_read args=a=(x)[0x1] depth=0"},
	{"              sh-144   [000]    33.867469: funcgraph_entry:        0.300 us   |    foo(); (ret=-11)", "leaf task=sh tid=144 cpu=0 t=33867469000 name=funcgraph_entry func=foo depth=1 took=300 ret=-11"},
	{"              sh-144   [000]    33.867469: funcgraph_entry:        0.300 us   |    foo(); (1) (ret=0x0)", "leaf task=sh tid=144 cpu=0 t=33867469000 name=funcgraph_entry func=foo depth=1 took=300 ret=0x0"},
	{"              sh-144   [000]    33.867469: funcgraph_entry:        0.300 us   |    foo(a=1); (1) /* <-vfs_read */ (ret=0x5)", "leaf task=sh tid=144 cpu=0 t=33867469000 name=funcgraph_entry func=foo args=a=1 depth=1 took=300 ret=0x5"},
	{"              sh-144   [000]    33.867469: funcgraph_entry:        0.300 us   |    foo(); (1)", "leaf task=sh tid=144 cpu=0 t=33867469000 name=funcgraph_entry func=foo depth=1 took=300"},
	{"              sh-144   [000]    33.867469: funcgraph_entry:        0.300 us   |    foo(); /* <-vfs_read */", "leaf task=sh tid=144 cpu=0 t=33867469000 name=funcgraph_entry func=foo depth=1 took=300"},
	{"              sh-144   [000]    33.867471: funcgraph_exit:         3.300 us   |  } (ret=0x5)", "leave task=sh tid=144 cpu=0 t=33867471000 name=funcgraph_exit depth=0 took=3300 ret=0x5"},
	{"              sh-144   [000]    33.867471: funcgraph_exit:         3.300 us   |  } /* vfs_read */ (0) (ret=-22)", "leave task=sh tid=144 cpu=0 t=33867471000 name=funcgraph_exit func=vfs_read depth=0 took=3300 ret=-22"},
	{"              sh-144   [000]    33.867471: funcgraph_exit:         3.300 us   |  } (0)", "leave task=sh tid=144 cpu=0 t=33867471000 name=funcgraph_exit depth=0 took=3300"},
	{"              sh-144   [000]    33.867468: fgraph_retaddr_entry:                   |  vfs_read() /* <-ksys_read */ {", "enter task=sh tid=144 cpu=0 t=33867468000 name=fgraph_retaddr_entry func=vfs_read depth=0"},
	{"              sh-144   [000]    33.867468: fgraph_retaddr_entry: --> vfs_read (0) <- ksys_read", "enter task=sh tid=144 cpu=0 t=33867468000 name=fgraph_retaddr_entry func=vfs_read depth=0"},
	{"              sh-144   [000]    33.867468: fgraph_retaddr_entry:   0.300 us   |  vfs_read(); /* <-ksys_read */ (ret=0x0)", "leaf task=sh tid=144 cpu=0 t=33867468000 name=fgraph_retaddr_entry func=vfs_read depth=0 took=300 ret=0x0"},
	{"              sh-144   [000]    33.867472: func_repeats:         vfs_read <-- ksys_read (count: 3  last_ts:    33.867470)", "call task=sh tid=144 cpu=0 t=33867472000 func=vfs_read caller=ksys_read"},
	{"              sh-144   [000]    33.867472: func_repeats:         vfs_read (count: 3  last_ts:    33.867470)", "call task=sh tid=144 cpu=0 t=33867472000 func=vfs_read"},
	{"              sh-144   [000]    33.867472: func_repeats:          vfs_read <-ksys_read\t(repeats:3  delta: -2000)", "call task=sh tid=144 cpu=0 t=33867472000 func=vfs_read caller=ksys_read"},
	{"tr47: CPU:1 [366 EVENTS DROPPED]", "lost cpu=1 buffer=tr47 count=366"},
	{"tr47: trace-cm-23782   1d..2.  2077.891387: sched_switch:         a:2 [139] S ==> b:3 [139]", "event task=trace-cm tid=23782 cpu=1 flags=d..2. t=2077891387000 name=sched_switch text=a:2 [139] S ==> b:3 [139] buffer=tr47"},
	{"            bash     994   0 1 00000000 00000003 [00000dc5] 0.051ms (+0.002ms): vfs_read <-ksys_read", "call task=bash tid=994 cpu=0 flags=d. t=51000 func=vfs_read caller=ksys_read"},
	{"            bash     994   2 1 00000000 00000003 [0000000000000dc5] 3525 (+12): vfs_read <-ksys_read", "call task=bash tid=994 cpu=2 flags=d. t=3525 ticks=true func=vfs_read caller=ksys_read"},
	{"         my bash     994   0 1 00000000 00000003 4711 (+2): vfs_read <-ksys_read", "call task=my bash tid=994 cpu=0 flags=d. t=4711 ticks=true func=vfs_read caller=ksys_read"},
	// trace-cmd's.
	{"  cat-1 [000] 1.5: function:                vfs_read", "call task=cat tid=1 cpu=0 t=1500000000 func=vfs_read"},
	{"  cat-1 [000] 1.5: function:             vfs_read+0x4 ", "call task=cat tid=1 cpu=0 t=1500000000 func=vfs_read"},
	{"  cat-1 [000] 1.5: (+12)    foo:     x", "event task=cat tid=1 cpu=0 t=1500000000 name=foo text=x"},
	{"        guest1:          <idle>-0     [003] 12.5: foo: x", "event task=<idle> tid=0 cpu=3 t=12500000000 name=foo text=x buffer=guest1"},
	// pstore's.
	{"CPU:2 ts:17 ffffffff8101ea64  ffffffff8101bcda  native_apic_mem_read <- disconnect_bsp_APIC+0x6a/0xc0", "call cpu=2 t=17 ticks=true func=native_apic_mem_read caller=disconnect_bsp_APIC"},
	// Stacks and losses.
	{"          <idle>-0       [000] d..2.    41.221905: <stack trace>", "stack task=<idle> tid=0 cpu=0 flags=d..2. t=41221905000"},
	{"  sh-144     [000] d..2.    41.213528: <user stack trace>", "stack task=sh tid=144 cpu=0 flags=d..2. t=41213528000 user=true"},
	{"  sh-144     [000]    41.213528: kernel_stack:         <stack trace >", "stack task=sh tid=144 cpu=0 t=41213528000"},
	{"  cat-98    [000] 82670.732932: user_stack:           \t=> 0x40deee", "stack task=cat tid=98 cpu=0 t=82670732932000 func=0x40deee user=true"},
	{"  cat-98    [000] 82670.732932: kernel_stack:         \t=> schedule", "stack task=cat tid=98 cpu=0 t=82670732932000 func=schedule"},
	{" => schedule", "frame func=schedule"},
	{"=> schedule (ffffffff81000110)", "frame func=schedule"},
	{" => vfs_read+0x1a/0x20 [ext4] <ffffffff81000110>", "frame func=vfs_read"},
	{" =>  <0000000000460a63>", "frame func=0x460a63"},
	{" =>  <0000000000460a63> */", "frame func=0x460a63"},
	{" => /usr/lib/libc.so.6[+0x10f2]", "frame func=/usr/lib/libc.so.6[+0x10f2]"},
	{"CPU:1 [LOST 12 EVENTS]", "lost cpu=1 count=12"},
	{"CPU:3 [EVENTS DROPPED]", "lost cpu=3 count=0"},
	{"CPU:0 [178 EVENTS DROPPED]", "lost cpu=0 count=178"},
	// function_graph.
	{"   33.867468 |   0)     sh-144     | + 13.494 us   |      security_file_permission(file=0x1, mask=4);", "leaf task=sh tid=144 cpu=0 t=33867468000 func=security_file_permission args=file=0x1, mask=4 depth=2 took=13494"},
	{"   33.867465 |   0)     sh-144     |  ...1. |               |    rw_verify_area() {", "enter task=sh tid=144 cpu=0 flags=...1. t=33867465000 func=rw_verify_area depth=1"},
	{"   33.867568 |   0)     sh-144     |  ..... | ! 164.845 us  |  } /* vfs_read */", "leave task=sh tid=144 cpu=0 flags=..... t=33867568000 func=vfs_read depth=0 took=164845"},
	{" 0)   0.339 us    |  up_read();", "leaf cpu=0 func=up_read depth=0 took=339"},
	{" 10) @ 1234567 us |    }", "leave cpu=10 depth=1 took=1234567000"},
	{" 1) $ 1500000.5 us |  } /* schedule */", "leave cpu=1 func=schedule depth=0 took=1500000500"},
	{"  0.339 us    |  up_read();", "leaf func=up_read depth=0 took=339"},
	{"              |  vfs_read() {", "enter func=vfs_read depth=0"},
	{" 1)               |    vfs_read [ext4]() {", "enter cpu=1 func=vfs_read depth=1"},
	{" 1)   0.5 us      |    vfs_read(); /* = 0x10 */", "leaf cpu=1 func=vfs_read depth=1 took=500 ret=0x10"},
	{" 1)   0.5 us      |    } /* vfs_read = -22 */", "leave cpu=1 func=vfs_read depth=1 took=500 ret=-22"},
	{" 1)   0.5 us      |    } /* vfs_read ret=0x3 */", "leave cpu=1 func=vfs_read depth=1 took=500 ret=0x3"},
	{" 1)               |  vfs_read() { /* <-ksys_read+0x5a/0xe0 */", "enter cpu=1 func=vfs_read depth=0"},
	{" 1)               |  /* sched_switch: prev_comm=sh prev_pid=99 */", "event cpu=1 name=sched_switch text=prev_comm=sh prev_pid=99"},
	{" 1)   ==========> |", "other cpu=1"},
	{" 1)   ==========> |  sysvec_apic_timer_interrupt() {", "enter cpu=1 func=sysvec_apic_timer_interrupt depth=0"},
	{" 1)    <idle>-0    =>   rcu_pre-15  ", "switch task=rcu_pre tid=15 cpu=1 from=<idle>/0"},
	{" | 1)  migration/0-6  =>  sshd-1755", "switch task=sshd tid=1755 cpu=1 from=migration/0/6"},
	{" 1)  vfs_read() {", "enter cpu=1 func=vfs_read depth=0"},
	{" 1)    lock();", "leaf cpu=1 func=lock depth=1"},
	{"    5.000001 |    lock();", "leaf t=5000001000 func=lock depth=1"},
	{" 1)    cat-7    |    lock();", "leaf task=cat tid=7 cpu=1 func=lock depth=1"},
	{"  5.000001 |   1.500 us |  1)   0.5 us    |  lock();", "leaf cpu=1 t=5000001000 func=lock depth=0 took=500"},
	{"        0 us |   0)   bash-1507    |  d..1 |   0.378 us    |    do_raw_spin_trylock();", "leaf task=bash tid=1507 cpu=0 flags=d..1 t=0 func=do_raw_spin_trylock depth=1 took=378"},
	{"        1 us |   0)   bash-1507    |  d..2 |               |    set_track() {", "enter task=bash tid=1507 cpu=0 flags=d..2 t=1000 func=set_track depth=1"},
	{"     1772 us |  12)  stress--204   |  .n..1.. | ! 588.000 us  |        }", "leave task=stress- tid=204 cpu=12 flags=.n..1.. t=1772000 depth=3 took=588000"},
	{" 1234567 us |    }", "leave depth=1 took=1234567000"},
	{" 1234567 us |  lock(0);", "leaf func=lock args=0 depth=0 took=1234567000"},
	{"  cat-9 [001] 5.0: funcgraph_entry:        0.5 us    |  up_read();", "leaf task=cat tid=9 cpu=1 t=5000000000 name=funcgraph_entry func=up_read depth=0 took=500"},
	{"  cat-9 [001] 5.0: funcgraph_entry:                   |  vfs_read() {", "enter task=cat tid=9 cpu=1 t=5000000000 name=funcgraph_entry func=vfs_read depth=0"},
	{"  cat-9 [001] 5.0: funcgraph_exit:       + 12.5 us    |  }", "leave task=cat tid=9 cpu=1 t=5000000000 name=funcgraph_exit depth=0 took=12500"},
	{"  cat-9 [001] 5.0: funcgraph_entry:      --> path_openat (1)", "enter task=cat tid=9 cpu=1 t=5000000000 name=funcgraph_entry func=path_openat depth=1"},
	{"  cat-9 [001] 5.0: funcgraph_exit:       <-- path_openat (1) (start: 2a3a69731  end: 2a3a78b1c) over: 1", "leave task=cat tid=9 cpu=1 t=5000000000 name=funcgraph_exit func=path_openat depth=1 took=62443"},
	{"  cat-9 [001] 5.0: funcgraph_exit:       anything", "event task=cat tid=9 cpu=1 t=5000000000 name=funcgraph_exit text=anything"},
	// What is none of these.
	{"# tracer: nop", "other"},
	{"", "other"},
	{" ------------------------------------------", "other"},
	{"cpus=2", "other"},
	{"any words: at all", "other"},
	{"a [b] c-1", "other"},
}

func TestParse(t *testing.T) {
	for _, x := range lines {
		if got := Parse(x.text + "\n").String(); got != x.want {
			t.Errorf("%q:\n%s\nwant\n%s", x.text, got, x.want)
		}
	}
}

// TestParseLong: what a long line takes does not grow with the square of its length.
func TestParseLong(t *testing.T) {
	const bytes = 1 << 20
	for _, x := range []string{"[1]", "[", "(1) [1]", "-1 [1]", "x-1 [1] ", "[1", " ]", "a=", `a="x`, `a="x" `, "=> "} {
		line := strings.Repeat(x, bytes/len(x)) + "]"
		begin := time.Now()
		Parse(line)
		AppendFields(nil, line)
		if took := time.Since(begin); took > 2*time.Second { // it is milliseconds
			t.Errorf("%q: %v", x, took)
		}
	}
}

func TestFields(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"comm=rcu preempt pid=15 prio=120 target_cpu=000", `comm="rcu preempt" pid="15" prio="120" target_cpu="000"`},
		{"prev_comm=a prev_state=R+ ==> next_comm=b next_pid=1", `prev_comm="a" prev_state="R+" next_comm="b" next_pid="1"`},
		{"a->b width=32 val=0x1b, addr=(0x5)", `width="32" val="0x1b" addr="0x5"`},
		{"8,0 WS 4096 () 123 + 8 [fio]", ""},
		{"x==y a=1", `a="1"`},
		{"name=", `name=""`},
		{"00000000dc2cb5d7 (ret=0)", `ret="0"`},
		{"vec=1 [action=TIMER]", `vec="1" action="TIMER"`},
		{"cmd=(read len=7, ctrl=0x0) f=g(1)", `cmd="(read" len="7" ctrl="0x0" f="g(1)"`},
		{`(do_sys_openat2+0x0/0x90) dfd=-100 filename="/tmp/a b=c x" mode=0x1b6`, `dfd="-100" filename="/tmp/a b=c x" mode="0x1b6"`},
		{`a="x\"y" b="" c={"d","e"} f="(fault)"`, `a="x\\\"y" b="" c="{\"d\",\"e\"}" f="(fault)"`},
		{`a="x b=1 c="y" d=2`, `a="x b=1 c=\"y" d="2"`},
		{`a="x b="y c=3`, `a="\"x" b="\"y" c="3"`},
		{`(a="1")`, `a="1"`},
		{"flags=GFP_A|GFP_B ptr=0xffffffff81000000", `flags="GFP_A|GFP_B" ptr="0xffffffff81000000"`},
	} {
		var got []string
		for _, f := range AppendFields(nil, x.text) {
			got = append(got, fmt.Sprintf("%s=%q", f.Name, f.Value))
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%q: %s, want %s", x.text, got, x.want)
		}
	}
	for value, want := range map[string]int64{"0x63 (99)": 99, "0xffffffea (-22)": -22, "000": 0, "-1": -1, "0x10": 16, "0xffffffffffffffff": -1, "15": 15,
		"18446744073709551615": -1, "9223372036854775808": -1 << 63, "9223372036854775807": 1<<63 - 1,
		"00000000dc2cb5d7": 0xdc2cb5d7, "0000000012345678": 0x12345678, "ffff88003e123450": -0x77ffc1edcbb0} {
		if n, ok := (&Field{Value: value}).Number(); !ok || n != want {
			t.Errorf("%q is %d, %v", value, n, ok)
		}
	}
	for _, value := range []string{"", "x", "1x", "R+", "0x", "12.5", "deadbeef", "00000000dc2cb5dz", "(____ptrval____)", "18446744073709551616", "-9223372036854775809"} {
		if n, ok := (&Field{Value: value}).Number(); ok {
			t.Errorf("%q is %d", value, n)
		}
	}
	for value, want := range map[string]bool{"18446744073709551615": true, "9223372036854775808": true, "9223372036854775807": false, "-1": false, "0xffffffffffffffff": false, "": false, "x": false, "0xffffffea (-22)": false} {
		if got := (&Field{Value: value}).Unsigned(); got != want {
			t.Errorf("%q is unsigned: %v", value, got)
		}
	}
	if f := (Field{Value: "15", Quoted: true}); f.Hex() || f.Unsigned() {
		t.Error("a number between quotes")
	} else if _, ok := f.Number(); ok {
		t.Error("a number between quotes")
	}
}

// FuzzParse looks for what panics, and for numbers out of range.
func FuzzParse(f *testing.F) {
	for _, x := range lines {
		f.Add(x.text)
	}
	f.Add("-0[0]0: \r <-") // no function, and its caller
	f.Fuzz(func(t *testing.T, s string) {
		l := Parse(s)
		if l.CPU < -1 || l.TID < -1 || l.TGID < -1 || l.Depth < 0 || l.Depth > len(s) {
			t.Fatalf("%+v", l)
		}
		if (l.Kind == Enter || l.Kind == Leaf || l.Kind == Call || l.Kind == Event) && l.Func == "" && l.Name == "" {
			t.Fatalf("no name: %+v", l)
		}
		for _, f := range AppendFields(nil, s) {
			if f.Name == "" {
				t.Fatal("a field without a name")
			}
		}
	})
}
