package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// signals takes the signals that ask a recording to end, from watchSignals to the
// end of the program. The first one is handed out. Those that come within
// signalGrace are taken for the same wish, since Ctrl-C may reach us twice by way
// of a parent that passes it on; a later one kills us, as it would have without
// us: so nobody has to wait for a slow end.
//
// While names are looked up (see during), a signal ends only that, whatever was before.
type signals struct {
	first chan os.Signal // gets one, at most
	in    chan os.Signal

	mu     sync.Mutex
	naming func(os.Signal) // takes the next one
	hangup func()          // takes SIGHUP, see onHangup
	came   bool            // one that counts, since the last rearm
	last   os.Signal       // that counted, nil for none
}

const signalGrace = time.Second

func watchSignals() *signals {
	s := &signals{first: make(chan os.Signal, 1), in: make(chan os.Signal, 4)}
	signal.Notify(s.in, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGABRT)
	// Who reads what we write may be gone. That is an error of writing then, and
	// no death that leaves probes behind.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup wants it
		signal.Notify(s.in, syscall.SIGHUP)
	}
	go s.watch()
	return s
}

// watch hands signals out as they come.
func (s *signals) watch() {
	var at time.Time // of the last that counted
	for sig := range s.in {
		switch {
		case sig == syscall.SIGHUP && s.hangsUp():
			continue
		case !at.IsZero() && time.Since(at) <= signalGrace:
			continue
		case s.endNaming(sig):
		case s.handOut(sig):
		case sig == syscall.SIGQUIT || sig == syscall.SIGABRT:
			// By default Go prints its stacks for these and exits with 2.
			os.Exit(128 + int(sig.(syscall.Signal)))
		default:
			signal.Reset(sig)
			endBy(sig)
		}
		at = time.Now()
	}
}

// handOut hands out a signal, if it is the first.
func (s *signals) handOut(sig os.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.came {
		return false
	}
	s.came, s.last = true, sig
	s.first <- sig
	return true
}

// rearm has the next signal be the first again, that of another piece of work. One
// that nobody has taken was meant for the last.
func (s *signals) rearm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.came = false
	select {
	case <-s.first:
	default:
	}
}

// onHangup has take called by SIGHUP, in the place of what other signals do: it asks a service
// to begin anew, where it means the end to what somebody began at a terminal. nil ends that.
func (s *signals) onHangup(take func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hangup = take
}

func (s *signals) hangsUp() bool {
	s.mu.Lock()
	take := s.hangup
	s.mu.Unlock()
	if take != nil {
		take()
	}
	return take != nil
}

// stopping has the first signal call stop, until ctx ends. After wait, which returns then, the next
// one is for who comes next.
func (s *signals) stopping(ctx context.Context, stop func()) (wait func()) {
	var ending sync.WaitGroup
	ending.Go(func() {
		select {
		case <-s.first:
			stop()
		case <-ctx.Done():
		}
	})
	return ending.Wait
}

// asked is the signal that came last, nil for none.
func (s *signals) asked() os.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// during has naming called by the next signal, until end.
func (s *signals) during(naming func(os.Signal)) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.naming = naming
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.naming = nil
	}
}

func (s *signals) endNaming(sig os.Signal) bool {
	s.mu.Lock()
	naming := s.naming
	s.naming = nil
	if naming != nil {
		s.came, s.last = true, sig
	}
	s.mu.Unlock()
	if naming != nil {
		naming(sig)
	}
	return naming != nil
}

// close leaves signals to what they do by default.
func (s *signals) close() {
	signal.Stop(s.in)
	close(s.in)
}
