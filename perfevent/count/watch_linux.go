package count

import (
	"context"
	"time"
)

// Interval is what was counted between two readings.
type Interval struct {
	At       time.Duration // its end, since the counters were enabled
	Elapsed  time.Duration // its length
	Readings []Reading     // what was counted in it

	// Went and Came are the CPUs that Hotplug tells of; only of the last one.
	Went, Came []int
}

// Watch enables the counters, calls start, and reads them every so often, for each to
// take; 0 reads them once, at the end. The end is that of ctx, or of all the tasks that
// are counted; the counters are disabled then. Watch returns the first error, also that
// of start and of each.
func (s *Session) Watch(ctx context.Context, every time.Duration, start func() error, each func(Interval) error) error {
	if err := s.Enable(); err != nil {
		return err
	}
	begun := time.Now()
	if err := start(); err != nil {
		return err
	}
	var ticks <-chan time.Time
	if every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		ticks = t.C
	}
	var before []Reading
	var last time.Duration
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-s.Exited():
			over = true
		case <-ticks:
		}
		now := Interval{At: time.Since(begun)}
		if over {
			var err error
			if now.Went, now.Came, err = s.Hotplug(); err != nil {
				return err
			}
			if err := s.Disable(); err != nil {
				return err
			}
		}
		readings, err := s.Read()
		if err != nil {
			return err
		}
		now.Elapsed, now.Readings = now.At-last, Since(readings, before)
		before, last = readings, now.At
		if err := each(now); err != nil {
			return err
		}
	}
	return nil
}
