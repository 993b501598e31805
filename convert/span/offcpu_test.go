package span_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kprof/convert/span"
	"kprof/perfevent/livetest"
)

// A task sleeps, is woken by another, and waits for a CPU.
func Example() {
	x := span.NewOffCPU(func(s *span.OffSpan) {
		fmt.Println(s.Task, s.State, "blocked", s.Blocked, "runnable", s.Runnable, s.Open)
	})
	for _, p := range []span.Point{
		{Time: 100, Kind: span.Switch, Task: 7, State: span.Interruptible, Next: 8},
		{Time: 130, Kind: span.Wake, Task: 7},
		{Time: 150, Kind: span.Switch, Task: 8, State: span.Preempted, Next: 7},
		{Time: 190, Kind: span.Switch, Task: 7, State: span.Dead, Next: 0},
	} {
		x.Take(&p)
	}
	x.Finish()
	// Output:
	// 7 interruptible blocked 30 runnable 20 false
	// 8 preempted blocked 0 runnable 40 true
}

func out(t uint64, cpu, task int32, s span.State, next int32) span.Point {
	return span.Point{Time: t, Kind: span.Switch, CPU: cpu, Task: task, State: s, Next: next, Row: uint32(t), Owner: uint32(task)}
}

func wake(t uint64, task int32) span.Point { return span.Point{Time: t, Kind: span.Wake, Task: task} }

func gap(from, to uint64) []span.Point {
	return []span.Point{{Time: from, Kind: span.LostFrom}, {Time: to, Kind: span.LostTo}}
}

// offWords is a span in words.
func offWords(s *span.OffSpan) string {
	word := fmt.Sprintf("%d %v %d+%d from %d", s.Task, s.State, s.Blocked, s.Runnable, s.Start)
	if s.Open {
		word += " open"
	}
	if uint64(s.Row) != s.Start || int32(s.Owner) != s.Task {
		word += " of another row"
	}
	return word
}

// pair returns the spans of points in words, and what could not be paired.
func pair(points []span.Point) ([]string, span.OffStats) {
	var got []string
	x := span.NewOffCPU(func(s *span.OffSpan) {
		got = append(got, offWords(s))
	})
	for i := range points {
		x.Take(&points[i])
	}
	x.Finish()
	slices.Sort(got)
	return got, x.Stats
}

func TestOffCPU(t *testing.T) {
	const R, S, D = span.Preempted, span.Interruptible, span.Uninterruptible
	for _, c := range []struct {
		name   string
		points []span.Point
		want   []string
		stats  span.OffStats
	}{
		{"another CPU", []span.Point{out(10, 0, 1, D, 0), wake(15, 1), out(20, 1, 0, R, 1)},
			[]string{"1 uninterruptible 5+5 from 10"}, span.OffStats{Spans: 1, Woken: 1}},
		{"the last wake-up counts", []span.Point{wake(5, 1), out(10, 0, 1, S, 0), wake(12, 1), wake(15, 1), out(20, 0, 0, R, 1)},
			[]string{"1 interruptible 5+5 from 10"}, span.OffStats{Spans: 1, Woken: 1}},
		{"no wake-up", []span.Point{out(10, 0, 1, S, 0), out(20, 0, 0, R, 1)},
			[]string{"1 interruptible 10+0 from 10"}, span.OffStats{Spans: 1, Unwoken: 1}},
		{"a wake-up of who wants to run says nothing", []span.Point{out(10, 0, 1, R, 2), wake(15, 1), out(20, 0, 2, S, 1)},
			[]string{"1 preempted 0+10 from 10", "2 interruptible 0+0 from 20 open"}, span.OffStats{Spans: 2, Open: 1, First: 1}},
		{"what a task's own records tell", []span.Point{out(10, 0, 1, S, 0), {Time: 30, Kind: span.Come, Task: 1}, out(35, 0, 1, R, 0), out(40, 1, 0, R, 1), {Time: 41, Kind: span.Come, Task: 1}},
			[]string{"1 interruptible 20+0 from 10", "1 preempted 0+5 from 35"}, span.OffStats{Spans: 2, Unwoken: 1}},
		{"idle is no task", []span.Point{out(10, 0, 0, R, 0), out(20, 1, 0, R, 0)}, nil, span.OffStats{}},
		{"dead", []span.Point{out(10, 0, 1, span.Dead, 0), wake(15, 1), out(20, 0, 0, R, 1), out(30, 0, 1, S, 0)},
			[]string{"1 interruptible 0+0 from 30 open"}, span.OffStats{Spans: 1, Open: 1, Dead: 1, First: 1}},
		{"open", []span.Point{out(10, 0, 1, S, 0), out(11, 1, 2, R, 0), wake(17, 1), wake(40, 9)},
			[]string{"1 interruptible 7+23 from 10 open", "2 preempted 0+29 from 11 open"}, span.OffStats{Spans: 2, Open: 2, Woken: 1}},
		{"it left once more: its return was not seen", []span.Point{out(10, 0, 1, S, 0), out(20, 1, 1, S, 0), out(30, 1, 0, R, 1)},
			[]string{"1 interruptible 10+0 from 20"}, span.OffStats{Spans: 1, Unwoken: 1, Lost: 1}},
		{"it left for good, and its return was not seen", []span.Point{out(10, 0, 1, S, 0), out(20, 1, 1, span.Dead, 0), out(30, 1, 0, R, 0)},
			nil, span.OffStats{Dead: 1, Lost: 1}},
		{"late: back before it left", []span.Point{out(20, 0, 1, S, 0), out(10, 0, 0, R, 1)},
			nil, span.OffStats{Lost: 1}},
		{"late: woken before it left, and back before it was woken", []span.Point{out(20, 0, 1, S, 0), wake(15, 1), out(25, 0, 0, R, 1), out(30, 0, 1, S, 0), wake(50, 1), out(40, 0, 0, R, 1)},
			[]string{"1 interruptible 5+0 from 20"}, span.OffStats{Spans: 1, Unwoken: 1, Lost: 1}},
		{"begun before a gap", append(append([]span.Point{out(10, 0, 1, S, 0)}, gap(15, 18)...), out(20, 0, 0, R, 1), out(25, 0, 1, S, 0), out(40, 0, 0, R, 1)),
			[]string{"1 interruptible 15+0 from 25"}, span.OffStats{Spans: 1, Unwoken: 1, Lost: 1}},
		{"within a gap of another CPU", []span.Point{{Time: 5, Kind: span.LostFrom, CPU: 1}, out(10, 0, 1, S, 0), out(20, 0, 0, R, 1), {Time: 30, Kind: span.LostTo, CPU: 1}},
			nil, span.OffStats{Lost: 1}},
		{"all at one time", []span.Point{out(10, 0, 1, S, 0), wake(10, 1), out(10, 1, 0, R, 1)},
			[]string{"1 interruptible 0+0 from 10"}, span.OffStats{Spans: 1, Woken: 1}},
		{"back when it was woken", []span.Point{out(10, 0, 1, S, 0), wake(20, 1), out(20, 1, 0, R, 1)},
			[]string{"1 interruptible 10+0 from 10"}, span.OffStats{Spans: 1, Woken: 1}},
		{"open, in a gap", append([]span.Point{out(10, 0, 1, S, 0)}, gap(15, 18)...), nil, span.OffStats{Lost: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, stats := pair(c.points); !slices.Equal(got, c.want) || stats != c.stats {
				t.Errorf("got  %q %+v\nwant %q %+v", got, stats, c.want, c.stats)
			}
		})
	}
}

// TestWaker: who woke a task is the one of its last wake-up that is known.
func TestWaker(t *testing.T) {
	by := func(t uint64, row, owner uint32) span.Point {
		p := wake(t, 1)
		p.Row, p.Owner = row, owner
		return p
	}
	for name, c := range map[string]struct {
		wakes      []span.Point
		row, owner uint32
	}{
		"one":                  {[]span.Point{by(12, 7, 8)}, 7, 8},
		"two":                  {[]span.Point{by(12, 7, 8), by(14, 5, 6)}, 5, 6},
		"of the last no stack": {[]span.Point{by(12, 7, 8), by(14, span.NoRow, 6)}, 7, 8},
		"of none a stack":      {[]span.Point{by(12, span.NoRow, 6)}, span.NoRow, 0},
		"none":                 {nil, span.NoRow, 0},
	} {
		n := 0
		x := span.NewOffCPU(func(s *span.OffSpan) {
			if n++; s.Waker != c.row || s.WakerOwner != c.owner {
				t.Errorf("%s: woken by row %d of %d, want %d of %d", name, s.Waker, s.WakerOwner, c.row, c.owner)
			}
		})
		left, back := out(10, 0, 1, span.Interruptible, 0), out(20, 0, 0, span.Preempted, 1)
		x.Take(&left)
		for i := range c.wakes {
			x.Take(&c.wakes[i])
		}
		x.Take(&back)
		if n != 1 {
			t.Errorf("%s: %d spans", name, n)
		}
	}
}

// machine is a scheduler of which all is known.
type machine struct {
	random *rand.Rand
	now    uint64
	cpus   []int32 // who runs
	state  map[int32]span.State
	since  map[int32]uint64 // of who is off
	ready  []int32
	asleep []int32
	points []span.Point
	truth  map[[2]uint64]uint64 // by task and start: time off
}

func newMachine(seed uint64, cpus, tasks int) *machine {
	m := &machine{
		random: rand.New(rand.NewPCG(seed, 1)), cpus: make([]int32, cpus),
		state: map[int32]span.State{}, since: map[int32]uint64{}, truth: map[[2]uint64]uint64{},
	}
	for i := range tasks {
		m.ready = append(m.ready, int32(i+1))
	}
	return m
}

// pick takes a random one out of a list.
func (m *machine) pick(list *[]int32) int32 {
	i := m.random.IntN(len(*list))
	v := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return v
}

// step switches a CPU, or wakes a task.
func (m *machine) step() {
	m.now += 1 + uint64(m.random.IntN(5))
	if len(m.asleep) > 0 && m.random.IntN(2) == 0 {
		task := m.pick(&m.asleep)
		m.points = append(m.points, span.Point{Time: m.now, Kind: span.Wake, Task: task, CPU: int32(m.random.IntN(len(m.cpus)))})
		m.ready = append(m.ready, task)
		return
	}
	cpu := m.random.IntN(len(m.cpus))
	prev, next := m.cpus[cpu], int32(0)
	if len(m.ready) > 0 {
		next = m.pick(&m.ready)
	}
	if prev == next {
		return
	}
	state := []span.State{span.Preempted, span.Interruptible, span.Uninterruptible}[m.random.IntN(3)]
	m.points = append(m.points, out(m.now, int32(cpu), prev, state, next))
	if s, ok := m.since[next]; ok && next != 0 {
		m.truth[[2]uint64{uint64(next), s}] = m.now - s
		delete(m.since, next)
	}
	m.cpus[cpu] = next
	if prev != 0 {
		m.since[prev] = m.now
		if state == span.Preempted {
			m.ready = append(m.ready, prev)
		} else {
			m.asleep = append(m.asleep, prev)
		}
	}
}

// TestSimulated: of a machine whose scheduler is known every time off the CPU is exact;
// where records of a CPU are lost, none that is told is another than the true one, and
// all are told, lost or open.
func TestSimulated(t *testing.T) {
	for seed := range uint64(60) {
		m := newMachine(seed, 1+int(seed%4), 2+int(seed%7))
		for range 3000 {
			m.step()
		}
		losing := seed%2 == 1
		points := m.points
		if losing {
			points = m.lose(40)
		}
		spans := 0
		x := span.NewOffCPU(func(s *span.OffSpan) {
			spans++
			want, back := m.truth[[2]uint64{uint64(s.Task), s.Start}]
			if s.Open {
				if back && !losing {
					t.Errorf("seed %d: %+v came back after %d", seed, *s, want)
				}
				return
			}
			if s.Blocked+s.Runnable != want || !back {
				t.Errorf("seed %d: %+v, it took %d", seed, *s, want)
			}
		})
		last := uint64(0)
		left := 0
		for i := range points {
			if points[i].Time < last {
				t.Fatal("the test's points are not in order")
			}
			last = points[i].Time
			if points[i].Kind == span.Switch && points[i].Task != 0 {
				left++
			}
			x.Take(&points[i])
		}
		x.Finish()
		if st := x.Stats; uint64(left) != st.Spans+st.Lost || int(st.Spans) != spans || !losing && st.Lost > 0 || losing && st.Spans < uint64(left)/20 {
			t.Errorf("seed %d: %d left: %+v", seed, left, st)
		}
	}
}

// lose drops stretches of one CPU's points and says where.
func (m *machine) lose(stretches int) []span.Point {
	drop := make([]bool, len(m.points))
	type hole struct {
		from, to uint64
		cpu      int32
	}
	var holes []hole
	for range stretches {
		cpu := int32(m.random.IntN(len(m.cpus)))
		at := m.random.IntN(len(m.points))
		h := hole{cpu: cpu}
		for i := at - 1; i >= 0 && h.from == 0; i-- {
			if m.points[i].CPU == cpu {
				h.from = m.points[i].Time
			}
		}
		n := 1 + m.random.IntN(5)
		for i := at; i < len(m.points) && n > 0; i++ {
			if m.points[i].CPU == cpu {
				drop[i], h.to = true, m.points[i].Time
				n--
			}
		}
		holes = append(holes, h)
	}
	var points []span.Point
	for i, p := range m.points {
		if !drop[i] {
			points = append(points, p)
		}
	}
	for _, h := range holes {
		points = append(points, span.Point{Time: h.from, Kind: span.LostFrom, CPU: h.cpu}, span.Point{Time: h.to, Kind: span.LostTo, CPU: h.cpu})
	}
	// A gap begins behind the record of its time, and ends before the next.
	slices.SortStableFunc(points, func(a, b span.Point) int { return int(int64(a.Time) - int64(b.Time)) })
	return points
}

// TestStateOf: the letters are those that the kernel's print fmt has for these bits.
func TestStateOf(t *testing.T) {
	livetest.Table(t, func(prev uint64) string { return span.StateOf(prev).String() }, map[uint64]string{
		0: "preempted", 0x100: "preempted", 0x101: "preempted", 1: "interruptible", 2: "uninterruptible", 4: "stopped", 8: "stopped",
		0x10: "dead", 0x20: "dead", 0x40: "parked", 0x80: "idle", 0x200: "other",
		0x82: "uninterruptible", 0x402: "idle", // TASK_KILLABLE and TASK_IDLE before Linux 4.14
		0x400: "preempted", 0x800: "preempted", 0x1000: "preempted", // of Linux 3.9 to 4.13
	})
}

// TestStateMask: letters of several kernels' print fmt, and of trace-cmd.
func TestStateMask(t *testing.T) {
	livetest.Table(t, func(letters string) string {
		prev, ok := span.StateMask(letters)
		if !ok {
			return "not letters"
		}
		return span.StateOf(prev).String()
	}, map[string]string{
		"R": "preempted", "R+": "preempted", "S": "interruptible", "S|K": "interruptible", "D": "uninterruptible", "D|K": "uninterruptible",
		"T": "stopped", "t": "stopped", "X": "dead", "Z": "dead", "x": "dead", "P": "parked", "I": "idle", "D|N": "idle", "W": "idle", "D|W": "uninterruptible",
		"": "not letters", "0x1": "not letters", "1": "not letters",
	})
}
