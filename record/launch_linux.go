package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is a process that waits to become the command of a user, so that
// events can be opened on it before its first instruction:
//
//	Launch   starts this program again as a shim, which waits at a pipe
//	         open events on PID, with enable_on_exec and inherit
//	Start    lets the shim exec the command; events follow
//	Wait     reaps it
//
// exec must leave from the main thread: events belong to a task, and when
// another thread execs it takes the place of the leader, whose events are gone.
// So the shim locks its main goroutine to the main thread from init on.
//
// Start and Release belong to one goroutine; Wait may be called by another at
// the same time, also before Start.
type Command struct {
	argv   []string
	cmd    *exec.Cmd
	gate   *os.File // a byte lets the shim go, its end makes the shim exit; nil after Start and Release
	status *os.File // errno of a failed exec; its end means success

	wait sync.Once
	code int
	err  error
}

// LaunchOptions are what a command inherits. The zero value is what the caller
// itself has.
type LaunchOptions struct {
	Dir                   string
	Env                   []string
	Stdin, Stdout, Stderr *os.File
}

// shimName is the argv[0] by which the shim knows itself.
const shimName = "kprof: waiting to exec"

const (
	shimGate   = 3 // file descriptors of the shim
	shimStatus = 4
)

func isShim() bool { return len(os.Args) > 2 && os.Args[0] == shimName }

func init() {
	if isShim() {
		runtime.LockOSThread()
	}
}

// ShimMain must be the first call of main in every program, or TestMain of every
// test, that calls Launch. It returns at once, except in the shim.
func ShimMain() {
	if isShim() {
		shim(os.Args[1], os.Args[2:])
	}
}

// shim waits for the gate and becomes the command; it does not return.
func shim(path string, argv []string) {
	unix.CloseOnExec(shimGate)
	unix.CloseOnExec(shimStatus)
	status := os.NewFile(shimStatus, "status")
	gate := os.NewFile(shimGate, "gate")
	if _, err := status.WriteString("r"); err != nil {
		os.Exit(exitNotExecutable)
	}
	if n, _ := gate.Read(make([]byte, 1)); n == 0 {
		os.Exit(0) // released
	}
	// syscall.Exec gives back the RLIMIT_NOFILE that Go raised at its start.
	env := os.Environ()
	err := unix.Exec(path, argv, env)
	if errors.Is(err, unix.ENOEXEC) {
		// A script without #! line: what execvp(3) and shells do.
		err = unix.Exec("/bin/sh", append([]string{"sh", path}, argv[1:]...), env)
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	_, _ = status.WriteString(strconv.Itoa(int(errno)))
	os.Exit(ExitCode(err))
}

// Launch starts argv[0], looked up in PATH, with the rest as arguments, up to
// just before its exec. A command that cannot be found or run is an error at
// once: ExitCode turns it into what a shell would return.
//
// Go raises the soft limit of open files at its start and gives the original
// back to children, but not once the program has set the limit itself: call
// Launch before raising it.
func Launch(argv []string, opts LaunchOptions) (*Command, error) {
	if len(argv) == 0 {
		return nil, fmt.Errorf("launch: no command: %w", os.ErrInvalid)
	}
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		if errors.Is(err, exec.ErrNotFound) {
			err = fmt.Errorf("%w: %w", err, os.ErrNotExist)
		}
		return nil, fmt.Errorf("launch: %w", err)
	}
	gateR, gateW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("launch %q: %w", argv[0], err)
	}
	defer gateR.Close()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		gateW.Close()
		return nil, fmt.Errorf("launch %q: %w", argv[0], err)
	}
	defer statusW.Close()

	c := &Command{argv: argv, gate: gateW, status: statusR}
	c.cmd = &exec.Cmd{
		Path:       "/proc/self/exe",
		Args:       append([]string{shimName, path}, argv...),
		Dir:        opts.Dir,
		Env:        opts.Env,
		Stdin:      orFile(opts.Stdin, os.Stdin),
		Stdout:     orFile(opts.Stdout, os.Stdout),
		Stderr:     orFile(opts.Stderr, os.Stderr),
		ExtraFiles: []*os.File{gateR, statusW},
	}
	if err := c.cmd.Start(); err != nil {
		gateW.Close()
		statusR.Close()
		return nil, fmt.Errorf("launch %q: %w", argv[0], err)
	}
	statusW.Close() // so that its end can be seen
	// Wait until the shim waits: what it does before is not the command's.
	if n, err := statusR.Read(make([]byte, 1)); n == 0 {
		if err == io.EOF {
			err = errors.New("the program did not become a shim; does its main call record.ShimMain?")
		}
		_ = c.cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("launch %q: %w", argv[0], err), c.Release())
	}
	return c, nil
}

func orFile(f, or *os.File) *os.File {
	if f == nil {
		return or
	}
	return f
}

// PID is the process id of the command, before and after Start.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// Start lets the command go and returns when it has replaced the shim, or the
// error for which it could not. It may be called once.
func (c *Command) Start() error {
	if c.gate == nil {
		return fmt.Errorf("start %q: %w", c.argv[0], os.ErrClosed)
	}
	_, err := c.gate.Write([]byte("g"))
	err = errors.Join(err, c.gate.Close())
	c.gate = nil
	b, rerr := io.ReadAll(c.status)
	if err = errors.Join(err, rerr, c.status.Close()); err != nil {
		return fmt.Errorf("start %q: %w", c.argv[0], err) // the shim is gone
	}
	if errno, err := strconv.Atoi(string(b)); err == nil {
		return fmt.Errorf("start %q: %w", c.argv[0], syscall.Errno(errno))
	}
	return nil
}

// Wait waits for the command's end and returns its exit code as a shell gives
// it: 128+n when signal n ended it. The error is one of waiting, not of the
// command. Further calls return the same.
func (c *Command) Wait() (int, error) {
	c.wait.Do(func() {
		err := c.cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			c.err = fmt.Errorf("wait for %q: %w", c.argv[0], err)
			return
		}
		ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
		c.code = ws.ExitStatus()
		if ws.Signaled() {
			c.code = 128 + int(ws.Signal())
		}
	})
	return c.code, c.err
}

// Signal sends sig to the command, or to the shim before Start.
func (c *Command) Signal(sig os.Signal) error {
	if err := c.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("signal %q: %w", c.argv[0], err)
	}
	return nil
}

// Release gives up a command that has not been started, when its events could
// not be opened for example: the shim exits without having run anything. After
// Start it does nothing.
func (c *Command) Release() error {
	if c.gate == nil {
		return nil
	}
	err := errors.Join(c.gate.Close(), c.status.Close())
	c.gate = nil
	_, werr := c.Wait()
	return errors.Join(err, werr)
}

const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// ExitCode is what a shell returns when a command could not be run for err: 127
// when there is no such file, 126 otherwise.
func ExitCode(err error) int {
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return exitNotFound
	}
	return exitNotExecutable
}
