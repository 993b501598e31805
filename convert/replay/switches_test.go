package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/convert/payload"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// switchFormats are those of a switch and a wake-up with only what is looked at.
func switchFormats(o abi.Order) *perfdata.TracingData {
	const pid = "pid_t %s;\toffset:%d;\tsize:4;\tsigned:1;"
	return tracingData(o,
		tracepoint("sched", "sched_switch", 1, "", fmt.Sprintf(pid, "prev_pid", 4), "long prev_state;\toffset:8;\tsize:8;\tsigned:1;", fmt.Sprintf(pid, "next_pid", 16)),
		tracepoint("sched", "sched_wakeup", 2, "", fmt.Sprintf(pid, "pid", 4)),
		tracepoint("sched", "sched_waking", 3, "", fmt.Sprintf(pid, "pid", 4)),
	)
}

// switchWays converts a recording with these as a file, through a pipe and live.
func switchWays(t *testing.T, rec *perftext.Recording, o abi.Order, opts Options, check func(way string, s *stacks.Set, st Stats)) {
	t.Helper()
	live := opts
	live.Formats = payload.New(switchFormats(o))
	eachWay(t, rec, o, opts, live, withoutError(t, check))
}

// withoutError is a check that the conversion has no error, and of the rest.
func withoutError(t *testing.T, check func(way string, s *stacks.Set, st Stats)) func(string, *stacks.Set, Stats, error) {
	return func(way string, s *stacks.Set, st Stats, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		check(way, s, st)
	}
}

// switchRecording: task 7 sleeps at 10, is woken at 15 and back at 20 on the other CPU, whose
// records come first; it is preempted at 30 and back at 37; at 40 it sleeps and does not
// come back until the last record, at 60. Task 9 leaves for good. With waking it is said too
// that task 8 begins to wake 7 at 14, and 9 would at 32, which runs.
func switchRecording(o abi.Order, waking bool) *perftext.Recording {
	return withSwitches(o, switchText(o, waking))
}

// withSwitches is a recording with the formats of its events.
func withSwitches(o abi.Order, text string) *perftext.Recording {
	rec := perftext.MustParse(text)
	rec.Features.TracingData = switchFormats(o).AppendTo(nil)
	return rec
}

func switchText(o abi.Order, waking bool) string {
	var b strings.Builder
	b.WriteString(`event sched:sched_switch type=tracepoint config=1 period=1 ids=1 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all
event sched:sched_wakeup type=tracepoint config=2 period=1 ids=2 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all
comm t=1 pid=7 comm=seven
comm t=1 pid=8 comm=eight
`)
	if waking {
		b.WriteString("event sched:sched_waking type=tracepoint config=3 period=1 ids=3 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all\n")
	}
	raw := func(numbers ...uint64) string {
		buf := o.AppendUint32(nil, 0)
		buf = o.AppendUint32(buf, uint32(numbers[0]))
		if len(numbers) == 3 {
			buf = o.AppendUint64(buf, numbers[1])
			buf = o.AppendUint32(buf, uint32(numbers[2]))
		}
		return fmt.Sprintf("%x", buf)
	}
	left := func(t, cpu, pid, state, next int) {
		fmt.Fprintf(&b, "sample t=%d pid=%d cpu=%d id=1 raw=%s kernel %#x\n", t, pid, cpu, raw(uint64(pid), uint64(state), uint64(next)), 0xffffffff81000000+uint64(t))
	}
	left(20, 1, 0, 0, 7)
	left(30, 1, 7, 0x100, 9)
	left(37, 1, 9, 0x10, 7)
	left(40, 1, 7, 2, 0)
	left(10, 0, 7, 1, 0)
	if waking {
		fmt.Fprintf(&b, "sample t=14 pid=8 cpu=0 id=3 raw=%s kernel 0xffffffff81000005 0xffffffff81000008\n", raw(7))
		fmt.Fprintf(&b, "sample t=32 pid=9 cpu=0 id=3 raw=%s kernel 0xffffffff81000007\n", raw(7))
	}
	fmt.Fprintf(&b, "sample t=15 pid=8 cpu=0 id=2 raw=%s kernel 0xffffffff81000009\n", raw(7))
	fmt.Fprintf(&b, "sample t=60 pid=8 cpu=0 id=2 raw=%s kernel 0xffffffff81000009\n", raw(99))
	return b.String()
}

// stateRows are the rows of a Set in a line each, sorted: the last byte of the leaf's address, comm,
// state, values.
func stateRows(s *stacks.Set) (rows []string) {
	for i := range s.NumSamples() {
		x := s.Sample(i)
		state, _ := s.Label(x.Labels, OffCPUState)
		comm, _ := s.Label(x.Labels, "comm")
		rows = append(rows, fmt.Sprintf("%#x %s %s %v", s.Locations[s.Stack(x.Stack)[0]].Addr&0xff, comm.Str, state.Str, x.Values))
	}
	slices.Sort(rows)
	return rows
}

// TestOffCPU: times by stack and state, of a file, a pipe and live, in either byte order.
func TestOffCPU(t *testing.T) {
	want := []string{
		"0x1e seven preempted [1 0 7 0 7]",
		"0x28 seven uninterruptible [1 0 0 20 0]",
		"0xa seven interruptible [1 5 5 0 10]",
	}
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		rec := switchRecording(o, false)
		opts := Options{Selection: Selection{OffCPU: true}}
		check := func(way string, s *stacks.Set, st Stats) {
			t.Helper()
			got := stateRows(s)
			if !slices.Equal(got, want) || st.OffCPU.Dead != 1 || st.OffCPU.Lost != 0 || st.LatePoints != 0 {
				t.Errorf("%s:\n%q\n%q\n%+v", way, got, want, st.OffCPU)
			}
			if d := st.Delays; len(d) != 1 || d[0].Count != 2 || d[0].Sum != 12 || d[0].Max != 7 {
				t.Errorf("%s: waits for a CPU %+v", way, d)
			}
		}
		switchWays(t, rec, o, opts, check)
	}
}

// TestOffCPUStatesOfOldKernels: up to Linux 4.13 the bits of prev_state are others, which the print
// fmt has: that of Linux 4.4.
func TestOffCPUStatesOfOldKernels(t *testing.T) {
	const oldFmt = `print fmt: "prev_pid=%d prev_state=%s%s ==> next_pid=%d", REC->prev_pid, REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K"}, { 256, "W" }, { 512, "P" }, { 1024, "N" }) : "R", REC->prev_state & 2048 ? "+" : "", REC->next_pid`
	want := []string{
		"0x1 seven interruptible [1 1 0 0 1]", "0x2 seven preempted [1 0 1 0 1]", "0x3 seven uninterruptible [1 1 0 0 1]",
		"0x4 seven idle [1 1 0 0 1]", "0x5 seven parked [1 1 0 0 1]", "0x6 seven stopped [1 1 0 0 1]",
	}
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		formats := switchFormats(o)
		formats.Tracepoints[0].Format = strings.Replace(formats.Tracepoints[0].Format, `print fmt: ""`, oldFmt, 1)
		text := "event sched:sched_switch type=tracepoint config=1 period=1 ids=1 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all\ncomm t=1 pid=7 comm=seven\n"
		for i, state := range []uint64{1, 2048, 0x82, 0x402, 512, 4 | 128, 64} {
			raw := func(from, to uint32, state uint64) []byte {
				return o.AppendUint32(o.AppendUint64(o.AppendUint32(o.AppendUint32(nil, 0), from), state), to)
			}
			at := 10 * (i + 1)
			text += fmt.Sprintf("sample t=%d pid=7 cpu=0 id=1 raw=%x kernel %#x\nsample t=%d pid=0 cpu=0 id=1 raw=%x kernel 0xffffffff81000000\n",
				at, raw(7, 0, state), 0xffffffff81000001+uint64(i), at+1, raw(0, 7, 0))
		}
		rec := perftext.MustParse(text)
		rec.Features.TracingData = formats.AppendTo(nil)
		opts := Options{Selection: Selection{OffCPU: true}}
		live := opts
		live.Formats = payload.New(formats)
		eachWay(t, rec, o, opts, live, withoutError(t, func(way string, s *stacks.Set, st Stats) {
			t.Helper()
			if got := stateRows(s); !slices.Equal(got, want) || st.OffCPU.Dead != 1 {
				t.Errorf("%s: %q, want %q; %d dead", way, got, want, st.OffCPU.Dead)
			}
		}))
	}
}

// TestOffCPUOfBuffers: what several buffers of the tracer have is paired in one of them, and in
// another that has no switches of its own.
func TestOffCPUOfBuffers(t *testing.T) {
	o := abi.LittleEndian
	text := strings.ReplaceAll(switchText(o, false), " id=2 ", " id=5 ") // the wake-ups are in an instance
	text = strings.Replace(text, "event sched:sched_wakeup type=tracepoint config=2 period=1 ids=2", "event sched:sched_wakeup@b type=tracepoint config=2 period=1 ids=5", 1)
	const event = "event sched:%s@a type=tracepoint config=%d period=1 ids=%d sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all\n"
	text += fmt.Sprintf(event+event, "sched_switch", 1, 3, "sched_wakeup", 2, 4)
	raw := o.AppendUint32(o.AppendUint64(o.AppendUint32(o.AppendUint32(nil, 0), 7), 1), 0)
	text += fmt.Sprintf("sample t=11 pid=7 cpu=0 id=3 raw=%x kernel 0xffffffff81000077\n", raw)
	text += fmt.Sprintf("sample t=16 pid=8 cpu=0 id=4 raw=%x kernel 0xffffffff81000078\n", raw[:8])
	want := []string{
		"0x1e seven preempted [1 0 7 0 7]",
		"0x28 seven uninterruptible [1 0 0 20 0]",
		"0xa seven interruptible [1 5 5 0 10]",
	}
	switchWays(t, withSwitches(o, text), o, Options{Selection: Selection{OffCPU: true}}, func(way string, s *stacks.Set, st Stats) {
		t.Helper()
		if got := stateRows(s); !slices.Equal(got, want) || st.OffCPU.Lost > 0 || st.OtherBuffers != 2 {
			t.Errorf("%s: %q, want %q; %d of other buffers, %+v", way, got, want, st.OtherBuffers, st.OffCPU)
		}
	})
}

// TestOffCPUOnAnotherCPU: of a command that is recorded by itself, a thread comes back on a CPU whose
// records lie before those of the CPU that it left; in its namespace it has another number.
func TestOffCPUOnAnotherCPU(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		left := func(t, cpu int) string {
			raw := o.AppendUint32(o.AppendUint64(o.AppendUint32(o.AppendUint32(nil, 0), 107), 1), 0)
			return fmt.Sprintf("sample t=%d pid=7 cpu=%d id=1 raw=%x kernel %#x\n", t, cpu, raw, 0xffffffff81000000+uint64(t))
		}
		want := []string{"0x1e seven interruptible [1 5 0 0 5]", "0xa seven interruptible [1 10 0 0 10]"}
		for _, between := range []string{"", "round\n"} {
			text := "event sched:sched_switch type=tracepoint config=1 period=1 ids=1 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all,context_switch\ncomm t=1 pid=7 comm=seven\n" +
				"switch t=20 pid=7 cpu=0\n" + between + left(10, 1) + left(30, 0) + "switch t=35 pid=7 cpu=1\n"
			check := func(way string, s *stacks.Set, st Stats) {
				t.Helper()
				if got := stateRows(s); !slices.Equal(got, want) {
					t.Errorf("%q %s: %q, want %q", between, way, got, want)
				}
			}
			switchWays(t, withSwitches(o, text), o, Options{Selection: Selection{OffCPU: true}}, check)
		}
	}
}

// TestWakers: above the stack at which a task left stands, the other way around, that of who
// woke it: where the waking begins, if that is told, else where it ends.
func TestWakers(t *testing.T) {
	for _, tc := range []struct {
		waking bool
		woken  string
	}{
		{false, "eight 0x9 -- 0xa (eight) [1 5 5 0 10]"},
		{true, "eight 0x7 0x5 -- 0xa (eight) [1 5 5 0 10]"},
	} {
		rec := switchRecording(abi.LittleEndian, tc.waking)
		want := []string{"0x1e () [1 0 7 0 7]", "0x28 () [1 0 0 20 0]", tc.woken}
		opts := Options{Selection: Selection{OffCPU: true, Wakers: true, Times: true}}
		check := func(way string, s *stacks.Set, _ Stats) {
			t.Helper()
			var got []string
			for i := range s.NumSamples() {
				x := s.Sample(i)
				var frames []string
				for _, loc := range s.Stack(x.Stack) {
					if l := s.Lines(loc); len(l) > 0 {
						frames = append(frames, s.Functions[l[0].Function].Name)
					} else {
						frames = append(frames, fmt.Sprintf("%#x", s.Locations[loc].Addr&0xff))
					}
				}
				by, _ := s.Label(x.Labels, WakerLabel)
				got = append(got, fmt.Sprintf("%s (%s) %v", strings.Join(frames, " "), by.Str, x.Values))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", way, got, want)
			}
			if x := s.TimedSamples[0]; x.Time != 10 || s.Sample(int(x.Sample)).Values[4] != 10 {
				t.Errorf("%s: the first time is of row %v", way, s.Sample(int(x.Sample)))
			}
			wakes := ""
			for _, w := range s.Wakes {
				by, _ := s.Label(w.By, "comm")
				of, _ := s.Label(w.Woken, WakerLabel)
				wakes += fmt.Sprintf("%s %s at %d, ", by.Str, of.Str, w.Time)
			}
			if wakes != "eight eight at 15, " {
				t.Errorf("%s: %s", way, wakes)
			}
		}
		switchWays(t, rec, abi.LittleEndian, opts, check)
	}
}

// TestWallClock: times on the CPU, but those of the idle task, and off it are rows of one
// event, and add up. Task 7 is on the CPU from 20 to 30 and from 37 to 40, where a clock
// ticks every 4.
func TestWallClock(t *testing.T) {
	text := `event cpu-clock type=software config=0 freq=250000000 ids=9 sample=ip,tid,time,callchain,cpu,identifier,period flags=sample_id_all
` + switchText(abi.LittleEndian, false) + `sample t=24 pid=7 cpu=1 id=9 period=4 kernel 0xffffffff81000024
sample t=28 pid=7 cpu=1 id=9 period=4 kernel 0xffffffff81000024
sample t=38 pid=7 cpu=1 id=9 period=4 kernel 0xffffffff81000039
sample t=24 pid=0 cpu=0 id=9 period=4 kernel 0xffffffff81000024
sample t=39 pid=8 cpu=0 id=9 period=4 kernel 0xffffffff81000024
`
	want := []string{
		"0x1e seven preempted [1 0 7 0 7]",
		"0x24 eight running [1 4 0 0 4]",
		"0x24 seven running [2 8 0 0 8]",
		"0x28 seven uninterruptible [1 0 0 20 20]",
		"0x39 seven running [1 4 0 0 4]",
		"0xa seven interruptible [1 0 5 5 10]",
	}
	rec, opts := withSwitches(abi.LittleEndian, text), Options{Selection: Selection{WallClock: true, Times: true}}
	check := func(way string, s *stacks.Set, st Stats) {
		t.Helper()
		got := stateRows(s)
		if !slices.Equal(got, want) || s.DefaultType != WallClockEvent || len(s.Events) != 1 || len(s.TimedSamples) != 7 || len(st.Durations) != 0 {
			t.Errorf("%s: %q, want %q; %s, %d times, %+v", way, got, want, s.DefaultType, len(s.TimedSamples), st.Durations)
		}
	}
	switchWays(t, rec, abi.LittleEndian, opts, check)

	for text, want := range map[string]error{switchText(abi.LittleEndian, false): ErrNoClock, text[:strings.Index(text, "\n")+1]: ErrNoSwitches} {
		whole, err := withSwitches(abi.LittleEndian, text).Assemble(perftext.Form{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := convertBytes(whole, false, opts); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestOnlySwitches: where nothing but SWITCH records tells when a thread leaves, it has the
// stack of its last sample, and a label that says so; before its first sample none. It is not
// away once it has ended.
func TestOnlySwitches(t *testing.T) {
	rec := perftext.MustParse(`event cpu-clock type=software config=0 freq=250000000 ids=9 sample=ip,tid,time,callchain,cpu,identifier,period flags=sample_id_all,freq,context_switch
comm t=1 pid=7 comm=seven
switch t=4 pid=7 cpu=0 out
switch t=6 pid=7 cpu=1
switch t=20 pid=7 cpu=1 out
switch t=25 pid=7 cpu=0
switch t=40 pid=7 cpu=0 out preempt
switch t=47 pid=7 cpu=0
exit t=60 pid=7
switch t=61 pid=7 cpu=0 out
sample t=10 pid=7 cpu=1 id=9 period=4 user 0x1010
sample t=14 pid=7 cpu=1 id=9 period=4 user 0x1014
sample t=30 pid=7 cpu=0 id=9 period=4 user 0x1030
sample t=70 pid=8 cpu=0 id=9 period=4 user 0x1030
`)
	for _, tc := range []struct {
		opts Options
		want []string
	}{
		{Options{Selection: Selection{OffCPU: true}}, []string{"- blocked  [1 2 0 0 2]", "0x14 blocked of the last sample [1 5 0 0 5]", "0x30 preempted of the last sample [1 0 7 0 7]"}},
		{Options{Selection: Selection{OffCPU: true, Where: mustExpr(t, "comm == 'seven'")}, From: 5}, []string{"0x14 blocked of the last sample [1 5 0 0 5]", "0x30 preempted of the last sample [1 0 7 0 7]"}},
		{Options{Selection: Selection{WallClock: true, PIDs: []int32{7}}}, []string{
			"- blocked  [1 0 0 2 2]", "0x10 running  [1 4 0 0 4]", "0x14 blocked of the last sample [1 0 0 5 5]", "0x14 running  [1 4 0 0 4]",
			"0x30 preempted of the last sample [1 0 7 0 7]", "0x30 running  [1 4 0 0 4]",
		}},
	} {
		check := func(way string, s *stacks.Set, _ Stats) {
			t.Helper()
			var got []string
			for i := range s.NumSamples() {
				x := s.Sample(i)
				leaf := "-"
				if stack := s.Stack(x.Stack); len(stack) > 0 {
					leaf = fmt.Sprintf("%#x", s.Locations[stack[0]].Addr&0xff)
				}
				state, _ := s.Label(x.Labels, OffCPUState)
				of, _ := s.Label(x.Labels, StackLabel)
				got = append(got, fmt.Sprintf("%s %s %s %v", leaf, state.Str, of.Str, x.Values))
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: %q, want %q", way, got, tc.want)
			}
		}
		for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
			eachWay(t, rec, o, tc.opts, tc.opts, withoutError(t, check))
		}
	}
}

// TestOnlySwitchesInFileOrder: what a CPU's ring has of the end of a thread comes before what another
// one has of its sleep, and its number is another's then.
func TestOnlySwitchesInFileOrder(t *testing.T) {
	rec := perftext.MustParse(`event cpu-clock type=software config=0 freq=250000000 ids=9 sample=ip,tid,time,callchain,cpu,identifier,period flags=sample_id_all,freq,context_switch
comm t=1 pid=7 comm=seven
switch t=25 pid=7 cpu=1
exit t=60 pid=7
switch t=61 pid=7 cpu=1 out
fork t=70 pid=7 ppid=1
comm t=71 pid=7 comm=again
switch t=72 pid=7 cpu=1 out
switch t=80 pid=7 cpu=1
switch t=20 pid=7 cpu=3 out
sample t=10 pid=7 cpu=3 id=9 period=4 user 0x1010
`)
	opts := Options{Selection: Selection{OffCPU: true}}
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		eachWay(t, rec, o, opts, opts, withoutError(t, func(way string, s *stacks.Set, st Stats) {
			t.Helper()
			var got []string
			for i := range s.NumSamples() {
				x := s.Sample(i)
				comm, _ := s.Label(x.Labels, "comm")
				got = append(got, fmt.Sprintf("%s %d frames %v", comm.Str, len(s.Stack(x.Stack)), x.Values))
			}
			slices.Sort(got)
			if want := []string{"again 0 frames [1 8 0 0 8]", "seven 1 frames [1 5 0 0 5]"}; !slices.Equal(got, want) || st.OffCPU.Lost > 0 || st.OffCPU.Open > 0 {
				t.Errorf("%s: %q, want %q: %+v", way, got, want, st.OffCPU)
			}
		}))
	}
}
