package convert_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/perfevent/tracetest"
)

// switched is a switch on a CPU.
type switched struct {
	time       uint64 // ns
	cpu        int
	prev, next int
	state      int
}

// schedule has tasks run for a while and sleep for a while; most come back to the CPU that they left.
// CPU 0 has twenty times as many switches as the others, by a task of its own.
func schedule(r *rand.Rand, cpus, tasks, steps int) []switched {
	type task struct{ cpu, until int }
	var all []switched
	runs := make([]int, cpus)
	last := make([]task, tasks+1)
	for i := range last {
		last[i].cpu = r.IntN(cpus)
	}
	const busy = 1000 // a task of CPU 0 alone
	for step := 1; step < steps; step++ {
		now := uint64(step) * 1_000_000
		for i := range 10 {
			if t := now + uint64(i)*50_000; runs[0] == 0 {
				all = append(all, switched{t, 0, 0, busy, 0}, switched{t + 20_000, 0, busy, 0, 1})
			}
		}
		now += 600_000
		for i := 1; i <= tasks; i++ {
			t := &last[i]
			if step < t.until {
				continue
			}
			if runs[t.cpu] == i {
				all = append(all, switched{now + uint64(i), t.cpu, i, 0, 1})
				runs[t.cpu], t.until = 0, step+1+r.IntN(40*i)
				continue
			}
			if r.IntN(8) == 0 {
				t.cpu = r.IntN(cpus)
			}
			if runs[t.cpu] == 0 {
				all = append(all, switched{now + uint64(i), t.cpu, 0, i, 0})
				runs[t.cpu], t.until = i, step+1+r.IntN(5)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b switched) int { return cmp.Compare(a.time, b.time) })
	return all
}

// ring is the last events of a CPU, and how many are lost before them.
type cpuRing struct {
	events []switched
	lost   int
}

// rings divides switches by CPU, and keeps so many of each.
func ringsOf(all []switched, cpus, most int) []cpuRing {
	rings := make([]cpuRing, cpus)
	for _, s := range all {
		rings[s.cpu].events = append(rings[s.cpu].events, s)
	}
	for i := range rings {
		g := &rings[i]
		g.lost = max(len(g.events)-most, 0)
		g.events = g.events[g.lost:]
	}
	return rings
}

// datOf is a trace.dat of rings.
func datOf(rings []cpuRing) []byte {
	m := tracetest.Machine{Long: 8, Page: 4096}
	top := tracetest.Instance{Clock: "local"}
	for _, g := range rings {
		var pages [][]byte
		for part := range slices.Chunk(g.events, 45) {
			var entries [][]byte
			at := part[0].time
			for _, s := range part {
				entries = append(entries, m.Extend(s.time-at), m.Event(0, m.Switch(s.prev, s.state, s.next)))
				at = s.time
			}
			lost := int64(0)
			if len(pages) == 0 {
				lost = int64(g.lost)
			}
			pages = append(pages, m.Sub(part[0].time, lost, entries...))
		}
		top.CPUs = append(top.CPUs, pages)
	}
	return (&tracetest.Dat{
		Machine: m, Version: 6, Ftrace: []string{tracetest.KernelStack},
		Systems: []tracetest.System{{Name: "sched", Formats: []string{tracetest.Switch}}}, Buffers: []tracetest.Instance{top},
	}).Bytes()
}

// traceText is the same as the kernel prints it.
func traceText(rings []cpuRing) []byte {
	var all []switched
	written, kept := 0, 0
	for _, g := range rings {
		all = append(all, g.events...)
		written, kept = written+len(g.events)+g.lost, kept+len(g.events)
	}
	slices.SortStableFunc(all, func(a, b switched) int { return cmp.Compare(a.time, b.time) })
	var b strings.Builder
	fmt.Fprintf(&b, "# tracer: nop\n#\n# entries-in-buffer/entries-written: %d/%d   #P:%d\n#\n", kept, written, len(rings))
	begun := map[int]bool{}
	for i, s := range all {
		if i > 0 && !begun[s.cpu] && written > kept {
			fmt.Fprintf(&b, "##### CPU %d buffer started ####\n", s.cpu)
		}
		begun[s.cpu] = true
		fmt.Fprintf(&b, "            task%d-%-7d [%03d] d..2. %5d.%06d: sched_switch: prev_comm=task%d prev_pid=%d prev_prio=120 prev_state=%s ==> next_comm=task%d next_pid=%d next_prio=120\n",
			s.prev, s.prev, s.cpu, s.time/1e9, s.time%1e9/1000, s.prev, s.prev, [...]string{"R", "S"}[s.state], s.next, s.next)
	}
	return []byte(b.String())
}

// offTimes are the times off the CPU of a trace that have ended, and the warnings.
func offTimes(t *testing.T, trace []byte) (map[string]int, *convert.Profile) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(name, trace, 0o666); err != nil {
		t.Fatal(err)
	}
	var o convert.Options
	o.OffCPU, o.Times, o.Labels = true, true, replay.LabelTID
	p, err := convert.Open(context.Background(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, s := range p.Set.TimedSamples {
		tid, _ := p.Set.Label(p.Set.Sample(int(s.Sample)).Labels, "tid")
		times[fmt.Sprintf("%d from %d us took %d us", tid.Num, s.Time/1000, (s.Time+uint64(s.Value))/1000-s.Time/1000)]++
	}
	return times, p
}

// TestLateRings: where the rings of CPUs begin at different times, what is told as one time off the
// CPU is one, as all events say; more is told than what begins when all rings have; and one line
// says what is left out.
func TestLateRings(t *testing.T) {
	const cpus = 8
	all := schedule(rand.New(rand.NewPCG(1, 2)), cpus, 20, 8000)
	want, _ := offTimes(t, datOf(ringsOf(all, cpus, len(all))))
	rings := ringsOf(all, cpus, 20000)
	var last uint64
	for _, g := range rings {
		if g.lost > 0 {
			last = max(last, g.events[0].time)
		}
	}
	behind := 0 // what begins when all rings have
	for when := range want {
		var tid, from int
		if fmt.Sscanf(when, "%d from %d us", &tid, &from); uint64(from) >= last/1000 {
			behind++
		}
	}
	for name, trace := range map[string][]byte{"trace.dat": datOf(rings), "text": traceText(rings)} {
		t.Run(name, func(t *testing.T) {
			got, p := offTimes(t, trace)
			wrong := 0
			for when := range got {
				if want[when] == 0 {
					wrong++
					t.Logf("there is no time %s", when)
				}
			}
			t.Logf("%d times of %d, %d begin behind %d; %d left out", len(got), len(want), behind, last, p.Stats.Early.Count)
			if wrong > len(got)/1000 || len(got) <= behind {
				t.Errorf("%d of %d times are wrong, %d begin when all rings have", wrong, len(got), behind)
			}
			told := 0
			for _, w := range p.Warnings {
				switch {
				case w.Kind == convert.EarlyTimes && w.Early.Until/1000 == last/1000 && w.Early.CPU == 0 && w.Count > 0:
					told++
				case w.Kind == convert.LateSwitches, w.Kind == convert.LostReturns, w.Kind == convert.UnseenReturns:
					t.Errorf("%s", &w)
				}
			}
			if told != 1 {
				t.Errorf("told %d times what is left out", told)
			}
		})
	}
}

// TestLostAtLeast: that of some losses nobody knows how many they were, is told with the number.
func TestLostAtLeast(t *testing.T) {
	first, second := []switched{{1000, 0, 7, 0, 1}, {2000, 0, 0, 7, 0}}, []switched{{3000, 1, 8, 0, 1}}
	line := "            task7-7       [001] d..2.     0.000001: sched_switch: prev_comm=task7 prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=task8 next_pid=8 next_prio=120\n"
	for name, c := range map[string]struct {
		trace []byte
		want  string
	}{
		"known":        {datOf([]cpuRing{{first, 3}, {second, 4}}), "lost 7 records while recording"},
		"one unknown":  {datOf([]cpuRing{{first, 3}, {second, -1}}), "lost at least 4 records while recording"},
		"text":         {[]byte("CPU:1 [LOST 2 EVENTS]\n" + line), "lost 2 records while recording"},
		"text unknown": {[]byte("CPU:1 [LOST EVENTS]\n" + line + "CPU:1 [LOST 2 EVENTS]\n" + line), "lost at least 3 records while recording"},
	} {
		t.Run(name, func(t *testing.T) {
			_, p := offTimes(t, c.trace)
			for i := range p.Warnings {
				if w := &p.Warnings[i]; w.Kind == convert.LostRecords && w.String() == c.want {
					return
				}
			}
			t.Errorf("%v, want %q", p.Warnings, c.want)
		})
	}
}

// TestLostOfOtherBuffer: what is lost in a buffer without the events that times are made of leaves
// out none of these times.
func TestLostOfOtherBuffer(t *testing.T) {
	m := tracetest.Machine{Long: 8, Page: 4096}
	tick := func(time uint64, lost int64) []byte { return m.Sub(time, lost, m.Event(0, m.Tick(9, 1))) }
	// Task 7 sleeps from 1000 to 2000, task 8 from 2000 to 5000.
	switches := [][]byte{m.Sub(1000, 0, m.Event(0, m.Switch(7, 1, 8)), m.Event(1000, m.Switch(8, 1, 7)), m.Event(3000, m.Switch(7, 0, 8)))}
	for name, ticks := range map[string][][][]byte{
		"in between":             {{tick(1500, 5), tick(3000, 5)}},
		"before a ring begins":   {{tick(500, 5)}, {tick(4000, 5)}},
		"nothing":                {{tick(500, 0)}},
		"of an unknown number":   {{tick(500, 0), tick(3000, -1)}},
		"after the last of them": {{tick(500, 0), tick(9000, 3)}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &tracetest.Dat{
				Machine: m, Version: 6, Ftrace: []string{tracetest.KernelStack},
				Systems: []tracetest.System{{Name: "sched", Formats: []string{tracetest.Switch}}, {Name: "test", Formats: []string{tracetest.Tick}}},
				Options: []tracetest.Option{{ID: 8, Data: m.Order.AppendUint32(nil, 2)}},
				Buffers: []tracetest.Instance{{Clock: "local", CPUs: append(ticks, nil)[:2]}, {Name: "inst", Clock: "local", CPUs: [][][]byte{switches, nil}}},
			}
			got, p := offTimes(t, d.Bytes())
			if len(got) != 2 || p.Stats.OffCPU.Lost != 0 || p.Stats.Early.Count != 0 {
				t.Errorf("%v, %+v, %+v", got, p.Stats.OffCPU, p.Stats.Early)
			}
		})
	}
}

// TestLostOfAnyBuffer: lines of trace-cmd report do not tell in which buffer events were lost.
func TestLostOfAnyBuffer(t *testing.T) {
	const line = "       task%d-%d  [000]  0.00000%d: sched_switch: prev_comm=a prev_pid=%d prev_prio=120 prev_state=S ==> next_comm=b next_pid=%d next_prio=120\n"
	text := "inst:          sh-9     [000]  0.000001: tick: count=1\n" + fmt.Sprintf(line, 7, 7, 2, 7, 8) + "CPU:0 [LOST 5 EVENTS]\n" + fmt.Sprintf(line, 8, 8, 4, 8, 7)
	_, p := offTimes(t, []byte(text))
	if p.Stats.OffCPU.Lost != 1 {
		t.Errorf("%+v", p.Stats.OffCPU)
	}
}
