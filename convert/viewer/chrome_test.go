package viewer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
)

// chromeText writes a line for each function that was entered, indented by those
// it was entered from, with the times of both ends in ms. It fails unless the
// events of each thread nest and are in the order of time.
func chromeText(t *testing.T, b []byte) string {
	type event struct {
		Ph, S, Name, Cat string
		PID, TID         int
		TS               float64
		Args             map[string]any
	}
	var f struct {
		DisplayTimeUnit string
		OtherData       map[string]string
		TraceEvents     []event
	}
	decode(t, b, &f)
	type thread struct {
		lines []string
		open  []int
		last  float64
	}
	threads := map[string]*thread{}
	var order []string
	for _, e := range f.TraceEvents {
		id := fmt.Sprintf("%d/%d", e.PID, e.TID)
		k := threads[id]
		if k == nil {
			k = &thread{}
			threads[id] = k
			order = append(order, id)
		}
		if e.Ph != "M" && e.TS < k.last {
			t.Errorf("%+v comes after %v", e, k.last)
		}
		k.last = e.TS
		at := e.TS / 1000
		switch e.Ph {
		case "M":
			k.lines = append(k.lines, fmt.Sprint(e.Name, " ", e.Args["name"]))
		case "i":
			k.lines = append(k.lines, fmt.Sprintf("%s %s (%s) %v: %v", e.S, e.Name, e.Cat, at, e.Args))
		case "B":
			line := fmt.Sprintf("%s%s (%s) %v", strings.Repeat("  ", len(k.open)), e.Name, e.Cat, at)
			k.open = append(k.open, len(k.lines))
			k.lines = append(k.lines, line)
		case "E":
			n := len(k.open) - 1
			line := &k.lines[k.open[n]]
			if !strings.HasPrefix(strings.TrimLeft(*line, " "), e.Name+" (") {
				t.Errorf("%q ends with %s", *line, e.Name)
			}
			*line += fmt.Sprintf("-%v", at)
			k.open = k.open[:n]
		default:
			t.Errorf("an event %+v", e)
		}
	}
	var w strings.Builder
	for _, id := range order {
		if n := len(threads[id].open); n > 0 {
			t.Errorf("%s: %d functions do not end", id, n)
		}
		for _, l := range threads[id].lines {
			fmt.Fprintf(&w, "%s: %s\n", id, strings.ReplaceAll(l, oddShown, "ODD"))
		}
	}
	return w.String()
}

func TestChrome(t *testing.T) {
	livetest.Table(t, func(timed bool) string {
		return "\n" + chromeText(t, export(t, Chrome, exportSet(timed), exportOptions))
	}, map[bool]string{true: `
7/7: thread_name app
7/7: process_name app
7/7: main (User) 0-4
7/7:   work (User) 0-2
7/7:   sys_read (Kernel) 2-3
7/7:   work (User) 3-4
7/7:     work (User) 3-4
7/7: main (User) 50-51
7/8: thread_name worker
7/8: ODD (JIT) 0.5-2.5
9/9: thread_name idle
9/9: process_name idle
9/9: [unknown] (Other) 2.5-3.5
`, false: `
7/7: thread_name app
7/7: process_name app
7/7: main (User) 0-5
7/7:   work (User) 1-4
7/7:     work (User) 3-4
7/7:   sys_read (Kernel) 4-5
7/8: thread_name worker
7/8: ODD (JIT) 0-2
9/9: thread_name idle
9/9: process_name idle
9/9: [unknown] (Other) 0-1
`})
}

// TestChromeInstants: samples of what has no length are instants, with their stacks.
func TestChromeInstants(t *testing.T) {
	s := exportSet(true)
	s.Events[1].Name, s.Events[1].Instants = "kmem:kmalloc", true
	got := chromeText(t, export(t, Chrome, s, exportOptions))
	want := `
7/7: thread_name app
7/7: process_name app
7/7: t kmem:kmalloc (kmem) 0: map[cpu:1e+06 stack:work|main]
7/7: t kmem:kmalloc (kmem) 1: map[cpu:1e+06 stack:work|main]
7/7: t kmem:kmalloc (kmem) 2: map[cpu:1e+06 stack:sys_read|main]
7/7: t kmem:kmalloc (kmem) 3: map[cpu:1e+06 stack:work|work|main]
7/7: t kmem:kmalloc (kmem) 50: map[cpu:1e+06 stack:main]
7/8: thread_name worker
7/8: t kmem:kmalloc (kmem) 0.5: map[cpu:1e+06 stack:ODD]
7/8: t kmem:kmalloc (kmem) 1.5: map[cpu:1e+06 stack:ODD]
9/9: thread_name idle
9/9: process_name idle
9/9: t kmem:kmalloc (kmem) 2.5: map[cpu:1e+06 stack:[unknown]]
`
	if diff := cmp.Diff(want[1:], strings.NewReplacer("main\n", "main|", "work\n", "work|", "sys_read\n", "sys_read|").Replace(got)); diff != "" {
		t.Error(diff)
	}
	// Rows without times are as long as they are heavy.
	untimed := exportSet(false)
	want = chromeText(t, export(t, Chrome, untimed, exportOptions))
	untimed.Events[1].Instants = true
	if diff := cmp.Diff(want, chromeText(t, export(t, Chrome, untimed, exportOptions))); diff != "" {
		t.Error(diff)
	}
}
