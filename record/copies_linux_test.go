package record

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"
	"time"

	"kprof/perfevent/abi"
)

// copyingTest is a session that copies stacks of the processes that need it.
type copyingTest struct {
	*copying
	event *recordedEvent
	now   uint64 // time of records
}

// newCopyingTest returns one in which copies says whether a process needs them.
func newCopyingTest(t *testing.T, copies func(pid int) bool) *copyingTest {
	e := &recordedEvent{twin: &recordedEvent{asleep: true}}
	s := &Session{events: []*recordedEvent{e, e.twin}, sideband: &recordedEvent{}}
	s.sideband.Attr = abi.Attr{SampleType: abi.SampleTime, Flags: abi.FlagSampleIDAll}
	s.opts.CopiesIf = copies
	s.opts.Target.EnableOnExec = true
	c := &copyingTest{copying: s.watchPrograms(), event: e}
	t.Cleanup(func() { close(c.end) })
	return c
}

// record has a record taken, of the words and the time at its end.
func (c *copyingTest) record(typ abi.RecordType, misc abi.Misc, words ...uint32) {
	h := abi.Header{Type: typ, Misc: misc, Size: uint16(abi.HeaderSize + 4*6 + 8)}
	rec := h.AppendTo(nil, abi.LittleEndian)
	for i := range 6 {
		w := uint32(0)
		if i < len(words) {
			w = words[i]
		}
		rec = binary.LittleEndian.AppendUint32(rec, w)
	}
	c.take(binary.LittleEndian.AppendUint64(rec, c.now))
}

func (c *copyingTest) exec(pid uint32)         { c.record(abi.RecordComm, abi.MiscCommExec, pid, pid) }
func (c *copyingTest) fork(parent, pid uint32) { c.record(abi.RecordFork, 0, pid, parent, pid, parent) }
func (c *copyingTest) exit(pid uint32)         { c.record(abi.RecordExit, 0, pid, 1, pid, 1) }

// answer waits until another goroutine has answered.
func (c *copyingTest) answer() {
	for len(c.asked) > 0 || len(c.answers) == 0 {
		time.Sleep(time.Millisecond)
	}
}

// TestCopying: an event has its twin in its place from when a program begins that needs it,
// until all processes that run one have ended or run another.
func TestCopying(t *testing.T) {
	needs := map[int]bool{2: true, 3: true}
	c := newCopyingTest(t, func(pid int) bool { return needs[pid] })
	e := c.event
	exec := func(pid uint32) {
		c.exec(pid)
		c.answer()
	}
	for i, x := range []struct {
		do     func()
		copies bool
	}{
		{func() { exec(1) }, false},
		{func() { c.record(abi.RecordComm, 0, 2, 2) }, false}, // a name, and no other program
		{func() { exec(2) }, true},
		{func() { c.fork(2, 4) }, true},                             // which runs the same
		{func() { c.record(abi.RecordExit, 0, 2, 1, 20, 2) }, true}, // a thread
		{func() { c.exit(2) }, true},
		{func() { exec(4) }, false},
		{func() { exec(3) }, true},
		{func() { c.exit(3) }, false},
	} {
		x.do()
		if err := c.step(); err != nil {
			t.Fatal(err)
		}
		if e.asleep != x.copies || e.twin.asleep == x.copies || c.copies != x.copies {
			t.Errorf("step %d: asleep %v, its twin %v, want copies %v", i, e.asleep, e.twin.asleep, x.copies)
		}
	}
	c.began = time.Now() // however long the steps took
	if !c.met || c.interval() != programInterval {
		t.Errorf("a program was met that needs copies: %v, %v", c.met, c.interval())
	}
	if c.changes != 4 {
		t.Errorf("%d changes", c.changes)
	}
}

// TestCopyingLate: what has happened by the time that it is known what a process runs, or by
// that records of another CPU are read, counts too.
func TestCopyingLate(t *testing.T) {
	for name, x := range map[string]struct {
		needs   int // the process that is found to need copies
		do      func(c *copyingTest)
		answers int      // that there are
		want    []uint32 // processes of which stacks are copied in the end
	}{
		"it has ended":          {7, func(c *copyingTest) { c.exec(7); c.exit(7) }, 1, nil},
		"it has started one":    {7, func(c *copyingTest) { c.exec(7); c.fork(7, 8) }, 1, []uint32{7, 8}},
		"what is left of it":    {9, func(c *copyingTest) { c.exec(7); c.fork(7, 8); c.fork(8, 9); c.exit(7); c.exit(8) }, 2, []uint32{9}},
		"none is left":          {9, func(c *copyingTest) { c.exec(7); c.fork(7, 9); c.exit(9); c.exit(7) }, 1, nil},
		"another of its number": {7, func(c *copyingTest) { c.exec(7); c.exit(7); c.fork(1, 7); c.exec(7) }, 2, []uint32{7}},
		"it runs another":       {8, func(c *copyingTest) { c.exec(7); c.fork(7, 8); c.exec(7) }, 3, []uint32{8}},
		"it runs another soon":  {7, func(c *copyingTest) { c.exec(7); c.exec(7) }, 2, []uint32{7}},
		"its end is read before its beginning": {7, func(c *copyingTest) {
			c.now = 2
			c.exit(7)
			c.now = 1
			c.exec(7)
		}, 0, nil},
		"that of what it started is": {7, func(c *copyingTest) {
			c.exec(7)
			c.now = 2
			c.exit(8)
			c.now = 1
			c.fork(7, 8)
		}, 1, []uint32{7}},
	} {
		t.Run(name, func(t *testing.T) {
			gate := make(chan bool)
			c := newCopyingTest(t, func(pid int) bool { <-gate; return pid == x.needs })
			x.do(c)
			if err := c.step(); err != nil {
				t.Fatal(err)
			}
			close(gate)
			for answers := x.answers; answers > 0; answers-- {
				c.answered(<-c.answers)
			}
			if err := c.step(); err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(c.needed)); !slices.Equal(got, x.want) || c.copies != (len(got) > 0) {
				t.Errorf("stacks are copied of %d, want %d; %v", got, x.want, c.copies)
			}
		})
	}
}

// TestCopyingRounds: of what was taken two rounds ago nothing later can be read any more.
func TestCopyingRounds(t *testing.T) {
	c := newCopyingTest(t, func(int) bool { return true })
	c.now = 1
	c.exit(7)
	for range 2 {
		if err := c.step(); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.latest)+len(c.before) > 0 {
		t.Errorf("kept: %v, %v", c.latest, c.before)
	}
}

// TestCopyingInterval: rings are looked into often while programs begin.
func TestCopyingInterval(t *testing.T) {
	var none *copying
	c := &copying{waiting: map[uint32]*question{}, latest: map[uint32]uint64{}, asked: make(chan *question, 1)}
	if none.interval() < time.Hour || c.interval() < time.Hour {
		t.Errorf("%v, %v", none.interval(), c.interval())
	}
	if c.met = true; c.interval() != quietInterval {
		t.Errorf("a program was met that needs copies: %v", c.interval())
	}
	const o = abi.LittleEndian
	rec := o.AppendUint32(nil, uint32(abi.RecordComm))
	rec = o.AppendUint16(rec, uint16(abi.MiscCommExec))
	c.take(append(rec, make([]byte, 26)...))
	if c.interval() != programInterval {
		t.Errorf("a program has begun: %v", c.interval())
	}
	if c.began = c.began.Add(-moment); c.interval() != quietInterval {
		t.Errorf("it was a while ago: %v", c.interval())
	}
}
