package tracer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"

	"golang.org/x/sys/unix"
)

// guard is a child that undoes what its parent leaves behind. It is in a session of its
// own, and takes no signal but SIGKILL, so that what ends the parent does not end it.
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File // its end, without the word that all is done, is the parent's
	to   *json.Encoder
}

// guardName is the argv[0] by which the guard knows itself.
const guardName = "kprof: waiting to put the tracer back"

// step is what the guard is told.
type step struct {
	Undo undo
	Done bool // nothing is left to be undone
}

var errNoGuardMain = errors.New("the program did not become a guard; does its main call tracer.GuardMain?")

// GuardMain must be called at the begin of main in every program, or of TestMain in every
// test, that calls Open. It returns at once, except in the guard.
func GuardMain() {
	if len(os.Args) == 1 && os.Args[0] == guardName {
		os.Exit(watch(os.Stdin, os.Stdout))
	}
}

// watch takes steps until their end, and undoes them.
func watch(steps io.Reader, ready *os.File) int {
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGTSTP, unix.SIGUSR1, unix.SIGUSR2)
	if _, err := ready.WriteString("r"); err != nil || ready.Close() != nil {
		return 1
	}
	var all []undo
	for from := json.NewDecoder(steps); ; {
		var s step
		if err := from.Decode(&s); err != nil { // the end, or a step that was cut off, which has not been taken
			break
		}
		if s.Done {
			return 0
		}
		all = append(all, s.Undo)
	}
	if err := undoAll(all); err != nil {
		return 1
	}
	return 0
}

// startGuard starts the guard. What is locked stays so as long as the guard lives.
func startGuard(lock *os.File) (_ *guard, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start what puts the tracer back: %w", err)
		}
	}()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	readyR, readyW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, r.Close(), w.Close())
	}
	defer readyR.Close()
	g := &guard{pipe: w, to: json.NewEncoder(w)}
	g.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{guardName}, Dir: "/", Stdin: r, Stdout: readyW,
		SysProcAttr: &unix.SysProcAttr{Setsid: true},
	}
	if lock != nil {
		g.cmd.ExtraFiles = []*os.File{lock}
	}
	err = errors.Join(g.cmd.Start(), r.Close(), readyW.Close())
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	if n, _ := readyR.Read(make([]byte, 1)); n == 0 {
		return nil, errors.Join(errNoGuardMain, w.Close(), g.cmd.Wait())
	}
	return g, nil
}

// note tells the guard of a step before anything is done that it undoes: what is in the
// pipe is there whatever becomes of this process.
func (g *guard) note(u undo) error {
	if err := g.to.Encode(step{Undo: u}); err != nil {
		return fmt.Errorf("tell what puts the tracer back: %w", err)
	}
	return nil
}

// close lets the guard go, which has nothing left to do.
func (g *guard) close() error {
	err := g.to.Encode(step{Done: true})
	err = errors.Join(err, g.pipe.Close(), g.cmd.Wait())
	if err != nil {
		return fmt.Errorf("end what puts the tracer back: %w", err)
	}
	return nil
}
