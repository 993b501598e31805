//go:build linux

package perfevent

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// monotonic is what CLOCK_MONOTONIC says.
func monotonic(t *testing.T) uint64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return uint64(ts.Nano())
}

func TestClock(t *testing.T) {
	if now := (Clock{}).Now(); now != 0 {
		t.Errorf("the zero clock says %d", now)
	}
	c, err := NewClock(&abi.Attr{Flags: abi.FlagUseClockID, ClockID: unix.CLOCK_MONOTONIC})
	if err != nil {
		t.Fatal(err)
	}
	if before, now, after := monotonic(t), c.Now(), monotonic(t); now < before || now > after {
		t.Errorf("%d, between %d and %d", now, before, after)
	}
	if _, err := NewClock(&abi.Attr{Flags: abi.FlagUseClockID, ClockID: 99}); !errors.Is(err, unix.EINVAL) {
		t.Errorf("clock 99: %v", err)
	}
	if c, err := NewClock(&abi.Attr{SampleType: abi.SampleIP}); err != nil || c.Now() != 0 {
		t.Errorf("of events without times: %d, %v", c.Now(), err)
	}
	// What there is before a clock starts is not before everything.
	if now := (Clock{known: true, ID: unix.CLOCK_MONOTONIC, Offset: -1 << 62}).Now(); now != 1 {
		t.Errorf("before its start a clock says %d", now)
	}
}

// TestLiveClock compares the clock of events with the time in a record, which is never
// before what the clock said when its cause was still to come.
func TestLiveClock(t *testing.T) {
	livetest.Require(t, livetest.Root)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e := RingOwner(Features{}, 1)
	clock, err := NewClock(&e.Attr)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(&e, Where{CPU: AnyCPU})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ring, err := MapRing(c, RingBytes(1))
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	if err := c.Enable(); err != nil {
		t.Fatal(err)
	}
	name, err := os.ReadFile("/proc/thread-self/comm")
	if err != nil {
		t.Fatal(err)
	}
	layout := abi.NewLayout(&e.Attr, abi.LittleEndian)
	// The clock of an emulated guest is not stable: where it is ahead of that of all CPUs
	// it waits for their next tick (kernel/sched/clock.c, sched_clock_local).
	waits := int64(0)
	if livetest.InGuest() {
		waits = int64(10 * time.Millisecond)
	}
	last := uint64(0)
	for range hits {
		before := clock.Now()
		if err := RenameThread(); err != nil {
			t.Fatal(err)
		}
		first, wrapped := ring.Peek()
		rec := slices.Concat(first, wrapped)
		if len(rec) < abi.HeaderSize {
			t.Fatalf("a record of %d bytes", len(rec))
		}
		size := int(binary.LittleEndian.Uint16(rec[6:]))
		at, ok := layout.DecodeTrailer(rec[abi.HeaderSize:size])
		if after := int64(at.Time - before); !ok || after < -waits || after > int64(time.Minute) || at.Time < last || at.Time == last && waits == 0 {
			t.Fatalf("a record of %d, after %d and %d (%v)", at.Time, before, last, ok)
		}
		last = at.Time
		ring.Consume(size)
	}
	if again, err := os.ReadFile("/proc/thread-self/comm"); err != nil || string(again) != string(name) {
		t.Errorf("the thread is called %q now, %v; was %q", again, err, name)
	}
}
