package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"kprof/record"
)

// supervised is a command that is being recorded.
type supervised struct {
	*record.Command
	signals  *signals
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

// launch prepares a command; start lets it go. When it ends, stop is called.
func launch(argv []string, signals *signals, stop func()) (*supervised, error) {
	c, err := record.Launch(argv, record.LaunchOptions{})
	if err != nil {
		messagef("%v", err)
		return nil, exitError{record.ExitCode(err)}
	}
	return &supervised{Command: c, signals: signals, stop: stop, done: make(chan struct{})}, nil
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

// supervise ends the recording when a signal asks for it. Ctrl-C reaches the
// command by itself, since it is in the same process group; other signals are
// passed on. The command is recorded while it takes its leave. If it stays, the
// recording ends, and the command is asked to end with SIGTERM.
func (c *supervised) supervise() {
	select {
	case s := <-c.signals.first:
		if s != os.Interrupt {
			_ = c.Signal(s)
		}
	case <-c.done:
		return
	}
	select {
	case <-time.After(grace):
		c.stop()
		_ = c.Signal(unix.SIGTERM)
	case <-c.done:
	}
}

// result turns the outcome of the recording and that of the command into one:
// a failed recording counts first, then the command's exit code.
func (c *supervised) result(failed error) error {
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
	<-c.done
	switch {
	case failed != nil:
		return failed
	case c.err != nil:
		return c.err
	case c.code != 0:
		return exitError{c.code}
	}
	return nil
}
