//go:build !portable

package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"kprof/convert/outfile"
	"kprof/perfevent/event"
	"kprof/record"
	"kprof/record/capture"
	"kprof/record/control"
)

// controlFlags say when events are sampled.
type controlFlags struct {
	delay string
	where string
	on    []string // events that have others enabled
	off   []string // and disabled
}

func (f *controlFlags) flags(fl *pflag.FlagSet) {
	defer under(fl, headingWhen)()
	fl.StringVarP(&f.delay, "delay", "D", "", "begin to sample after so many `ms`, or a time like 2s; -1 for when --control says so")
	fl.StringVar(&f.where, "control", "", "take commands (enable, disable, snapshot, stop, ping, evlist) from `fifo:CTL[,ACK]` or fd:CTL[,ACK], as perf does")
	fl.StringArrayVar(&f.on, "enable-on", nil, "begin to sample when this `event` happens, which is recorded too; 'EVENT if FILTER' for some of it")
	fl.StringArrayVar(&f.off, "disable-on", nil, "sample no more when this `event` happens, until --enable-on's or --control's enable")
}

// addTriggers adds the events at which something is to be done.
func (f *recordFlags) addTriggers(o *record.Options) error {
	return errors.Join(
		addTriggers(o, f.parts.on, event.TriggerPart),
		addTriggers(o, f.when.on, event.TriggerEnable),
		addTriggers(o, f.when.off, event.TriggerDisable),
	)
}

// wait is how long nothing is sampled at first, below 0 for until somebody says so.
func (f *controlFlags) wait() (time.Duration, error) {
	if f.delay == "" {
		return 0, nil
	}
	if len(f.on) > 0 {
		return 0, usagef("-D and --enable-on both say when sampling begins: give one of them")
	}
	if ms, err := strconv.Atoi(f.delay); err == nil && ms >= -1 && ms <= math.MaxInt32 {
		if ms == -1 && f.where == "" {
			return 0, usagef("-D -1 samples when --control says so: give it too")
		}
		return time.Duration(ms) * time.Millisecond, nil
	}
	d, err := time.ParseDuration(f.delay)
	if err != nil || d < 0 {
		return 0, usagef("-D %q: wants a number of milliseconds, a time like 2s, or -1", f.delay)
	}
	return d, nil
}

// channels are what commands come from, and where they are acknowledged.
type channels struct {
	commands, acks *os.File // the latter may be nil
}

// open opens what --control names; nil for nothing.
func (f *controlFlags) open() (*channels, error) {
	if f.where == "" {
		return nil, nil
	}
	kind, names, _ := strings.Cut(f.where, ":")
	ctl, ack, both := strings.Cut(names, ",")
	open := openNamedPipe
	switch {
	case kind == "fd":
		open = openDescriptor
	case kind != "fifo":
		ctl = ""
	}
	if ctl == "" || both && ack == "" {
		return nil, usagef("--control %q: wants fifo:CTL[,ACK] or fd:CTL[,ACK]", f.where)
	}
	var c channels
	var err error
	if c.commands, err = open(ctl); err == nil && both {
		c.acks, err = open(ack)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("--control: %w", err), c.close())
	}
	return &c, nil
}

func (c *channels) close() error {
	var errs []error
	for _, f := range []*os.File{c.commands, c.acks} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// openNamedPipe opens a named pipe that nobody else has put there, for reading and writing: so
// it does not end when whoever writes or reads goes, and is not waited for.
func openNamedPipe(name string) (*os.File, error) {
	at, err := outfile.Find(name)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	return at.Pipe()
}

// openDescriptor takes a descriptor that we have.
func openDescriptor(number string) (*os.File, error) {
	n, err := strconv.Atoi(number)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("%q is not the number of an open descriptor", number)
	}
	fd, err := unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, &os.PathError{Op: "dup", Path: "fd " + number, Err: err}
	}
	return os.NewFile(uintptr(fd), "fd "+number), nil
}

// controlled does commands to a session.
type controlled struct {
	*capture.Capture
	sink sink
	end  func()
}

func (c *controlled) Stop() error { c.end(); return nil }

// Snapshot begins another file.
func (c *controlled) Snapshot() error {
	p, ok := c.sink.(interface{ Switch() })
	if !ok {
		return errors.New("a snapshot is for --flight, --switch-output and --every")
	}
	p.Switch()
	return nil
}

func (c *controlled) List() error {
	for _, e := range c.Events() {
		messagef("%s", e.Name)
	}
	return nil
}

// serve takes commands in the background, until the recording ends.
func (c *channels) serve(s *controlled) {
	var acks io.Writer
	if c.acks != nil {
		acks = c.acks
	}
	err := control.Serve(c.commands, acks, s, func(command string, err error) {
		messagef("--control: %q: %v", command, err)
	})
	if err != nil && !errors.Is(err, os.ErrClosed) {
		messagef("--control: %v; no command is taken any more", err)
	}
}

// control has the recording be controlled by what the flags say. What it returns is to be
// called when the events record.
func (f *recordFlags) control(o *record.Options) (c *channels, begin func(*capture.Capture), err error) {
	wait, err := f.when.wait()
	if err != nil {
		return nil, nil, err
	}
	if c, err = f.when.open(); err != nil {
		return nil, nil, err
	}
	o.Disabled = wait != 0
	return c, func(s *capture.Capture) {
		if wait > 0 {
			time.AfterFunc(wait, func() {
				if err := s.Enable(""); err != nil && !errors.Is(err, os.ErrClosed) {
					messagef("%v", err)
				}
			})
		}
	}, nil
}
