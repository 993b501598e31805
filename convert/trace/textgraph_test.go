package trace_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/perfevent/format/expr"
)

// TestGraph: times of functions are their own, by the path of their callers; ends without a
// begin are there, and begins without an end are told.
func TestGraph(t *testing.T) {
	name := written(t, graphText)
	got := folded(t, name, "ftrace:function_graph", 1, convert.Options{})
	want := []string{
		"[unknown] 4000", // 9 of it, less late and lock
		"late 4000",
		"lock 8500", // one of them in a function whose begin is not there
		"vfs_read 9000",
		"vfs_read;copy 9500",
		"vfs_read;copy;lock 500",
		"vfs_read;lock 1000",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if got := warnings(t, name); got != "left out 1 span of ftrace:function_graph, whose end was not seen\n2 ends of ftrace:function_graph without a start, which was before the recording or not seen" {
		t.Errorf("warnings %s", got)
	}
	p, err := convert.Open(context.Background(), name, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]string{}
	for _, c := range p.Stats.Calls {
		fn := p.Set.Functions[p.Set.Lines(c.Location)[0].Function].Name
		calls[fn] = fmt.Sprint(c.Count, " ", c.Sum, " ", c.Max)
	}
	if want := map[string]string{"lock": "5 10000 5000", "vfs_read": "1 20000 20000", "copy": "1 10000 10000", "late": "1 4000 4000", "[unknown]": "1 9000 9000"}; !maps.Equal(calls, want) {
		t.Errorf("calls %v, want %v", calls, want)
	}
	const listed = `             cat     7 [000]    10.000001: ftrace:funcgraph_entry:               |  vfs_read(file=0x1) {
             cat     7 [000]    10.000002: ftrace:funcgraph_entry:   1.000 us    |    lock();
             dog     8 [001]    10.000003: ftrace:funcgraph_entry:   5.000 us    |  lock();
             dog     9 [000]    10.000004: ftrace:funcgraph_entry:   2.500 us    |  lock();
             cat     7 [000]    10.000005:     sched:sched_wakeup: comm=x pid=3
             cat     7 [000]    10.000006: ftrace:funcgraph_entry:               |    copy() {
             cat     7 [000]    10.000007: ftrace:funcgraph_entry:   0.500 us    |      lock();
             cat     7 [000]    10.000008:  ftrace:funcgraph_exit: + 10.000 us   |    }
             cat     7 [000]    10.000009:  ftrace:funcgraph_exit: + 20.000 us   |  } /* vfs_read = 0x5 */
             dog     8 [001]    10.000010:  ftrace:funcgraph_exit:   4.000 us    |    } /* late */
             dog     8 [001]    10.000011: ftrace:funcgraph_entry:   1.000 us    |    lock();
             dog     8 [001]    10.000012:  ftrace:funcgraph_exit:   9.000 us    |  }
             dog     8 [001]    10.000013: ftrace:funcgraph_entry:               |  unended() {
`
	if got := list(t, name, listing.Options{}, listing.PrinterOptions{}); got != listed {
		t.Errorf("%s\nwant\n%s", got, listed)
	}
	text := list(t, name, listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.Fields}})
	if want := "func=vfs_read depth=0 duration=20000 retval=5"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// TestGraphNameless: an end without a name is of the function that began last at its depth on its CPU, whichever
// task's: else the kernel tells the name. trace-cmd tells none.
func TestGraphNameless(t *testing.T) {
	const text = " 0)    cat-7    |               |  schedule() {\n ------\n 0)    cat-7    =>    dog-8\n ------\n 0)    dog-8    | + 20.000 us   |  }\n" +
		" 0)    dog-8    |               |  vfs_read() {\n 0)    dog-8    |   1.000 us    |    lock();\n 0)    dog-8    |   4.000 us    |  } /* vfs_write */\n 0)    dog-8    | + 30.000 us   |  }\n"
	const report = "cpus=1\n  cat-7 [000] 5.000001: funcgraph_entry:                   |  schedule() {\n  dog-8 [000] 5.000002: funcgraph_exit:       + 20.000 us   |  }\n"
	for text, want := range map[string]string{
		"# tracer: function_graph\n" + text: "[[unknown] 30000 schedule 20000 vfs_read;lock 1000 vfs_write 3000]",
		report:                              "[[unknown] 20000]",
	} {
		if got := fmt.Sprint(folded(t, written(t, text), "ftrace:function_graph", 1, convert.Options{})); got != want {
			t.Errorf("%s\nwant\n%s\nof\n%s", got, want, text)
		}
	}
}

// TestGraphLoss: what a function called cannot be told where events were lost while it ran,
// nor who called it.
func TestGraphLoss(t *testing.T) {
	name := written(t, `# tracer: function_graph
 0)    cat-7      |               |  vfs_read() {
 1)    dog-8      |               |  vfs_write() {
 0)    cat-7      |   1.000 us    |    lock();
CPU:0 [LOST 12 EVENTS]
 0)    cat-7      |   2.000 us    |    lock();
 0)    cat-7      |   9.000 us    |  }
 1)    dog-8      |   3.000 us    |    lock();
 1)    dog-8      |   5.000 us    |  }
`)
	want := "[lock 2000 vfs_read 7000 vfs_read;lock 1000 vfs_write 2000 vfs_write;lock 3000]"
	if got := fmt.Sprint(folded(t, name, "ftrace:function_graph", 1, convert.Options{})); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := warnings(t, name); !strings.Contains(got, "left out 1 span of ftrace:function_graph, whose end may be among what was lost") || !strings.Contains(got, "lost 12 records") {
		t.Errorf("%s", got)
	}
}

// TestGraphTimes: calls without durations last as long as between their begin and end; what
// a CPU did before a line told the task is the task's.
func TestGraphTimes(t *testing.T) {
	name := written(t, `# tracer: function_graph
   10.000001 |   0)  vfs_read() {
   10.000002 |   0)    copy() {
 0)    cat-7       =>    dog-9
   10.000003 |   0)  vfs_write() {
 0)    dog-9       =>    cat-7
   10.000006 |   0)    }
   10.000011 |   0)  }
 0)    cat-7       =>    dog-9
   10.000013 |   0)  }
`)
	want := "[vfs_read 6000 vfs_read;copy 4000 vfs_write 10000]"
	if got := fmt.Sprint(folded(t, name, "ftrace:function_graph", 1, convert.Options{})); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := warnings(t, name); got != "" {
		t.Errorf("warnings %s", got)
	}
}

// TestGraphRelative: the tracers of latency, with the option display-graph, tell the time since
// their begin, which is no duration (Documentation/trace/ftrace.rst). The stack behind is where
// they ended, and not of the function before it.
func TestGraphRelative(t *testing.T) {
	name := written(t, `# tracer: irqsoff
#
# irqsoff latency trace v1.1.5 on 4.20.0-rc6+
#
#   REL TIME      CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS
#      |          |     |    |        ||||      |   |                     |   |   |   |
        0 us |   0)   bash-1507    |  d... |   0.000 us    |  _raw_spin_lock_irqsave();
        0 us |   0)   bash-1507    |  d..1 |   0.378 us    |    do_raw_spin_trylock();
        1 us |   0)   bash-1507    |  d..2 |               |    set_track() {
        2 us |   0)   bash-1507    |  d..2 |               |      save_stack_trace() {
        3 us |   0)   bash-1507    |  d..2 |   0.351 us    |        in_task_stack();
        4 us |   0)   bash-1507    |  d..2 |   1.107 us    |      }
     3750 us |   0)   bash-1507    |  d..1 | ! 516.000 us  |    }
    bash-1507    0d..1 3792us : <stack trace>
 => free_debug_processing
 => __slab_free
`)
	want := "[_raw_spin_lock_irqsave 0 do_raw_spin_trylock 378 set_track 514893 set_track;save_stack_trace 756 set_track;save_stack_trace;in_task_stack 351]"
	if got := fmt.Sprint(folded(t, name, "ftrace:function_graph", 1, convert.Options{})); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := warnings(t, name); got != "" {
		t.Errorf("warnings %s", got)
	}
	text := list(t, name, listing.Options{}, listing.PrinterOptions{})
	for _, want := range []string{
		"bash  1507 [000]     0.000000: ftrace:funcgraph_entry:   0.378 us    |    do_raw_spin_trylock();",
		"bash  1507 [000]     0.003750:  ftrace:funcgraph_exit: ! 516.000 us  |    }",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestGraphTasks: where no column tells the task, what a CPU did before its first switch was of
// the task from which it switched; that of a CPU which never switched is not known, which is no
// exit.
func TestGraphTasks(t *testing.T) {
	name := written(t, `# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
 3)   0.081 us    |  pick_task_fair();
 0)   0.500 us    |  lock();
 3)               |  __schedule() {
 3)   0.268 us    |    enter_lazy_tlb();
 ------------------------------------------
 3)    bash-431    =>    <idle>-0   
 ------------------------------------------

 3)   0.105 us    |  do_idle();
 0)   0.250 us    |  unlock();
 ------------------------------------------
 3)    <idle>-0    =>    cat-7      
 ------------------------------------------

 3)   2.000 us    |  vfs_read();
 ------------------------------------------
 3)    cat-7       =>    bash-431   
 ------------------------------------------

 3)   4.268 us    |  }
`)
	p, err := convert.Open(context.Background(), name, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i := range p.Set.NumSamples() {
		s := p.Set.Sample(i)
		comm, _ := p.Set.Label(s.Labels, "comm")
		pid, _ := p.Set.Label(s.Labels, "pid")
		fn := p.Set.Functions[p.Set.Lines(p.Set.Stack(s.Stack)[0])[0].Function].Name
		got[fn] = fmt.Sprint(comm.Str, " ", pid.Num, " ", s.Values[1])
	}
	want := map[string]string{
		"pick_task_fair": "bash 431 81", "enter_lazy_tlb": "bash 431 268", "__schedule": "bash 431 4000",
		"do_idle": "swapper 0 105", "vfs_read": "cat 7 2000",
		"lock": "[unknown] -1 500", "unlock": "[unknown] -1 250",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := warnings(t, name); got != "2 samples whose task the trace does not tell" {
		t.Errorf("warnings %s", got)
	}
}

// TestGraphOverruns: what the option funcgraph-overrun adds, a line behind the end of a function
// that called others, is no line of an unknown form.
func TestGraphOverruns(t *testing.T) {
	name := written(t, `# tracer: function_graph
 1)               |  vfs_read() {
 1)   0.500 us    |    lock();
 1)   2.500 us    |  }
 (Overruns: 0)
 1)   0.500 us    |  } /* late */
 (Overruns: 12)
`)
	if got := warnings(t, name); strings.Contains(got, "no known form") {
		t.Error(got)
	}
}

// TestReportOfReturns: trace-cmd of 2025 has what functions return, and by options their depth, behind them, and of
// function_graph's retaddr the caller before the brace.
func TestReportOfReturns(t *testing.T) {
	name := written(t, `cpus=1
            sh-144   [000]    33.867467: fgraph_retaddr_entry:                   |  vfs_read(file=0x1) /* <-ksys_read */ {
            sh-144   [000]    33.867469: fgraph_retaddr_entry:   0.300 us   |    rw_verify_area(); (1) /* <-vfs_read */ (ret=0x0)
            sh-144   [000]    33.867470: funcgraph_entry:        0.200 us   |    stat(); (ret=0xfffffffe)
            sh-144   [000]    33.867471: funcgraph_exit:         3.300 us   |  } (0) (ret=0x5)
            sh-144   [000]    33.867472: func_repeats:         vfs_read <-- ksys_read (count: 3  last_ts:    33.867470)
`)
	if got, want := strings.Join(folded(t, name, "ftrace:function_graph", 1, convert.Options{}), ","), "vfs_read 2800,vfs_read;rw_verify_area 300,vfs_read;stat 200"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := strings.Join(folded(t, name, "ftrace:func_repeats", 0, convert.Options{}), ","), "ksys_read;vfs_read 1"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	where, err := expr.Parse("retval == -2 || retval == 5")
	if err != nil {
		t.Fatal(err)
	}
	o := convert.Options{}
	o.Where = where
	if got, want := strings.Join(folded(t, name, "ftrace:function_graph", 1, o), ","), "vfs_read 2800,vfs_read;stat 200"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
