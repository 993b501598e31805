package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"kprof/record"
)

// Side is a command whose runs go to a directory.
type Side struct {
	Name string // "" if it is the only one
	Dir  string
	// Record returns the command that records a run into a file.
	Record func(file string) []string
}

// Options say what to record. Sides and Output are needed.
type Options struct {
	Sides []Side // their runs take turns
	Runs  int    // of each side. Default: 5
	// Again is how often a run is given up and made again that something disturbed.
	Again  int
	Before []string // command before each run, which is not recorded; none by default

	Ops     float64        // operations of each run, 0 if not known
	OpsFrom *regexp.Regexp // finds them in what the command writes to its standard output

	Output *os.File // of the commands; needed
}

// CommandError says that a command ended with another exit code than 0.
type CommandError struct {
	Command string
	Code    int
	Before  bool // it was Options.Before's, and not a recorder's

	Side   string // Side.Name of the run that it was for
	Number int    // of that run
}

func (e *CommandError) Error() string { return fmt.Sprintf("%s: exit code %d", e.Command, e.Code) }

// keptOutput is how much of a command's output is kept, its end.
const keptOutput = 1 << 20

// Record records the runs, each of which it tells each when it has ended, and writes a List to
// each directory, which it makes. A directory that has files is an error, os.ErrExist.
//
// With several sides their runs take turns, in one order and then in the other, so that what
// changes slowly makes no difference between them.
//
// When ctx ends, the command that runs is sent SIGTERM, and the error is the cause. A run that
// was not recorded to its end, or failed, leaves no file.
func Record(ctx context.Context, o Options, each func(Run)) error {
	if o.Runs <= 0 {
		o.Runs = 5
	}
	for _, s := range o.Sides {
		if err := os.MkdirAll(s.Dir, 0o700); err != nil {
			return err
		}
		entries, err := os.ReadDir(s.Dir)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("%s has files already: %w", s.Dir, os.ErrExist)
		}
	}
	runs := make([][]Run, len(o.Sides))
	for n := range o.Runs {
		for i := range o.Sides {
			if n%2 == 1 {
				i = len(o.Sides) - 1 - i
			}
			r, err := o.run(ctx, &o.Sides[i], n+1)
			if err != nil {
				return err
			}
			runs[i] = append(runs[i], r)
			if err := write(o.Sides[i].Dir, runs[i]); err != nil {
				return err
			}
			each(r)
		}
	}
	return nil
}

// run records one run, again if something disturbed it.
func (o *Options) run(ctx context.Context, s *Side, number int) (r Run, err error) {
	name := strconv.Itoa(number) + ".data"
	for again := 0; ; again++ {
		if err := ctx.Err(); err != nil {
			return r, context.Cause(ctx)
		}
		r, err = o.once(ctx, s.Record(filepath.Join(s.Dir, name)))
		if ctx.Err() != nil {
			err = context.Cause(ctx) // whatever the recorder made of it: there would have been more
		}
		var failed *CommandError
		if errors.As(err, &failed) {
			failed.Side, failed.Number = s.Name, number
		}
		r.File, r.Side, r.Number, r.Again = name, s.Name, number, again
		if err == nil && (len(r.Noise) == 0 || again >= o.Again) {
			return r, nil
		}
		if gone := os.Remove(filepath.Join(s.Dir, name)); err != nil {
			return r, err // it may have made none
		} else if gone != nil {
			return r, gone
		}
	}
}

// once records a run.
func (o *Options) once(ctx context.Context, argv []string) (r Run, err error) {
	if len(o.Before) > 0 {
		_, err := execute(ctx, o.Before, o.Output)
		var failed *CommandError
		if errors.As(err, &failed) {
			failed.Before = true
		}
		if err != nil {
			return r, err
		}
	}
	proc, sysfs := os.DirFS("/proc"), os.DirFS("/sys")
	before, err := conditionsOf(proc, sysfs, time.Now())
	if err != nil {
		return r, err
	}
	out, ends, err := o.output()
	if err != nil {
		return r, err
	}
	cpu, err := execute(ctx, argv, out)
	after, unknown := conditionsOf(proc, sysfs, time.Now())
	written, unwritten := ends()
	if err = cmp.Or(err, unwritten, unknown); err != nil {
		return r, err
	}
	r.Seconds, r.CPU = after.at.Sub(before.at).Seconds(), cpu.Seconds()
	r.Noise = noise(before, after, cpu)
	r.Ops = o.Ops
	if o.OpsFrom != nil {
		r.Ops, err = Ops(written, o.OpsFrom)
	}
	return r, err
}

// execute runs a command to its end, and asks it to end when ctx does.
func execute(ctx context.Context, argv []string, out *os.File) (cpu time.Duration, err error) {
	c, err := record.Launch(argv, record.LaunchOptions{Stdout: out})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Release()) }()
	if err := c.Start(); err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Signal(unix.SIGTERM) }) // or it has ended
	defer stop()
	code, err := c.Wait()
	if err != nil {
		return 0, err
	}
	user, system := c.Times()
	if code != 0 {
		return 0, &CommandError{Command: argv[0], Code: code}
	}
	return user + system, nil
}

// output is where a command writes: the output itself or, if operations are looked for in it,
// a pipe to it. ends returns what has come through, once the command has ended, and why not all
// of it could be written; what the command leaves behind may write on, and is not waited for.
func (o *Options) output() (out *os.File, ends func() ([]byte, error), err error) {
	if o.OpsFrom == nil {
		return o.Output, func() ([]byte, error) { return nil, nil }, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	t := tail{to: o.Output}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&t, r) // ends with the pipe, or by the deadline
	}()
	return w, func() ([]byte, error) {
		_ = w.Close() // a pipe's, to which nothing was written here
		_ = r.SetReadDeadline(time.Now().Add(time.Second))
		<-done
		_ = r.Close()
		return t.kept, t.err
	}, nil
}

// tail passes on what is written to it, and keeps its end. Where that fails, it takes the rest
// all the same, or a command would wait for ever that somebody reads it.
type tail struct {
	to   io.Writer
	err  error // of to
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	if t.err == nil {
		_, t.err = t.to.Write(p)
	}
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*keptOutput {
		t.kept = append([]byte(nil), t.kept[len(t.kept)-keptOutput:]...)
	}
	return len(p), nil
}
