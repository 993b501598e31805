package record

import (
	"encoding/binary"
	"testing"
	"time"

	"kprof/perfevent/abi"
)

// TestCopying: an event has its twin in its place from when a program begins that needs it,
// until all processes that run one have ended or run another.
func TestCopying(t *testing.T) {
	needs := map[int]bool{2: true, 3: true}
	e := &recordedEvent{twin: &recordedEvent{asleep: true}}
	s := &Session{events: []*recordedEvent{e, e.twin}}
	s.opts.CopiesIf = func(pid int) bool { return needs[pid] }
	s.opts.Target.EnableOnExec = true
	c := s.watchPrograms()
	defer close(c.end)
	record := func(typ abi.RecordType, misc abi.Misc, words ...uint32) {
		h := abi.Header{Type: typ, Misc: misc, Size: uint16(abi.HeaderSize + 4*max(len(words), 6))}
		rec := h.AppendTo(nil, abi.LittleEndian)
		for i := range max(len(words), 6) {
			w := uint32(0)
			if i < len(words) {
				w = words[i]
			}
			rec = binary.LittleEndian.AppendUint32(rec, w)
		}
		c.take(rec)
	}
	exec := func(pid uint32) {
		record(abi.RecordComm, abi.MiscCommExec, pid, pid)
		for len(c.asked) > 0 || len(c.answers) == 0 { // another goroutine answers
			time.Sleep(time.Millisecond)
		}
	}
	for i, x := range []struct {
		do     func()
		copies bool
	}{
		{func() { exec(1) }, false},
		{func() { record(abi.RecordComm, 0, 2, 2) }, false}, // a name, and no other program
		{func() { exec(2) }, true},
		{func() { record(abi.RecordFork, 0, 4, 2, 4, 2) }, true},  // which runs the same
		{func() { record(abi.RecordExit, 0, 2, 1, 20, 2) }, true}, // a thread
		{func() { record(abi.RecordExit, 0, 2, 1, 2, 2) }, true},
		{func() { exec(4) }, false},
		{func() { exec(3) }, true},
		{func() { record(abi.RecordExit, 0, 3, 1, 3, 2) }, false},
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

// TestCopyingInterval: rings are looked into often while programs begin.
func TestCopyingInterval(t *testing.T) {
	var none *copying
	c := &copying{asked: make(chan uint32, 1)}
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
