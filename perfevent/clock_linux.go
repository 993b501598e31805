package perfevent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
)

// Clock reads the clock that stamps the records of an event. The zero value gives
// 0, which stands before everything.
type Clock struct {
	ID     int32 // of clock_gettime(2)
	Offset int64 // what to add to its time, in ns

	known bool
}

// Now is the time in ns.
func (c Clock) Now() uint64 {
	if !c.known {
		return 0
	}
	t, err := c.read()
	if err != nil {
		return 0
	}
	return uint64(max(t+c.Offset, 1))
}

func (c Clock) read() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(c.ID, &ts); err != nil {
		return 0, fmt.Errorf("read clock %d: %w", c.ID, err)
	}
	return ts.Nano(), nil
}

// clockTries is how often the clocks are compared; the closest counts. One takes
// microseconds, but on a busy machine much may come between.
const clockTries = 20

// NewClock finds the clock of events with attribute a. Events without a
// clock of their own are stamped by the scheduler's, which no system call reads.
// But it runs as evenly as CLOCK_MONOTONIC_RAW, so a record whose time lies
// between two readings of that gives the difference.
func NewClock(a *abi.Attr) (Clock, error) {
	if a.Flags&abi.FlagUseClockID != 0 {
		c := Clock{known: true, ID: a.ClockID}
		_, err := c.read()
		return c, err
	}
	if a.SampleType&abi.SampleTime == 0 {
		return Clock{}, nil
	}
	c := Clock{known: true, ID: unix.CLOCK_MONOTONIC_RAW}
	compared := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends, with its counter and its name
		compared <- c.compare()
	}()
	if err := <-compared; err != nil {
		return c, fmt.Errorf("compare clocks: %w", err)
	}
	return c, nil
}

// compare sets Offset so that Now is never late, but a few microseconds early.
func (c *Clock) compare() (err error) {
	e := RingOwner(Features{}, 1)
	layout := abi.NewLayout(&e.Attr, nativeOrder)
	counter, err := Open(&e, Where{CPU: AnyCPU})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, counter.Close()) }()
	ring, err := MapRing(counter, RingBytes(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ring.Close()) }()
	if err := counter.Enable(); err != nil {
		return err
	}
	name, err := openThreadName()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, name.f.Close()) }()
	best := int64(1<<63 - 1)
	for range clockTries {
		before, err := c.read()
		if err == nil {
			err = name.write()
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
			c.Offset = int64(f.Time) - after
		}
	}
	return nil
}

// RenameThread gives the calling thread the name that it has: into the rings of
// events that ask for names the kernel writes a record of that as of any other.
func RenameThread() error {
	n, err := openThreadName()
	if err != nil {
		return err
	}
	return errors.Join(n.write(), n.f.Close())
}

// threadName is the name of the thread that opened it, and where that is written.
type threadName struct {
	f    *os.File
	name []byte
}

func openThreadName() (*threadName, error) {
	const comm = "/proc/thread-self/comm"
	name, err := os.ReadFile(comm)
	if err != nil {
		return nil, fmt.Errorf("name of the calling thread: %w", err)
	}
	f, err := os.OpenFile(comm, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("rename the calling thread: %w", err)
	}
	// Written with the newline that reading adds, it would become part of it.
	return &threadName{f, bytes.TrimSuffix(name, []byte("\n"))}, nil
}

func (n *threadName) write() error {
	if _, err := n.f.Write(n.name); err != nil {
		return fmt.Errorf("rename the calling thread: %w", err)
	}
	return nil
}
