package store

import (
	"errors"
	"net/http"
	"slices"
)

// later is a request that waits behind the others.
type later struct {
	request *request // without its message, where that is in the spool
	counted bool     // among Counts.Behind: the store has taken others since
	err     error
}

// triesOfOne is how often the store may fail at a request, of several, before another one
// is tried.
const triesOfOne = 3

// putBehind has a request wait for the others.
func (s *Sender) putBehind(r *request, err error) {
	l := &later{request: r}
	if i := s.indexBehind(r); i >= 0 {
		l = s.behind[i]
		s.behind = slices.Delete(s.behind, i, i+1)
	} else if s.o.Spool != nil {
		s.queue = s.queue[1:]
		r.message = nil
	}
	l.err = err
	s.behind = append(s.behind, l)
}

// blame counts the requests behind: the store takes others.
func (s *Sender) blame() {
	for _, l := range s.behind {
		if !l.counted {
			l.counted = true
			s.counts.Behind++
			s.counts.LastFailure = l.err
		}
	}
}

// forgive puts those back that are not counted: it was the store that failed.
func (s *Sender) forgive() {
	s.behind = slices.DeleteFunc(s.behind, func(l *later) bool { return !l.counted })
	s.queue = nil
}

func (s *Sender) indexBehind(r *request) int {
	return slices.IndexFunc(s.behind, func(l *later) bool { return s.same(l.request, r) })
}

// same reports whether two are the same request: what is in a spool is read again and again.
func (s *Sender) same(a, b *request) bool {
	return a == b || s.o.Spool != nil && a.name == b.name
}

// others reports whether there is another request than r.
func (s *Sender) others(r *request) bool {
	if s.o.Spool == nil {
		return len(s.memory) > 1
	}
	n := len(s.queue) + len(s.behind)
	if n == 1 { // some may have been added
		n, _ = s.o.Spool.Len()
	}
	return n > 1
}

// failingError says that the store has failed at a request so often that others are to be
// tried.
type failingError struct{ err error }

func (e *failingError) Error() string { return e.err.Error() }

// mayBeTheRequest reports whether an error that may pass may be one of the request alone: a
// server error, if the store does not ask for patience.
func mayBeTheRequest(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status >= 500 && e.RetryAfter == 0 && e.Code != "resource_exhausted"
}

// failedForGood reports whether a receiver of OTLP has failed at a request for good: it answers 500
// where the error is not to pass, and 503 where it is (the Collector's receiver/otlpreceiver).
func failedForGood(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Protocol == OTLP && e.Status == http.StatusInternalServerError
}
