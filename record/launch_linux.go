package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

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
	status *os.File // the shim's own times; errno of a failed exec; its end means success

	user, system time.Duration // the shim's, before its exec

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

// isShim: the arguments are the numbers of the gate and of the status, the path
// of the command and its arguments.
func isShim() bool { return len(os.Args) > 4 && os.Args[0] == shimName }

func init() {
	if isShim() {
		runtime.LockOSThread()
	}
}

var errNoShimMain = errors.New("the program did not become a shim; does its main call record.ShimMain?")

// ShimMain must be the first call of main in every program, or TestMain of every
// test, that calls Launch. It returns at once, except in the shim.
func ShimMain() {
	if isShim() {
		shim(os.Args[1:3], os.Args[3], os.Args[4:])
	}
	if isWitness() {
		witness()
	}
}

// shim waits for the gate and becomes the command; it does not return. Whatever
// else it has open is the command's.
func shim(pipes []string, path string, argv []string) {
	gate, status := shimEnd(pipes[0]), shimEnd(pipes[1])
	if _, err := unix.Write(status, []byte("r")); err != nil {
		os.Exit(exitNotExecutable)
	}
	if !waitGate(gate) {
		os.Exit(0) // released
	}
	// syscall.Exec gives back the RLIMIT_NOFILE that Go raised at its start.
	env := os.Environ()
	var own unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &own) == nil {
		_, _ = unix.Write(status, fmt.Appendf(nil, "%d %d\n", own.Utime.Nano(), own.Stime.Nano()))
	}
	err := unix.Exec(path, argv, env)
	if errors.Is(err, unix.ENOEXEC) {
		// A script without #! line: what execvp(3) and shells do.
		err = unix.Exec("/bin/sh", append([]string{"sh", path}, argv[1:]...), env)
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	_, _ = unix.Write(status, []byte(strconv.Itoa(int(errno))))
	os.Exit(ExitCode(err))
}

// shimEnd is a descriptor of the shim's own, which the command is not to have. It
// blocks, whatever the other side of the pipe made it do.
func shimEnd(number string) int {
	fd, err := strconv.Atoi(number)
	if err != nil || unix.SetNonblock(fd, false) != nil {
		os.Exit(exitNotExecutable)
	}
	unix.CloseOnExec(fd)
	return fd
}

// waitGate waits for a byte, and reports whether there is one before the end.
func waitGate(gate int) bool {
	for b := make([]byte, 1); ; {
		n, err := unix.Read(gate, b)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		return n == 1 && err == nil
	}
}

// launching is held while descriptors are open that a child is to inherit, so
// that no other child does.
var launching sync.Mutex

// Numbers from which the descriptors are that a child is given besides those it
// inherits: far above those that our parent may mean the command to have. Go's
// forkExec takes the number after the highest of the child's standard files for a
// pipe of its own, whatever is there: so these are highest of all.
const (
	endsFrom  = 200
	filesFrom = 300
)

// highPipe is os.Pipe, with the end that a child is to have, the writing one or the
// reading one, at a number from endsFrom on.
func highPipe(write bool) (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	end := &r
	if write {
		end = &w
	}
	if *end, err = atLeast(*end, endsFrom); err != nil {
		return nil, nil, errors.Join(err, r.Close(), w.Close())
	}
	return r, w, nil
}

// atLeast moves f to a number from least on; where that is above the limit of open
// files, it stays where it is.
func atLeast(f *os.File, least int) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, least)
	if errors.Is(err, unix.EINVAL) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	return os.NewFile(uintptr(fd), f.Name()), f.Close()
}

// standardFile is a standard file of a child: f, or or. One that is none of our own
// is a copy from filesFrom on, which done closes.
func standardFile(f, or *os.File) (file *os.File, done func()) {
	if f == nil {
		f = or
	}
	if f.Fd() > 2 {
		if fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, filesFrom); err == nil {
			high := os.NewFile(uintptr(fd), f.Name())
			return high, func() { high.Close() }
		}
	}
	return f, func() {}
}

// startChild starts cmd, this program under another name, with its ends of pipes:
// they keep the numbers that they have here, at which nothing else is that a
// child could inherit. (ExtraFiles would put them at 3 and 4, where there may be
// what our own parent means the command to have, as make does.)
func startChild(cmd *exec.Cmd, ends ...*os.File) error {
	launching.Lock()
	defer launching.Unlock()
	for _, f := range ends {
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil {
			return err
		}
	}
	err := cmd.Start()
	for _, f := range ends {
		err = errors.Join(err, f.Close())
	}
	return err
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
	if isShim() || isWitness() { // or it would start itself for ever
		return nil, errNoShimMain
	}
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		if errors.Is(err, exec.ErrNotFound) {
			err = fmt.Errorf("%w: %w", err, os.ErrNotExist)
		}
		return nil, fmt.Errorf("launch: %w", err)
	}
	gateR, gateW, err := highPipe(false)
	if err != nil {
		return nil, fmt.Errorf("launch %q: %w", argv[0], err)
	}
	statusR, statusW, err := highPipe(true)
	if err != nil {
		gateR.Close()
		gateW.Close()
		return nil, fmt.Errorf("launch %q: %w", argv[0], err)
	}

	c := &Command{argv: argv, gate: gateW, status: statusR}
	c.cmd = &exec.Cmd{
		Path: "/proc/self/exe",
		Args: append([]string{shimName, fdNumber(gateR), fdNumber(statusW), path}, argv...),
		Dir:  opts.Dir,
		Env:  opts.Env,
	}
	stdin, doneIn := standardFile(opts.Stdin, os.Stdin)
	stdout, doneOut := standardFile(opts.Stdout, os.Stdout)
	stderr, doneErr := standardFile(opts.Stderr, os.Stderr)
	defer func() { doneIn(); doneOut(); doneErr() }()
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = stdin, stdout, stderr
	if err := startChild(c.cmd, gateR, statusW); err != nil {
		gateW.Close()
		statusR.Close()
		return nil, fmt.Errorf("launch %q: %w", argv[0], err)
	}
	// Wait until the shim waits: what it does before is not the command's.
	if n, err := statusR.Read(make([]byte, 1)); n == 0 {
		if err == io.EOF {
			err = errNoShimMain
		}
		_ = c.cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("launch %q: %w", argv[0], err), c.Release())
	}
	return c, nil
}

func fdNumber(f *os.File) string { return strconv.Itoa(int(f.Fd())) }

// PID is the process id of the command, before and after Start.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// Path is the file that is to become the command.
func (c *Command) Path() string { return c.cmd.Args[3] }

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
	times, failed, _ := strings.Cut(string(b), "\n")
	if _, err := fmt.Sscan(times, &c.user, &c.system); err != nil {
		failed = times // it could not say
	}
	if errno, err := strconv.Atoi(failed); err == nil {
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

// Times is how long the command, and what it started and waited for, ran on a CPU in
// user and in system mode. It is known after Wait.
func (c *Command) Times() (user, system time.Duration) {
	if c.cmd.ProcessState == nil {
		return 0, 0
	}
	return max(c.cmd.ProcessState.UserTime()-c.user, 0), max(c.cmd.ProcessState.SystemTime()-c.system, 0)
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
