package trace_test

import (
	"strings"
	"testing"

	"kprof/convert/listing"
)

// TestTracerEvents: what tracers tell without the name of an event has the name and the fields that it has in
// a trace.dat; what trace_printk() writes alike is a message.
func TestTracerEvents(t *testing.T) {
	name := written(t, `# tracer: timerlat
          <idle>-0       [000] d.h1    54.029328: #1     context    irq timer_latency       932 ns
           <...>-867     [000] ....    54.029339: #1     context thread timer_latency     11700 ns
           <...>-1729    [001] d...    54.030000: #2     inner/outer(us):   16/9     ts:1581527494.089008092 count:5 nmi-total:4 nmi-count:1
           <...>-859     [000] ....    54.040000: 1000000        190  99.98100       9     18      0   1007     19      1
          <idle>-0       [003] dNs7    54.050000:      0:120:R   + [003]  2389: 94:R sleep
          <idle>-0       [003] d..3    54.050005:      0:120:R ==> [003]  2389: 94:R a b
           <...>-867     [000] ....    54.055000:   2389: 94:D ==> [003]     0:120:R swapper/3
           <...>-867     [000] ....    54.060000: #1 of 7
           <...>-867     [000] ....    54.061000: # 2a buf: 01 02 ff
              dd-209     [000] d..1.   54.062000: 259,0    Q  RA 0 + 256 [dd]
          <idle>-0       [000] d.H2.   54.062001: 259,0    C  RA 0 + 256 [-5]
              dd-209     [000] d..1.   54.062002: 259,0    U   N [dd] 1
              dd-209     [000] d..1.   54.062003:   8,0    A   W 123 + 8 <- (8,1) 60
              dd-209     [000] d..1.   54.062004:   8,0    /a/b   X  WS 100 / 108 [my dd]
              dd-209     [000] d..1.   54.062005: 12 of 13
              dd-209     [000] d..1.   54.063000: [  ok  ] vfs_read:read_write.c:450
              dd-209     [000] d..1.   54.063001: [ MISS ] vfs_read:read_write.c:451
     osnoise/8-961       [008] d.h.    54.857532: irq_noise: local_timer:236 start 54.857529929 duration 1845 ns
     osnoise/8-961       [008] d.h.    54.857533: softirq_noise:    SCHED:7 start 54.857529930 duration 1846 ns
     osnoise/8-961       [008] d.h.    54.857534: nmi_noise: start 54.857529931 duration 1847 ns
   migration/8-54        [008] d...    54.858413: thread_noise: migration/8:54 start 0.858409300 duration 3068 ns
     osnoise/8-961       [008] ....    54.858414: sample_threshold: start 54.858404555 duration 8812 ns interference 2
`)
	text := list(t, name, listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.EventName | listing.Fields}})
	for _, want := range []string{
		"ftrace:timerlat: seqnum=1 context=0 timer_latency=932 ", "context=1 timer_latency=11700 ",
		"ftrace:hwlat: seqnum=2 duration=16 outer_duration=9 tv_sec=1581527494 tv_nsec=89008092 count=5 nmi_total_ts=4 nmi_count=1 ",
		"ftrace:osnoise: runtime=1000000 noise=190 max_sample=9 hw_count=18 nmi_count=0 irq_count=1007 softirq_count=19 thread_count=1 ",
		"ftrace:wakeup: prev_pid=0 prev_prio=120 prev_state=0 next_cpu=3 next_pid=2389 next_prio=94 next_state=0 next_comm=sleep ",
		"ftrace:context_switch: prev_pid=0 prev_prio=120 prev_state=0 next_cpu=3 next_pid=2389 next_prio=94 next_state=0 next_comm=a b ",
		"ftrace:context_switch: prev_pid=2389 prev_prio=94 prev_state=2 next_cpu=3 next_pid=0 next_prio=120 next_state=0 next_comm=swapper/3 ",
		"ftrace:print: text=#1 of 7\n", "ftrace:print: text=12 of 13\n",
		"ftrace:blktrace: dev=271581184 action=Q rwbs=RA sector=0 nr_sector=256 comm=dd error=0 ",
		"ftrace:blktrace: dev=271581184 action=C rwbs=RA sector=0 nr_sector=256 comm= error=-5 ",
		"ftrace:blktrace: dev=271581184 action=U rwbs=N sector=0 nr_sector=0 comm=dd error=0 ",
		"ftrace:blktrace: dev=8388608 action=A rwbs=W sector=123 nr_sector=8 comm= error=0 ",
		"ftrace:blktrace: dev=8388608 action=X rwbs=WS sector=100 nr_sector=0 comm=my dd error=0 ",
		"ftrace:branch: correct=1 func=vfs_read file=read_write.c line=450 ", "ftrace:branch: correct=0 func=vfs_read file=read_write.c line=451 ",
		"ftrace:raw_data: id=0x2a buf=01 02 ff ",
		"osnoise:irq_noise: desc=local_timer vector=236 start=54857529929 duration=1845 ",
		"osnoise:softirq_noise: desc=SCHED vector=7 start=54857529930 duration=1846 ",
		"osnoise:nmi_noise: start=54857529931 duration=1847 ",
		"osnoise:thread_noise: comm=migration/8 pid=54 start=858409300 duration=3068 ",
		"osnoise:sample_threshold: start=54858404555 duration=8812 interference=2 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestTracerEventsOfReport: the same events in what trace-cmd report prints, by their print fmt.
func TestTracerEventsOfReport(t *testing.T) {
	name := written(t, strings.NewReplacer(`\t`, "\t").Replace(`cpus=4
          <idle>-0     [000]    54.029328: timerlat:             seq:1\tcontext:0\ttimer_latency:932
              hw-1729  [001]    54.030000: hwlat:                cnt:2\tts:1581527494.0089008092\tinner:16\touter:9\tcount:5\tnmi-ts:4\tnmi-count:1
              os-859   [000]    54.040000: osnoise:              noise:190\tmax_sample:9\thw:18\tnmi:0\tirq:1007\tsoftirq:19\tthread:1
          <idle>-0     [003]    54.050000: wakeup:               0:120:0  ==+ 2389:94:0 [003]
          <idle>-0     [003]    54.050005: context_switch:       0:120:0  ==> 2389:94:0 [003]
              dd-209   [000]    54.063000: branch:               450:vfs_read:read_write.c (0)
`))
	text := list(t, name, listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.EventName | listing.Fields}})
	for _, want := range []string{
		"ftrace:timerlat: seqnum=1 context=0 timer_latency=932 ",
		"ftrace:hwlat: seqnum=2 tv_sec=1581527494 tv_nsec=89008092 duration=16 outer_duration=9 count=5 nmi_total_ts=4 nmi_count=1 ",
		"ftrace:osnoise: noise=190 max_sample=9 hw_count=18 nmi_count=0 irq_count=1007 softirq_count=19 thread_count=1 ",
		"ftrace:wakeup: prev_pid=0 prev_prio=120 prev_state=0 next_pid=2389 next_prio=94 next_state=0 next_cpu=3 ",
		"ftrace:context_switch: prev_pid=0 prev_prio=120 prev_state=0 next_pid=2389 next_prio=94 next_state=0 next_cpu=3 ",
		"ftrace:branch: line=450 func=vfs_read file=read_write.c correct=0 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
