//go:build !portable

package main

import (
	"context"
	"time"

	"kprof/convert"
	"kprof/convert/live"
	"kprof/convert/page"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/record"
	"kprof/record/capture"
)

// livePeriod is how often a page that is looked at while recording shows more.
const livePeriod = 2 * time.Second

// liveView shows on a page what there is so far of a recording, which goes its own way.
type liveView struct {
	shown *shownPages
	start func() // serves the page, when there is one
}

// liveViewSink is a sink of which pages show what there is so far.
type liveViewSink struct {
	sink
	view    *liveView
	sofar   *stacks.Set
	bound   replay.Bound  // of sofar
	left    int           // samples whose times are not in sofar any more, as a page has no room for them
	unseen  bool          // some of it is on no page yet
	periods *live.Periods // nil when pages show no more
	stop    context.CancelFunc
}

func (v *liveView) newSink(ctx context.Context, f *recordFlags, out output, c *capture.Capture) (sink, error) {
	recorded, err := f.newSink(ctx, out, c)
	if err != nil {
		return nil, err
	}
	s := &liveViewSink{sink: recorded, view: v}
	most, err := f.tableMemory()
	if err != nil {
		return nil, err
	}
	s.bound = replay.NewBound(most / 4) // the rest is for single periods
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if s.periods, err = f.newPeriods(ctx, out, c, livePeriod, true, s.take); err != nil {
		s.stop()
		noMorePages(err)
	}
	return s, nil
}

func noMorePages(why error) {
	messagef("the page shows no more until the recording has ended: %v", worded(why))
}

// mostComments is how many comments of periods a live page has, such as what was lost in one.
const mostComments = 100

// add adds a period to what there is so far.
func (s *liveViewSink) add(period *stacks.Set) {
	period.BlockSums = nil // which no page has
	if s.left > 0 {
		s.left += len(period.TimedSamples)
		period.TimedSamples = nil
	}
	if s.sofar == nil {
		s.sofar = period
	} else {
		s.bound.Add(s.sofar, period)
	}
	if n := len(s.sofar.TimedSamples); n > page.MaxTimes {
		s.left, s.sofar.TimedSamples = n, nil
	}
	s.sofar.Comments = s.sofar.Comments[:min(len(s.sofar.Comments), mostComments)]
}

// take adds a period to what is shown.
func (s *liveViewSink) take(c *convert.Profile) error {
	p := &profile{c}
	if p.Set.NumSamples() > 0 {
		s.unseen = true
		s.add(p.Set)
	}
	if !s.unseen || s.view.shown.tabs != nil && s.view.shown.tabs.Waiting() == 0 {
		return nil // nothing is new, or nobody looks
	}
	comments := s.sofar.Comments
	defer func() { s.sofar.Comments = comments }()
	p.Set, p.Stats = s.sofar, replay.Stats{}
	s.bound.Count(p.Set, &p.Stats)
	p.AddLosses()
	if err := s.view.shown.showLive(p, s.left); err != nil {
		return err
	}
	s.unseen = false
	s.view.start()
	return nil
}

func (s *liveViewSink) Write(a, b []byte) error {
	if err := s.sink.Write(a, b); err != nil {
		return err
	}
	return s.preview(func() error { return s.periods.Write(a, b) })
}

func (s *liveViewSink) FinishRound() error {
	if err := s.sink.FinishRound(); err != nil {
		return err
	}
	return s.preview(func() error { return s.periods.FinishRound() })
}

// preview does what is for the page, whose failure is not the recording's.
func (s *liveViewSink) preview(do func() error) error {
	if s.periods == nil {
		return nil
	}
	if err := do(); err != nil {
		noMorePages(err)
		s.end()
	}
	return nil
}

func (s *liveViewSink) end() {
	s.stop()
	_ = s.periods.Close() // of the last period there is no page
	s.periods = nil
}

func (s *liveViewSink) finish(ctx context.Context, stats *record.Stats) error {
	if s.periods != nil {
		s.end()
	}
	return s.sink.finish(ctx, stats)
}
