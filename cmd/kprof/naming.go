package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// What names are read from may not answer: a file system of a server that is gone, or
// of a process that does not want to. A profile without some names is better than
// none, so that there is an end to waiting.
const (
	namingTime   = 2 * time.Minute  // for all names
	namingNotice = 10 * time.Second // after which it is told
)

// endedError says why naming was ended.
type endedError string

func (e endedError) Error() string { return string(e) }

// limited returns a context that ends by the next signal, or after a time. end is to be
// called when the work is done. Without signals being watched for already, it does
// that in between.
func (s *signals) limited(ctx context.Context, limit time.Duration) (_ context.Context, end func()) {
	unwatch := func() {}
	if s == nil {
		s = watchSignals()
		unwatch = s.close
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(endedError(fmt.Sprintf("it took longer than %v", limit))) })
	forget := s.during(func(sig os.Signal) {
		cancel(endedError("ended by " + signalName(sig)))
	})
	return ctx, func() {
		forget()
		unwatch()
		timer.Stop()
		cancel(nil)
	}
}

// whileNaming is limited for names, and tells when they take long.
func (s *signals) whileNaming(ctx context.Context) (_ context.Context, end func()) {
	naming, ended := s.limited(ctx, namingTime)
	notice := time.AfterFunc(namingNotice, func() {
		notef("still looking for names; a signal (Ctrl-C) ends that, and the profile is written without those that are missing")
	})
	return naming, func() {
		notice.Stop()
		ended()
	}
}
