//go:build !portable

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/convert/live"
	"kprof/convert/printable"
	"kprof/convert/store"
	"kprof/record"
	"kprof/record/capture"
)

// recordPush is the flags of kprof record that have profiles sent to a store.
type recordPush struct {
	sendFlags
	to        string
	every     time.Duration
	outputSet bool

	sending *store.Sender
	before  store.Losses
	ended   bool // the recording is over, and what is left is sent
}

func (f *recordPush) flags(c *cobra.Command) {
	fl := c.Flags()
	defer under(fl, headingSend)()
	fl.StringVar(&f.to, "push", "", "`URL` of a store of profiles, which gets one each period; nothing is written")
	f.sendFlags.flags(c)
	fl.Lookup("set-label").Usage = "with --push: `KEY=VALUE`, a label of the profiles"
}

// pushMemory bounds what waits to be sent without a spool.
const pushMemory = 64 << 20

// recordAndPush is kprof record --push.
func (f *recordFlags) recordAndPush(ctx context.Context) error {
	p := &f.push
	p.every, f.parts.every = f.parts.every, 0
	switch {
	case f.parts.given() || f.parts.most != 0:
		return usagef("--push makes no files: without --switch-output, --flight, --on and --switch-max-files")
	case p.outputSet || f.open:
		return usagef("--push sends profiles and writes none: without -o, -f and --open")
	case p.every == 0:
		p.every = 10 * time.Second
	case p.every < leastPeriod:
		return usagef("--every %v: wants at least %v", p.every, leastPeriod)
	case p.every >= cmp.Or(p.maxAge, time.Hour): // each would be too old
		return usagef("--every %v: a store takes nothing that began %v ago; --spool-age says what yours takes", p.every, cmp.Or(p.maxAge, time.Hour))
	}
	labels, err := p.labels([]string{""})
	if err != nil {
		return err
	}
	retrying := p.retrying()
	sender, end, err := p.sendFlags.sender(p.to, store.SenderOptions{
		Pieces: store.PieceOptions{Labels: labels[0]}, MaxMemory: pushMemory,
		Retrying: func(err error, wait time.Duration) {
			if p.ended { // before, pushSink.take says it
				retrying(err, wait)
			}
		},
	})
	if err != nil {
		return err
	}
	defer end()
	p.sending, p.before = sender, sender.Counts().Lost
	return f.record(ctx, output{format: export.Pprof})
}

// pushSink makes profiles of periods and sends them.
type pushSink struct {
	*live.Periods
	f       *recordPush
	signals *signals
	stop    context.CancelFunc // of sending between periods
	unasked func()             // by signals

	failing bool   // the store took nothing the last time
	room    noRoom // in the spool
	late    int    // profiles that were too old when they ended
}

func (p *recordPush) newSink(ctx context.Context, f *recordFlags, out output, c *capture.Capture) (*pushSink, error) {
	s := &pushSink{f: p, signals: f.sym.signals, room: noRoom{one: "profile", many: "profiles"}}
	sending, stop := context.WithCancel(ctx)
	s.stop = stop
	var err error
	s.Periods, err = f.newPeriods(context.WithoutCancel(ctx), out, c, p.every, false, func(p *convert.Profile) error { return s.take(sending, p) })
	if err != nil {
		stop()
		return nil, err
	}
	s.unasked = f.askForFiles(s.Switch)
	return s, nil
}

// take sends the profile of a period, or keeps it for later.
func (s *pushSink) take(ctx context.Context, p *convert.Profile) error {
	if voice.verbose {
		say(p.Warnings)
	}
	if p.Set.NumSamples() == 0 {
		return nil
	}
	err := s.f.sending.Enqueue(p.Set)
	switch {
	case errors.As(err, new(*store.TooLargeError)):
		messagef("%v", err)
		err = nil
	case errors.As(err, new(*store.TooOldError)): // the machine has slept, or its clock was set
		messagef("a profile is lost: %v", err)
		s.late++
		err = nil
	case err != nil:
		err = fmt.Errorf("--push: %w", err)
	}
	if err := s.room.note(err); err != nil {
		return err
	}
	sent := s.f.sending.Counts().Sent
	limited, end := context.WithTimeout(ctx, s.f.every/2)
	defer end()
	err = s.f.sending.Drain(limited)
	switch {
	case ctx.Err() != nil: // the recording ends: what is left is sent by finish
		return nil
	case err != nil && s.f.sending.Counts().Sent > sent:
		err = nil // it is slow
	case err != nil && limited.Err() != nil:
		err = errors.New("it does not answer in time")
	}
	if failing := err != nil && !errors.Is(err, store.ErrSending); failing != s.failing {
		if s.failing = failing; failing {
			messagef("%s: %v; profiles wait to be sent", s.f.to, err)
		} else {
			notef("%s takes profiles again", s.f.to)
		}
	}
	return nil
}

// finish sends what is left.
func (s *pushSink) finish(ctx context.Context, stats *record.Stats) error {
	s.stop()
	s.unasked()
	err := s.Close()
	reportLosses(stats)
	if err != nil {
		return worded(err)
	}
	ctx, end := s.signals.limited(ctx, s.f.retryFor)
	defer end()
	unkept := s.room.end(s.f.spool)
	s.f.ended = true
	sending := s.f.sending.Drain(ctx)
	if left, failed := s.f.sending.Waiting(); sending != nil && failed == nil && left > 0 && s.f.spool == "" {
		sending = fmt.Errorf("%w; %s lost, which --spool keeps for later", sending, countDoes(left, "profile", "is", "are"))
	}
	sent := s.f.result(s.f.to, s.f.sending, s.f.before, s.room.lost+s.late, sending)
	return cmp.Or(sent, unkept)
}

func (s *pushSink) String() string { return printable.Count(s.f.sending.Counts().Sent, "profile") }
