package record

import (
	"errors"
	"os"
	"testing"
	"time"

	"kprof/perfevent/livetest"
)

// TestLiveClosed: what is asked of a session that is closed, whether or not it ran, fails, and so
// does what waited for it to run.
func TestLiveClosed(t *testing.T) {
	livetest.Require(t, livetest.Root)
	s, err := Open(t.Context(), Options{Specs: specs(t, "cpu-clock"), Target: Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		t.Fatal(err)
	}
	enabled := make(chan error, 1)
	go func() { enabled <- s.Enable("cpu-clock") }()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-enabled:
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("enabling an event of a session that did not run: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("Enable waits for a session that is closed")
	}
	ran := false
	if err := s.WithRights(func() error { ran = true; return nil }); !errors.Is(err, os.ErrClosed) || ran {
		t.Errorf("with rights of a closed session: %v, ran: %v", err, ran)
	}
	if _, err := s.Run(t.Context(), newSink(t)); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("a closed session runs: %v", err)
	}
}

// TestLiveClosedWhileRunning: who closes a session that another goroutine runs ends that, as its
// context does, with what was recorded so far.
func TestLiveClosedWhileRunning(t *testing.T) {
	livetest.Require(t, livetest.Root)
	for range 10 {
		began := make(chan struct{})
		s, err := Open(t.Context(), Options{
			Specs: specs(t, "cpu-clock"), Target: Target{PIDs: []int{os.Getpid()}},
			Start: func() error { close(began); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		ran := make(chan error, 1)
		go func() {
			stats, err := s.Run(t.Context(), newSink(t))
			if len(stats.Events) != 2 {
				err = errors.Join(err, errors.New("there are no stats"))
			}
			ran <- err
		}()
		<-began
		if err := errors.Join(s.Close(), <-ran, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
