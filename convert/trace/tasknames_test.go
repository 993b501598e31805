package trace_test

import (
	"strings"
	"testing"

	"kprof/convert/listing"
	"kprof/perfevent/tracetest"
)

// TestNamesOfText: events of the scheduler name tasks whose names the kernel did not keep, also in
// lines before them, and where the tracer cuts names; the name in a line is better than theirs.
func TestNamesOfText(t *testing.T) {
	const text = `# tracer: nop
           <...>-17      [001] ...1    12.000001: kmalloc: ptr=0x10
           <...>-19      [000] ...1    12.000002: kmalloc: ptr=0x20
           <...>-21      [000] ...1    12.000003: kmalloc: ptr=0x30
FILLER
          <idle>-0       [001] d..2    12.000004: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my ui next_pid=17 next_prio=120
           <...>-17      [001] d..3    12.000005: sched_wakeup: comm=kworker/u8:3-events pid=23 prio=120 target_cpu=001
           <...>-17      [001] d..3    12.000006: sched_switch: prev_comm=<...> prev_pid=19 prev_prio=120 prev_state=S ==> next_comm=other next_pid=18 next_prio=120
         renamed-18      [001] ...1    12.000007: kmalloc: ptr=0x40
         kworker-23      [000] ...1    12.000008: kmalloc: ptr=0x50
           <...>-18      [001] ...1    12.000009: sched_switch: prev_comm=other prev_pid=18 prev_prio=120 prev_state=S ==> next_comm=renamed next_pid=17 next_prio=120
           <...>-17      [001] ...1    12.000010: kmalloc: ptr=0x60
`
	// More than is put in order at once.
	filler := strings.Repeat("             cat-98      [000] ...1    12.000004: kmalloc: ptr=0x1\n", 20_000)
	name := written(t, strings.Replace(text, "FILLER\n", filler, 1))
	var got []string
	for line := range strings.Lines(list(t, name, listing.Options{}, listing.PrinterOptions{})) {
		task, _, _ := strings.Cut(line, " [")
		if task = strings.Join(strings.Fields(task), " "); task != "cat 98" {
			got = append(got, task)
		}
	}
	want := "renamed 17,:19 19,:21 21,swapper 0,renamed 17,renamed 17,renamed 18,kworker/u8:3-events 23,renamed 18,renamed 17"
	if s := strings.Join(got, ","); s != want {
		t.Errorf("%s\nwant\n%s", s, want)
	}
}

// TestNamesOfDat: the same of a trace.dat, in which the names that the kernel kept come first.
func TestNamesOfDat(t *testing.T) {
	for _, long := range []int{4, 8} {
		m := tracetest.Machine{Long: long, Page: 4096}
		d := file(m, 7, "none")
		d.Systems = append(d.Systems, tracetest.System{Name: "sched", Formats: []string{tracetest.Switch}})
		d.Cmdlines = "0 <idle>\n7 worker one\n9 <...>\n"
		named := func(prev, next int, names ...string) []byte {
			b := m.Switch(prev, 1, next)
			for i, at := range []int{8, 40} {
				copy(b[at:at+16], names[i]+"\x00")
			}
			return b
		}
		d.Buffers = []tracetest.Instance{{CPUs: [][][]byte{
			{m.Sub(30, 0, m.Event(0, named(7, 9, "not it", "latest")))},
			{m.Sub(10, 0, m.Event(0, m.Tick(9, 1)), m.Event(5, named(9, 0, "early", "swapper/1")), m.Event(1, named(0, 11, "swapper/1", "<...>")), m.Event(1, named(12, 9, "last\x00and", "renamed")))},
		}}}
		got, err := records(t, open(t, d.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(got) {
			if name, ok := strings.CutPrefix(line, "comm "); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
		if s := strings.Join(names, ","); s != "0 <idle>,7 worker one,9 latest,12 last" {
			t.Errorf("%d bits: %s", 8*long, s)
		}
	}
}
