package record

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/tracefs"
)

func TestLiveRefusals(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	all := Target{AllCPUs: true}
	for name, tt := range map[string]struct {
		o    Options
		want string
	}{
		"filter":        {Options{Specs: specs(t, "sched:sched_switch"), Target: all, Filter: "prev_pid > 0 && nofield == 1"}, "Field not found at byte"},
		"no filter":     {Options{Specs: specs(t, "cpu-clock"), Target: all, Filter: "x == 1"}, "only tracepoints"},
		"no tracepoint": {Options{Specs: specs(t, "sched:sched_swich"), Target: all}, "no tracepoint sched:sched_swich"},
		"no PMU":        {Options{Specs: specs(t, "nosuch/x/"), Target: all}, "no PMU"},
		"pid":           {Options{Specs: specs(t, "cpu-clock"), Target: Target{PIDs: []int{1 << 22}}}, "process 4194304: no such process"},
		"tid":           {Options{Specs: specs(t, "cpu-clock"), Target: Target{TIDs: []int{1 << 22}}}, "thread 4194304: no such process"},
		"cpu":           {Options{Specs: specs(t, "cpu-clock"), Target: Target{AllCPUs: true, CPUs: []int{4000}}}, "cpu 4000 is not online"},
		"frequency":     {Options{Specs: specs(t, "cpu-clock"), Target: all, Frequency: 1 << 30}, "kernel.perf_event_max_sample_rate allows"},
		"stack":         {Options{Specs: specs(t, "cpu-clock"), Target: all, MaxStack: 60000}, "kernel.perf_event_max_stack"},
	} {
		_, err := Open(t.Context(), tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q in it", name, err, tt.want)
		}
	}
	for _, filter := range []string{"nofield == 1", `prev_comm == "a`, "prev_pid == 1)", "(prev_pid == 1"} {
		for _, to := range []Target{all, {PIDs: []int{os.Getpid()}}} {
			_, err := Open(t.Context(), Options{Specs: specs(t, "sched:sched_switch"), Target: to, Filter: filter})
			var bad *tracefs.FilterError
			if !errors.As(err, &bad) || bad.Filter != filter {
				t.Errorf("%v is no FilterError of the user's own filter %s", err, filter)
			}
		}
	}
}

// TestLiveUserOnly asks for no right to see the kernel when no event samples it.
func TestLiveUserOnly(t *testing.T) {
	livetest.Require(t, livetest.Root)
	for events, want := range map[string]bool{"cpu-clock:u,page-faults:u": true, "cpu-clock:u,page-faults": false} {
		all := open(t, Options{Specs: specs(t, events), Target: Target{PIDs: []int{os.Getpid()}}}).Events()
		if got := all[len(all)-1].Attr.Flags&abi.FlagExcludeKernel != 0; got != want {
			t.Errorf("%s: the side-band leaves the kernel out: %v, want %v", events, got, want)
		}
	}
}

// TestLiveUnfilterable has the kernel refuse the joined filter and take the
// user's: one that just fits into the page that the kernel copies. Events that
// know no COMM, such as ftrace:function, take the same way.
func TestLiveUnfilterable(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	filter := "prev_pid >= 0"
	filter += strings.Repeat(" ", os.Getpagesize()-len(filter)-16)
	s := open(t, Options{Specs: specs(t, "sched:sched_switch"), Target: Target{AllCPUs: true}, Filter: filter})
	if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "sched:sched_switch cannot be filtered by task") {
		t.Errorf("notes: %q", notes)
	}
}

// TestLiveSinkFails ends the session with the sink's error, and still counts.
func TestLiveSinkFails(t *testing.T) {
	livetest.Require(t, livetest.Root)
	s := open(t, Options{Specs: specs(t, "cpu-clock"), Target: Target{AllCPUs: true}})
	to := newSink(t)
	to.fail = unix.ENOSPC
	st, err := s.Run(t.Context(), to)
	if !errors.Is(err, unix.ENOSPC) || len(st.Events) != 2 {
		t.Errorf("%v, %+v", err, st)
	}
	if _, err := s.Run(t.Context(), to); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a second run: %v", err)
	}
}
