package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
)

// recordingClock reads the clock that stamps the records of an event. The zero
// value gives 0, which stands before everything.
type recordingClock struct {
	known bool
	id    int32 // of clock_gettime(2)
	add   int64 // to what it gives, in ns
}

func (c recordingClock) now() uint64 {
	if !c.known {
		return 0
	}
	t, err := c.read()
	if err != nil {
		return 0
	}
	return uint64(max(t+c.add, 1))
}

func (c recordingClock) read() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(c.id, &ts); err != nil {
		return 0, fmt.Errorf("read clock %d: %w", c.id, err)
	}
	return ts.Nano(), nil
}

// clockTries is how often the clocks are compared; the closest counts.
const clockTries = 5

// newRecordingClock finds the clock of events with attribute a. Events without a
// clock of their own are stamped by the scheduler's, which no system call reads.
// But it runs as evenly as CLOCK_MONOTONIC_RAW, so a record whose time lies
// between two readings of that gives the difference.
func newRecordingClock(a *abi.Attr) (recordingClock, error) {
	if a.Flags&abi.FlagUseClockID != 0 {
		c := recordingClock{known: true, id: a.ClockID}
		_, err := c.read()
		return c, err
	}
	if a.SampleType&abi.SampleTime == 0 {
		return recordingClock{}, nil
	}
	c := recordingClock{known: true, id: unix.CLOCK_MONOTONIC_RAW}
	t := startThread()
	defer t.stop()
	err := t.run(func() error { return c.compare() })
	if err != nil {
		return c, fmt.Errorf("compare clocks: %w", err)
	}
	return c, nil
}

// compare sets add so that now is never late, but a few microseconds early.
func (c *recordingClock) compare() (err error) {
	e := perfevent.Anchor(perfevent.Features{}, 1)
	layout := abi.NewLayout(&e.Attr, native)
	counter, err := perfevent.Open(&e, perfevent.Where{CPU: perfevent.AnyCPU})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counter.Close()) }()
	ring, err := perfevent.MapRing(counter, perfevent.RingBytes(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ring.Close()) }()
	if err := counter.Enable(); err != nil {
		return err
	}
	best := int64(1<<63 - 1)
	for range clockTries {
		before, err := c.read()
		if err == nil {
			err = renameThread()
		}
		if err != nil {
			return err
		}
		after, err := c.read()
		if err != nil {
			return err
		}
		rec, wrapped := ring.Peek()
		if len(rec) < abi.HeaderSize || len(wrapped) > 0 {
			return errors.New("a change of name wrote no record")
		}
		f, ok := layout.DecodeTrailer(rec[abi.HeaderSize:])
		ring.Consume(len(rec))
		if ok && after-before < best {
			best = after - before
			c.add = int64(f.Time) - after
		}
	}
	return nil
}

// renameThread gives the calling thread the name that it has: the kernel tells
// of that as of any other.
func renameThread() error {
	const comm = "/proc/thread-self/comm"
	name, err := os.ReadFile(comm)
	if err != nil {
		return err
	}
	// Written with the newline that reading adds, it would become part of it.
	return os.WriteFile(comm, bytes.TrimSuffix(name, []byte("\n")), 0)
}
