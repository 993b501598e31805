//go:build !portable

package main

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"kprof/convert"
	"kprof/record"
)

// supervised is a command that is being recorded.
type supervised struct {
	*record.Command
	signals  *signals
	witness  *record.Witness
	stop     func()        // ends the recording
	started  bool          // start has been called
	startErr error         // why the command could not be run
	done     chan struct{} // closed when the command has ended
	code     int
	err      error // of waiting
}

// grace is how long a command may take to end after a signal, still recorded,
// before the recording ends without it.
const grace = 3 * time.Second

// commandEnds is how long it may take to learn that the command has ended, which
// has ended the recording.
const commandEnds = 100 * time.Millisecond

// launch prepares a command; start lets it go. When it ends, stop is called.
func launch(argv []string, signals *signals, stop func()) (*supervised, error) {
	c, err := record.Launch(argv, record.LaunchOptions{})
	if err != nil {
		messagef("%v", err)
		return nil, exitError{record.ExitCode(err)}
	}
	witness, err := record.StartWitness()
	if err != nil {
		return nil, errors.Join(err, c.Release())
	}
	return &supervised{Command: c, signals: signals, witness: witness, stop: stop, done: make(chan struct{})}, nil
}

// start lets the command go.
func (c *supervised) start() error {
	c.started = true
	if c.startErr = c.Start(); c.startErr != nil {
		return c.startErr
	}
	go func() {
		defer close(c.done)
		c.code, c.err = c.Wait()
		c.stop()
	}()
	go c.supervise()
	return nil
}

// supervise ends the recording when a signal asks for it. One that went to our
// whole process group, such as Ctrl-C, has reached the command as well. Of those
// that went to us alone, SIGINT and SIGQUIT end the recording, and then the
// command, as they do with perf record; others are passed on. The command is
// recorded while it takes its leave. If it stays, the recording ends, and the
// command is asked to end with SIGTERM.
func (c *supervised) supervise() {
	var s os.Signal
	select {
	case s = <-c.signals.first:
	case <-c.done:
		return
	}
	wait := grace
	switch {
	case c.witness.Saw(s):
	case s == unix.SIGINT || s == unix.SIGQUIT:
		wait = 0
	case s == unix.SIGABRT: // a watchdog's, of which the command is not to leave a core
		_ = c.Signal(unix.SIGTERM)
	default:
		_ = c.Signal(s)
	}
	select {
	case <-time.After(wait):
		c.stop()
		_ = c.Signal(unix.SIGTERM)
	case <-c.done:
	}
}

// outlasts reports whether the command goes on although the recording has ended.
func (c *supervised) outlasts() bool {
	select {
	case <-c.done:
		return false
	case <-time.After(commandEnds):
		return c.started && c.startErr == nil
	}
}

// result turns the outcome of the recording and that of the command into one. A
// recording that failed is told of at once, while the command goes on: it is the
// command's exit code that counts, or exitFailed in the place of 0.
func (c *supervised) result(failed error) error {
	defer func() { _ = c.witness.Close() }()
	if !c.started || c.startErr != nil {
		_ = c.Release()
		if code, err := c.Wait(); err == nil && code > 128 {
			messagef("%v before the command was started", unix.Signal(code-128))
			return exitError{code}
		}
	}
	switch {
	case c.startErr != nil:
		messagef("%v", c.startErr)
		return exitError{record.ExitCode(c.startErr)}
	case !c.started:
		return failed
	}
	if failed != nil {
		select {
		case <-c.done:
			messagef("%v", failed)
		default:
			messagef("%v; the command goes on and is not recorded any more", failed)
		}
	}
	<-c.done
	if errors.As(failed, new(*convert.EmptyError)) && c.err == nil {
		failed = nil // it has been told
	}
	switch {
	case c.err != nil:
		return c.err
	case c.code != 0:
		return exitError{c.code}
	case failed != nil:
		return exitError{exitFailed}
	}
	return nil
}
