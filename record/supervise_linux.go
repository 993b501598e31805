package record

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Supervised is a Command that is recorded until it ends, or until a signal asks the
// recording to end.
type Supervised struct {
	*Command
	signals  <-chan os.Signal
	witness  *Witness
	stop     func()
	started  bool          // Start has been called
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
const commandEnds = time.Second

// Supervise launches a command, for Start to let it go. When it ends, stop is called,
// which ends the recording. The first of the signals does so too:
//
//   - one that went to our whole process group, such as Ctrl-C, has reached the command
//     as well;
//   - of those that went to us alone, SIGINT and SIGQUIT end the recording, and then the
//     command, as they do with perf record; others are passed on.
//
// The command is recorded while it takes its leave, for 3 seconds. If it stays, the
// recording ends, and the command is asked to end with SIGTERM.
func Supervise(argv []string, signals <-chan os.Signal, stop func()) (*Supervised, error) {
	c, err := Launch(argv, LaunchOptions{})
	if err != nil {
		return nil, err
	}
	witness, err := StartWitness()
	if err != nil {
		return nil, errors.Join(err, c.Release())
	}
	return &Supervised{Command: c, signals: signals, witness: witness, stop: stop, done: make(chan struct{})}, nil
}

// Start lets the command go.
func (c *Supervised) Start() error {
	c.started = true
	if c.startErr = c.Command.Start(); c.startErr != nil {
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

func (c *Supervised) supervise() {
	var s os.Signal
	select {
	case s = <-c.signals:
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

// Runs reports whether the command has been started, and has not ended yet.
func (c *Supervised) Runs() bool {
	select {
	case <-c.done:
		return false
	default:
		return c.started && c.startErr == nil
	}
}

// Outlasts reports whether the command goes on although the recording has ended: one
// whose end has ended the recording is given a moment.
func (c *Supervised) Outlasts() bool {
	select {
	case <-c.done:
		return false
	case <-time.After(commandEnds):
		return c.Runs()
	}
}

// Ending is what became of a command.
type Ending struct {
	Started  bool
	StartErr error // why it could not be run

	// Before is the signal that ended the command before it was started, 0 for none.
	Before unix.Signal

	Code int   // its exit code, as shells have it
	Err  error // of waiting
}

// End waits for the end of the command, if it was started, and gives back what
// supervising it took.
func (c *Supervised) End() Ending {
	defer func() { _ = c.witness.Close() }()
	e := Ending{Started: c.started, StartErr: c.startErr}
	if !c.started || c.startErr != nil {
		_ = c.Release()
		if code, err := c.Wait(); err == nil && code > 128 {
			e.Before = unix.Signal(code - 128)
		}
		return e
	}
	<-c.done
	e.Code, e.Err = c.code, c.err
	return e
}
