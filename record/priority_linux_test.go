package record

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/event"
)

// TestPriority: the thread that drains runs before others where it may, what it starts does
// not, and afterwards it is as it was.
func TestPriority(t *testing.T) {
	attr := func() *unix.SchedAttr {
		a, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	done := make(chan struct{})
	go func() { // a thread that keeps SCHED_FLAG_RESET_ON_FORK is nobody else's
		defer close(done)
		was := attr()
		restore := raisePriority()
		raised := attr()
		child, err := exec.Command("awk", "/^policy/ { print $3 }", "/proc/self/sched").Output()
		restore()
		if after := attr(); after.Policy != was.Policy || after.Nice != was.Nice {
			t.Errorf("policy %d, nice %d; it was %d, %d", after.Policy, after.Nice, was.Policy, was.Nice)
		}
		if raised.Policy == was.Policy && raised.Nice == was.Nice {
			t.Log("no thread may raise its priority here")
		}
		if raised.Policy == unix.SCHED_RR && raised.Priority != drainPriority || raised.Policy != unix.SCHED_RR && raised.Nice != drainNice {
			t.Errorf("raised to %+v", *raised)
		}
		if p := strings.TrimSpace(string(child)); err == nil && p != "" && p != "0" {
			t.Errorf("what it starts has policy %s", p)
		}
	}()
	<-done
}

// TestUnhurried: the thread of a recording that goes on for days at a low rate is like any
// other.
func TestUnhurried(t *testing.T) {
	const rarely = 250 * time.Millisecond
	for _, c := range []struct {
		name     string
		interval time.Duration
		attrs    []abi.Attr
		want     bool
	}{
		{"often drained", 50 * time.Millisecond, []abi.Attr{{SamplePeriod: 49, Flags: abi.FlagFreq}}, false},
		{"rarely drained", rarely, []abi.Attr{{SamplePeriod: 49, Flags: abi.FlagFreq | abi.FlagInherit}}, true},
		{"often sampled", rarely, []abi.Attr{{SamplePeriod: 999, Flags: abi.FlagFreq}}, false},
		{"with copies of stacks", rarely, []abi.Attr{{SamplePeriod: 49, Flags: abi.FlagFreq, SampleStackUser: 1 << 15}}, false},
		{"sampled by count", rarely, []abi.Attr{{SamplePeriod: 49}}, false},
		{"one of them is", rarely, []abi.Attr{{SamplePeriod: 49, Flags: abi.FlagFreq}, {SamplePeriod: 1}}, false},
	} {
		s := &Session{opts: Options{DrainInterval: c.interval}}
		for _, a := range c.attrs {
			s.events = append(s.events, &recordedEvent{Event: event.Event{Event: perfevent.Event{Attr: a}}})
		}
		if got := s.unhurried(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
