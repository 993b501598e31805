package trace_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/convert/listing/listingtest"
	"kprof/convert/trace"
	"kprof/perfevent/livetest"
)

// written writes an input to a file, and returns its name.
func written(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace.txt")
	livetest.WriteFile(t, name, text)
	return name
}

// folded are the stacks of a column of an event, 0 the number of samples, root first, as
// "frames value", sorted.
func folded(t testing.TB, name, event string, at int, o convert.Options) []string {
	t.Helper()
	p, err := convert.Open(context.Background(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for i := range p.Set.NumSamples() {
		s := p.Set.Sample(i)
		e := &p.Set.Events[s.Event]
		if e.Name != event {
			continue
		}
		var frames []string
		for _, loc := range p.Set.Stack(s.Stack) {
			for _, l := range p.Set.Lines(loc) {
				frames = append(frames, p.Set.Functions[l.Function].Name)
			}
		}
		slices.Reverse(frames)
		sums[strings.Join(frames, ";")] += s.Values[at]
	}
	var lines []string
	for stack, v := range sums {
		lines = append(lines, fmt.Sprint(stack, " ", v))
	}
	slices.Sort(lines)
	return lines
}

// list is what script prints of a file.
func list(t testing.TB, name string, o listing.Options, po listing.PrinterOptions) string {
	t.Helper()
	var b bytes.Buffer
	listingtest.Read(t, name, o, listing.NewPrinter(&b, po))
	return b.String()
}

const eventText = `# tracer: nop
#
# entries-in-buffer/entries-written: 5/9   #P:2
#
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
          my sh-99      [001] d..2.    26.117069: sched_switch: prev_comm=my sh prev_pid=99 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
           cat-98      [000] d..2.    26.117070: kmalloc: ptr=0xffff000000000010 bytes_req=5 call_site=vfs_read+0x1/0x2
          my sh-99      [001] d..2.    26.117071: <stack trace>
 => schedule
 => do_wait
          my sh-99      [001] d..2.    26.117072: <user stack trace>
 =>  <0000000000460a63>
CPU:0 [LOST 3 EVENTS]
          <idle>-0      [001] d..2.    26.119069: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my sh next_pid=99 next_prio=120
           cat-98      [000] ....    26.120000: vfs_read <-ksys_read
           cat-98      [000] ....    26.120001: kmalloc: ptr=0x20 bytes_req=7 call_site=other
`

// TestText: events of text are listed as they stand, with their stacks, fields and losses.
func TestText(t *testing.T) {
	name := written(t, eventText)
	const want = `           my sh    99 [001]    26.117069: sched:sched_switch: prev_comm=my sh prev_pid=99 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
	schedule
	do_wait
	0x460a63

             cat    98 [000]    26.117070:       kmem:kmalloc: ptr=0xffff000000000010 bytes_req=5 call_site=vfs_read+0x1/0x2
CPU:0 [LOST 3 EVENTS]
         swapper     0 [001]    26.119069: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my sh next_pid=99 next_prio=120

             cat    98 [000]    26.120000:    ftrace:function: vfs_read <-ksys_read
	vfs_read
	ksys_read

             cat    98 [000]    26.120001:       kmem:kmalloc: ptr=0x20 bytes_req=7 call_site=other
`
	blanks := strings.NewReplacer("  ", "")
	if got := list(t, name, listing.Options{Stacks: true}, listing.PrinterOptions{Stacks: true}); blanks.Replace(got) != blanks.Replace(want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	whole := written(t, strings.NewReplacer("CPU:0 [LOST 3 EVENTS]\n", "", ": 5/9 ", ": 5/5 ").Replace(eventText))
	if got := folded(t, whole, "off-cpu", 1, convert.Options{Selection: convert.Selection{OffCPU: true}}); fmt.Sprint(got) != "[0x460a63;do_wait;schedule 2000000]" {
		t.Errorf("off the CPU: %v", got)
	}
	p, err := convert.Open(context.Background(), name, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Stats.Lost != 7 {
		t.Errorf("%d lost, want 4 by the head and 3", p.Stats.Lost)
	}
	for _, l := range p.Set.Locations {
		if l.Addr != 0 || l.Mapping >= 0 {
			t.Errorf("an address %x that nothing has", l.Addr)
		}
	}
}

const graphText = `# tracer: function_graph
   10.000001 |   0)    cat-7      |               |  vfs_read(file=0x1) {
   10.000002 |   0)    cat-7      |   1.000 us    |    lock();
   10.000003 |   1)    dog-8      |   5.000 us    |  lock();
 ------------------------------------------
 0)    cat-7       =>    dog-9
 ------------------------------------------

   10.000004 |   0)    dog-9      |   2.500 us    |  lock();
 ------------------------------------------
 0)    dog-9       =>    cat-7
 ------------------------------------------

   10.000005 |   0)    cat-7      |               |    /* sched_wakeup: comm=x pid=3 */
   10.000006 |   0)    cat-7      |               |    copy() {
   10.000007 |   0)    cat-7      |   0.500 us    |      lock();
   10.000008 |   0)    cat-7      | + 10.000 us   |    }
   10.000009 |   0)    cat-7      | + 20.000 us   |  } /* vfs_read = 0x5 */
   10.000010 |   1)    dog-8      |   4.000 us    |    } /* late */
   10.000011 |   1)    dog-8      |   1.000 us    |    lock();
   10.000012 |   1)    dog-8      |   9.000 us    |  }
   10.000013 |   1)    dog-8      |               |  unended() {
`

// warnings are those of a profile, a line each.
func warnings(t testing.TB, name string) string {
	t.Helper()
	p, err := convert.Open(context.Background(), name, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, w := range p.Warnings {
		lines = append(lines, w.String())
	}
	return strings.Join(lines, "\n")
}

// TestSystems: events whose names begin like those of another system are of their own
// (include/trace/events/skb.h, arch/x86/kvm/mmu/mmutrace.h, arch/x86/include/asm/trace/irq_vectors.h).
func TestSystems(t *testing.T) {
	name := written(t, `# tracer: nop
  sh-99  [000] .....  1.000001: kfree_skb: skbaddr=00000000dc2cb5d7 protocol=0 location=f+0x1/0x2 reason: NOT_SPECIFIED
  sh-99  [000] .....  1.000002: kfree: call_site=f+0x1/0x2 ptr=00000000dc2cb5d7
  sh-99  [000] .....  1.000003: kvm_mmu_set_spte: gfn 1 spte 2
  sh-99  [000] .....  1.000004: kvm_exit: vcpu 0
  sh-99  [000] .....  1.000005: thermal_apic_entry: vector=250
`)
	text := list(t, name, listing.Options{}, listing.PrinterOptions{})
	for _, want := range []string{" skb:kfree_skb:", " kmem:kfree:", " kvmmmu:kvm_mmu_set_spte:", " kvm:kvm_exit:", " irq_vectors:thermal_apic_entry:"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestUnread: lines that are not a trace's are counted and told.
func TestUnread(t *testing.T) {
	name := written(t, "# tracer: nop\n sh-1 [000] 1.0: a: x=1\nnothing of a trace\n sh-1 [000] 2.0: a: x=2\nnor this\n"+strings.Repeat("long ", 30000)+"\n sh-1 [000] 3.0: a: x=3\n")
	if got, want := warnings(t, name), "left out 3 lines of no known form, the first is line 3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := strings.Count(list(t, name, listing.Options{}, listing.PrinterOptions{}), "\n"); n != 3 {
		t.Errorf("%d events", n)
	}
}

// TestSlices: what Android's programs mark are slices by thread, with what they took
// TestTextTicks: text of a clock that does not count ns says so by times without a point, and
// what is made of it does.
func TestTextTicks(t *testing.T) {
	for at, want := range map[string]bool{"247290000000000": true, "17284.993652": false} {
		p, err := convert.Open(t.Context(), written(t, "# tracer: nop\n bash-1977  [000] d..2. "+at+": sched_wakeup: comm=cat pid=7\n"), convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		told := slices.ContainsFunc(p.Warnings, func(w convert.Warning) bool { return w.Kind == convert.TicksForTimes })
		kept := strings.Contains(strings.Join(p.Set.Comments, "\n"), "times are ticks of a clock, not ns")
		if told != want || kept != want {
			t.Errorf("%s: %+v, %q", at, p.Warnings, p.Set.Comments)
		}
	}
}

// themselves; other marks stay events.
func TestSlices(t *testing.T) {
	name := written(t, `# tracer: nop
   ui-17    (   17) [001] ...1    12.000000: tracing_mark_write: E|17
   ui-17    (   17) [001] ...1    12.000001: tracing_mark_write: B|17|do frame
   ui-17    (   17) [001] ...1    12.000003: tracing_mark_write: B|17|inflate
   rt-18    (   17) [000] ...1    12.000004: tracing_mark_write: B|17|draw
   ui-17    (   17) [002] ...1    12.000008: tracing_mark_write: E|17
   rt-18    (   17) [000] ...1    12.000009: tracing_mark_write: C|17|buffers|2
   ui-17    (   17) [002] ...1    12.000011: tracing_mark_write: E
   rt-18    (   17) [000] ...1    12.000014: tracing_mark_write: B|17|lost
`)
	want := "[[unknown] 0 do_frame 5000 do_frame;inflate 5000]"
	if got := fmt.Sprint(folded(t, name, "atrace:slice", 1, convert.Options{})); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := fmt.Sprint(folded(t, name, "ftrace:tracing_mark_write", 0, convert.Options{})); got != "[ 1]" {
		t.Errorf("marks %s", got)
	}
	if got, want := warnings(t, name), "left out 2 spans of atrace:slice, whose end was not seen\n1 end of atrace:slice without a start, which was before the recording or not seen"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if n := strings.Count(list(t, name, listing.Options{}, listing.PrinterOptions{}), "tracing_mark_write: "); n != 8 {
		t.Errorf("%d marks", n)
	}
	for _, by := range []string{"0", "print: tracing_mark_write", "print:                0xffff00000819ff24s", "print"} { // of Linux 3.0, trace-cmd report, and hitrace
		name := written(t, "# tracer: nop\n  ui-17  [001] 12.000001: "+by+": B|17|draw\n  ui-17  [001] 12.000004: "+by+": E\n")
		if got := fmt.Sprint(folded(t, name, "atrace:slice", 1, convert.Options{})); got != "[draw 3000]" {
			t.Errorf("%s: %s", by, got)
		}
	}
}

// TestLog: what a kernel that crashed wrote of the trace into its log is read, and nothing
// else of the log.
func TestLog(t *testing.T) {
	dump := ` Dumping ftrace buffer:
 ---------------------------------
   my sh-99      1dNs2. 26117069us : sched_switch: prev_comm=my sh prev_pid=99 prev_state=S ==> next_comm=x next_pid=0
 CPU:1 [LOST 2 EVENTS]
    cat-98      0d..1. 26117070us+: rwmmio_read: a+0x1/0x2 -> b+0x3/0x4 width=32 addr=0xffffffc00802000c
    cat-98      0d..1. 26117070us : <stack trace>
  => b
  => a
 ---------------------------------
`
	events := `           my sh    99 [001]    26.117069:       sched:sched_switch: prev_comm=my sh prev_pid=99 prev_state=S ==> next_comm=x next_pid=0
CPU:1 [LOST 2 EVENTS]
             cat    98 [000]    26.117070:       rwmmio:rwmmio_read: a+0x1/0x2 -> b+0x3/0x4 width=32 addr=0xffffffc00802000c
	b
	a

`
	for _, stamp := range []string{"[   30.000001]", "[   30.000001][  T123]", "<0>[   30.000001]", "Nov 11 11:11:11 host kernel:[   30.000001]", "\x1b[1m[   30.000001]",
		"2025-11-26T13:52:01.123456+00:00 host kernel: [   30.000001]", "Wed 2025-11-26 13:52:01 UTC host kernel:", "[Wed Nov 26 13:52:01 2025]", "[  +0.000012]"} {
		text := strings.TrimPrefix(stamp, "\x1b[1m") + " Linux version 6.1.0\n" + stamp + " sysrq: Trigger a crash\n" + stamp + " Kernel panic - not syncing\n"
		for line := range strings.Lines(dump) {
			text += stamp + strings.TrimSuffix(line, "\n") + "\r\n"
		}
		text += stamp + "  sh-1 [000] 1.5: not: of the dump\n" + stamp + " ---[ end Kernel panic ]---\n"
		name := written(t, text)
		if got := strings.ReplaceAll(list(t, name, listing.Options{Stacks: true}, listing.PrinterOptions{Stacks: true}), "next_pid=0\n\n", "next_pid=0\n"); got != events {
			t.Errorf("%s\n%s\nwant\n%s", stamp, got, events)
		}
		if got := warnings(t, name); got != "lost 2 records while recording" {
			t.Errorf("%s: warnings %s", stamp, got)
		}
	}
}

// TestLogBegun: of a trace that was larger than the ring of the log, what is left is read, in whatever
// lines it begins; a line or two that look like it are none.
func TestLogBegun(t *testing.T) {
	const line = "[   30.%06d] %s\n"
	dump := []string{
		"  => of_an_event_that_is_gone", "usb 1-1: new high-speed USB device", "a table | of  | someone",
		"    cat-98      0d..1. 26117070us+: rwmmio_read: a+0x1/0x2 width=32 addr=0xffffffc00802000c",
		"    cat-98      0d..1. 26117071us : vfs_read <-ksys_read", " 1)   0.541 us    |  foo();",
		"rcu: INFO: rcu_preempt self-detected stall on CPU", "   <idle>-0      1dNs2. 26117072us : tick_stop: success=1",
		"---------------------------------", "    cat-98      0d..1. 26117073us : of: no dump", "Kernel Offset: disabled",
	}
	log := func(lines []string) (s string) {
		for i, l := range lines {
			s += fmt.Sprintf(line, i, l)
		}
		return s
	}
	name := written(t, log(dump))
	got := strings.Join(strings.Fields(list(t, name, listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.Trace}})), " ")
	if want := "a+0x1/0x2 width=32 addr=0xffffffc00802000c vfs_read <-ksys_read 0.541 us | foo(); success=1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := warnings(t, name); !strings.HasPrefix(got, "left out 1 line of no known form, the first is line 7\n") {
		t.Errorf("warnings %s", got)
	}
	long := dump[4] + strings.Repeat("x", 1<<13) // longer than what the kernel prints at once
	for _, lines := range [][]string{dump[:5], dump[8:], {long, long, long, long}, append(dump[6:8:8], "", "", "", "", "")} {
		text := log(lines)
		if has, err := trace.HasText(strings.NewReader(text), int64(len(text)), trace.Log); has || err != nil {
			t.Errorf("%v %v of\n%s", has, err, text)
		}
	}
}

var (
	graphForm = regexp.MustCompile(`^(?:\s*[\d.]+ \|)?\s*(\d+)\)\s*(?:(\S+-\d+)\s*\|)?(?:\s+[a-zA-Z0-9.]{4,8} \|)?\s*(?:[-+!#*@$]? ?([\d.]+) us)?\s*\|  ( *)(?:}|([\w.]+)(?: \[\w+\])?\([^)]*\)(;| \{))`)
	eventForm = regexp.MustCompile(`: sched_\w+: |/\* sched_`)
)

// TestRealTexts compares the calls in real texts, by their path, with what is found here by
// looking back from each end to its begin; and the number of their lines.
func TestRealTexts(t *testing.T) {
	names := livetest.Traces(t, "ftrace-text-*.txtar")
	type step struct {
		task, name string
		depth      int
		took       int64
		ends       bool
	}
	for _, n := range names {
		a, err := txtar.ParseFile(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			t.Run(filepath.Base(n)+":"+f.Name, func(t *testing.T) {
				name := written(t, string(f.Data))
				var steps []step
				events := 0
				on := map[string]string{} // tasks, by CPU
				for line := range strings.Lines(string(f.Data)) {
					if eventForm.MatchString(line) {
						events++
					}
					if m := regexp.MustCompile(`^ (\d+)\) .* => +(\S+-\d+)`).FindStringSubmatch(line); m != nil {
						on[m[1]] = m[2]
					}
					m := graphForm.FindStringSubmatch(line)
					if m == nil {
						continue
					}
					task := m[2]
					if task == "" {
						task = on[m[1]]
					}
					if task == "" || strings.HasPrefix(task, "<idle>") {
						task = "cpu" + m[1]
					}
					took, _ := strconv.ParseInt(strings.Replace(m[3], ".", "", 1), 10, 64)
					steps = append(steps, step{task, m[5], len(m[4]) / 2, took, m[6] != " {"})
				}
				counts, selves := map[string]int64{}, map[string]int64{}
				calls := 0
				for i, s := range steps {
					if !s.ends {
						continue
					}
					calls++
					self, depth, path := s.took, s.depth, s.name
					if path != "" {
						depth-- // the next one outwards
					}
					inside := path == ""
					for j := i - 1; j >= 0 && depth >= 0; j-- {
						b := steps[j]
						switch {
						case b.task != s.task:
						case inside && b.ends && b.depth == s.depth+1:
							self -= b.took
						case b.name != "" && !b.ends && b.depth == depth:
							path, inside = strings.TrimSuffix(b.name+";"+path, ";"), false
							depth--
						}
					}
					if inside {
						path = "[unknown]"
					}
					counts[path]++
					selves[path] += self
				}
				for column, want := range []map[string]int64{counts, selves} {
					var lines []string
					for path, v := range want {
						lines = append(lines, fmt.Sprint(path, " ", v))
					}
					slices.Sort(lines)
					if calls == 0 {
						continue
					}
					if got := folded(t, name, "ftrace:function_graph", column, convert.Options{}); !slices.Equal(got, lines) {
						t.Errorf("column %d: %q\nwant %q", column, got, lines)
					}
				}
				if got := strings.Count(list(t, name, listing.Options{Options: convert.Options{Unnamed: true}}, listing.PrinterOptions{}), "\n"); got != events+len(steps) {
					t.Errorf("%d events, want %d and %d of function_graph", got, events, len(steps))
				}
				t.Logf("%d lines of function_graph, %d calls, %d other events", len(steps), calls, events)
			})
		}
	}
}

// FuzzOpenText looks for what panics, and for records that cannot be decoded.
func FuzzOpenText(f *testing.F) {
	f.Add([]byte(eventText), byte(0), false)
	f.Add([]byte(graphText), byte(0), false)
	f.Add([]byte(graphText), byte(0), true)
	f.Add([]byte("[    1.000000] Dumping ftrace buffer:\n[    1.000000] -------------------------\n[    1.000000] sh-9 0d..1. 26117070us+: a: x=1\n"), byte(1), false)
	f.Add([]byte("<html># tracer: nop\n\\\n sh-1 [000] 1.0: a: x=1\\n\\\n\";"), byte(2), false)
	f.Fuzz(func(t *testing.T, b []byte, form byte, lines bool) {
		o := trace.TextOptions{Form: trace.TextForm(form % 3), Lines: lines}
		r, err := trace.OpenText(context.Background(), bytes.NewReader(b), int64(len(b)), o)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		decode(t, r)
	})
}

// TestOrder: lines of several CPUs are in order, so that sorting them takes no more than a
// round's memory.
func TestOrder(t *testing.T) {
	var b strings.Builder
	b.WriteString("# tracer: nop\n")
	const n = 100000
	for i := range n {
		fmt.Fprintf(&b, " sh-%d [%03d] ..... %d.%06d: tick: n=%d\n", 10+i%3, i%3, i/1e6, i%1e6, i)
	}
	rec := livetest.Open(t, convert.OpenRecordingFile, written(t, b.String()))
	var out bytes.Buffer
	p := listing.NewPrinter(&out, listing.PrinterOptions{})
	res, err := listing.Read(context.Background(), rec, listing.Options{Memory: 4 << 20}, p)
	if err != nil || p.Close() != nil {
		t.Fatal(err)
	}
	if len(res.Warnings) > 0 || bytes.Count(out.Bytes(), []byte("\n")) != n {
		t.Errorf("%d lines, warnings %v", bytes.Count(out.Bytes(), []byte("\n")), res.Warnings)
	}
}

// TestReportOfInstance: trace-cmd report tells the instance of an event, behind a loss before that.
func TestReportOfInstance(t *testing.T) {
	for what, text := range map[string]string{
		"ordinary": `cpus=2
foo:              sh-99    [001] 12.000001: tick:                 count=1
foo: CPU:1 [366 EVENTS DROPPED]
              sh-99    [001] 12.000002: tick:                 count=2
                  sh-99    [001] 12.000003: tick:                 count=3
`,
		"latency": `cpus=2
foo:       sh-99      1d..2. 12.000001: tick:                 count=1
foo: CPU:1 [366 EVENTS DROPPED]
      sh-99      1d..2. 12.000002: tick:                 count=2
           sh-99      1d..2. 12.000003: tick:                 count=3
`,
	} {
		const want = `sh 99 [001] 12.000001: trace:tick@foo: count=1
CPU:1 [LOST 366 EVENTS]
sh 99 [001] 12.000002: trace:tick@foo: count=2
sh 99 [001] 12.000003: trace:tick: count=3
`
		if got := stacked(t, text); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
		}
	}
}
