package trace_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/trace"
	"kprof/perfevent/spanrule"
)

// TestTextLate: which rings begin late, as the lines of a text tell.
func TestTextLate(t *testing.T) {
	line := func(cpu, time int) string {
		return fmt.Sprintf("              sh-%d       [%03d] d..2.     0.%06d: sched_wakeup: comm=sh pid=7 prio=120 target_cpu=000\n", 100+cpu, cpu, time)
	}
	many := func(cpu, from, n int) (s string) {
		for i := range n {
			s += line(cpu, from+i)
		}
		return s
	}
	const head = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 200/900   #P:4\n#\n"
	for name, c := range map[string]struct {
		text string
		want map[int32]uint64
	}{
		"nothing lost": {line(0, 10) + line(1, 20), nil},
		"overwritten":  {head + line(0, 10) + "##### CPU 1 buffer started ####\n" + line(1, 20), map[int32]uint64{1: 20_000}},
		"noannotate":   {head + line(0, 10) + line(1, 20), map[int32]uint64{1: 20_000}},
		// CPU 2 had little to do: its ring is not full.
		"a quiet CPU": {head + line(0, 10) + "##### CPU 1 buffer started ####\n" + many(1, 20, 100) + "##### CPU 2 buffer started ####\n" + line(2, 500),
			map[int32]uint64{1: 20_000}},
		// As trace_pipe, a kernel that crashes, and trace-cmd report tell it.
		"lost":             {"CPU:0 [LOST 5 EVENTS]\n" + line(0, 10) + "CPU:2 [LOST 7 EVENTS]\n" + line(2, 30) + many(0, 40, 100), map[int32]uint64{2: 30_000}},
		"lost in between":  {line(0, 10) + line(2, 15) + "CPU:2 [LOST 7 EVENTS]\n" + line(2, 30), nil},
		"a number too big": {line(0, 10) + "##### CPU 99999999 buffer started ####\n" + line(1, 20), nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := trace.OpenText(context.Background(), strings.NewReader(c.text), int64(len(c.text)), trace.TextOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got map[int32]uint64
			for _, l := range r.Late() {
				got = l.From
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("late are %v, want %v", got, c.want)
			}
		})
	}
}

// TestTextLossOfOneCPU: what a CPU lost leaves out no times of what happens on another one alone.
func TestTextLossOfOneCPU(t *testing.T) {
	const lines = `# tracer: nop
  sh-99  [000] d.h..  1.000001: irq_handler_entry: irq=1 name=a
  sh-98  [001] d.h..  1.000002: irq_handler_entry: irq=2 name=b
%s  sh-98  [001] d.h..  1.000004: irq_handler_exit: irq=2 ret=handled
  sh-99  [000] d.h..  1.000006: irq_handler_exit: irq=1 ret=handled
`
	for loss, want := range map[string]string{"": " 7000", "CPU:1 [LOST 7 EVENTS]\n": " 5000", "CPU:3 [LOST 7 EVENTS]\n": " 7000"} {
		o := convert.Options{}
		o.Spans = []*spanrule.Rule{rule(t, "span:irq")}
		if got := folded(t, written(t, fmt.Sprintf(lines, loss)), "span:irq", 3, o); len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("%q: %q, want %q", loss, got, want)
		}
	}
}

// TestOverwrittenInLatencyFormat: the head of the latency format tells how many events there were.
func TestOverwrittenInLatencyFormat(t *testing.T) {
	const head = "# tracer: function\n#\n# function latency trace v1.1.5 on 6.12.1\n# ---------\n# latency: 0 us, #%s, CPU#0 | (M:desktop VP:0, KP:0, SP:0 HP:0 #P:2)\n"
	for counts, want := range map[string]string{"1/10": "lost 9 records while recording", "1/1": ""} {
		name := written(t, fmt.Sprintf(head, counts)+"    bash-7         0d..1.    4us : vfs_read <-ksys_read\n")
		if got := warnings(t, name); got != want {
			t.Errorf("%s: %q, want %q", counts, got, want)
		}
	}
}
