package table

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
)

// TestSpans: single times of the events that are asked for, in order; text of labels and
// names reaches no terminal as it is.
func TestSpans(t *testing.T) {
	times := []stacks.ValueType{{Type: "x", Unit: "nanoseconds"}}
	s := stacks.New(stacks.Event{Name: "clock", Values: times}, stacks.Event{Name: "span:x", Values: times},
		stacks.Event{Name: "span:held", Values: []stacks.ValueType{{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"}}})
	m := s.AddMapping(stacks.Mapping{File: "/bin/load"})
	loc := s.AddLocation(m, 0x10, 0)
	comm := func(name string, more ...stacks.Label) stacks.LabelsID {
		return s.InternLabels(append([]stacks.Label{{Key: "comm", Str: name}, {Key: "pid", Num: 7}}, more...))
	}
	add := func(event int, at uint64, v int64, stack stacks.StackID, l stacks.LabelsID) {
		s.AddTimedSample(stacks.TimedSample{Time: at, Sample: uint32(s.Add(event, stack, l, v)), Value: v})
	}
	add(0, 1, 9, s.Intern(nil), comm("other"))
	add(1, 1_000_000_002, 1500, s.Intern([]uint32{loc, loc}), comm("a\x1b[m", stacks.Label{Key: "size", Num: 2048, Unit: "bytes"}))
	add(1, 1_000_000_003, 2500, s.Intern(nil), comm("b\xff", stacks.Label{Key: "ret", Num: -1}))
	add(1, 2_000_000_004, 500, s.Intern(nil), comm("b\xff"))
	s.AddTimedSample(stacks.TimedSample{Time: 5, Sample: uint32(s.Add(2, s.Intern(nil), comm("c"), 4096, 2048)), Value: 2048})
	for _, c := range []struct {
		o    SpansOptions
		want string
	}{
		{SpansOptions{Limit: 2}, "" +
			"     1.000000002      1.5us  a�[m/7 span:x size=2kB\n" +
			"     1.000000003      2.5us  b�/7 span:x ret=-1\n"},
		{SpansOptions{Tail: 1}, "     2.000000004      500ns  b�/7 span:x\n"},
		{SpansOptions{Longest: true, Limit: 2, Stacks: true}, "" +
			"     1.000000003      2.5us  b�/7 span:x ret=-1\n\n" +
			"     1.000000002      1.5us  a�[m/7 span:x size=2kB\n\t[load] (load)\n\t[load] (load)\n\n"},
		{SpansOptions{JSON: true, Limit: 2}, "" +
			`{"event":"span:x","time":1000000002,"duration":1500,"labels":{"comm":"a\u001b[m","pid":7,"size":2048}}` + "\n" +
			`{"event":"span:x","time":1000000003,"duration":2500,"labels":{"comm":"b` + "\uFFFD" + `","pid":7,"ret":-1}}` + "\n"},
		// What is held is no time.
		{SpansOptions{Events: []int{2}}, "     0.000000005        2kB  c/7 span:held\n"},
		{SpansOptions{Events: []int{2}, JSON: true}, `{"event":"span:held","time":5,"value":2048,"unit":"bytes","labels":{"comm":"c","pid":7}}` + "\n"},
	} {
		var b strings.Builder
		if c.o.Events == nil {
			c.o.Events = []int{1}
		}
		if err := Spans(&b, s, c.o); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("%+v: %s", c.o, diff)
		}
	}
	if err := Spans(fullDisk{}, s, SpansOptions{Events: []int{1}}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
