package replay

import (
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
	return &perfdata.TracingData{Version: "0.6", Order: o, LongSize: 8, PageSize: 4096, HeaderPage: "\n", HeaderEvent: "\n", Tracepoints: []perfdata.Tracepoint{
		{System: "sched", Name: "sched_switch", ID: 1, Format: `name: sched_switch
ID: 1
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;

	field:pid_t prev_pid;	offset:4;	size:4;	signed:1;
	field:long prev_state;	offset:8;	size:8;	signed:1;
	field:pid_t next_pid;	offset:16;	size:4;	signed:1;

print fmt: "%d", REC->prev_pid
`},
		{System: "sched", Name: "sched_wakeup", ID: 2, Format: `name: sched_wakeup
ID: 2
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;

	field:pid_t pid;	offset:4;	size:4;	signed:1;

print fmt: "%d", REC->pid
`},
	}}
}

// switchRecording: task 7 sleeps at 10, is woken at 15 and back at 20 on the other CPU, whose
// records come first; it is preempted at 30 and back at 37; at 40 it sleeps and does not
// come back until the last record, at 60. Task 9 leaves for good.
func switchRecording(o abi.Order) *perftext.Recording {
	var b strings.Builder
	b.WriteString(`event sched:sched_switch type=tracepoint config=1 period=1 ids=1 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all
event sched:sched_wakeup type=tracepoint config=2 period=1 ids=2 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all
comm t=1 pid=7 comm=seven
`)
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
	fmt.Fprintf(&b, "sample t=15 pid=8 cpu=0 id=2 raw=%s kernel 0xffffffff81000009\n", raw(7))
	fmt.Fprintf(&b, "sample t=60 pid=8 cpu=0 id=2 raw=%s kernel 0xffffffff81000009\n", raw(99))
	rec := perftext.MustParse(b.String())
	rec.Features.TracingData = switchFormats(o).AppendTo(nil)
	return rec
}

// TestOffCPU: times by stack and state, of a file, a pipe and live, in either byte order.
func TestOffCPU(t *testing.T) {
	want := []string{
		"0xffffffff8100000a interruptible [1 5 5 0 10]",
		"0xffffffff8100001e preempted [1 0 7 0 7]",
		"0xffffffff81000028 uninterruptible [1 0 0 20 0]",
	}
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		rec := switchRecording(o)
		opts := Options{OffCPU: true}
		check := func(way string, s *stacks.Set, st Stats, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", way, err)
			}
			var got []string
			for i := range s.NumSamples() {
				x := s.Sample(i)
				state, _ := s.Label(x.Labels, OffCPUState)
				comm, _ := s.Label(x.Labels, "comm")
				if comm.Str != "seven" {
					t.Errorf("%s: comm %q", way, comm.Str)
				}
				got = append(got, fmt.Sprintf("%#x %s %v", s.Locations[s.Stack(x.Stack)[0]].Addr, state.Str, x.Values))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || st.OffCPU.Dead != 1 || st.OffCPU.Lost != 0 || st.LatePoints != 0 {
				t.Errorf("%s:\n%q\n%q\n%+v", way, got, want, st.OffCPU)
			}
		}
		for _, f := range []perftext.Form{{Order: o}, {Order: o, Pipe: true}} {
			whole, err := rec.Assemble(f)
			if err != nil {
				t.Fatal(err)
			}
			s, st, err := convertBytes(whole, f.Pipe, opts)
			check(f.String(), s, st, err)
		}
		live := opts
		live.Formats = payload.New(switchFormats(o))
		s, st, err := convertLive(rec, o, live)
		check("live", s, st, err)
	}
}
