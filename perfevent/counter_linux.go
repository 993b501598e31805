package perfevent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
)

// Values of Where.
const (
	AllTasks = -1 // PID: every task of the CPU
	AnyCPU   = -1 // CPU: whichever the task runs on
)

// Where is what a counter watches. The zero value is the calling thread on
// CPU 0.
type Where struct {
	PID    int      // thread id; 0 is the calling thread; AllTasks
	CPU    int      // number; AnyCPU
	Cgroup *os.File // directory of a cgroup v2 (or v1 perf_event); its tasks only, PID is ignored
}

func (w Where) String() string {
	who := fmt.Sprintf("task %d", w.PID)
	switch {
	case w.Cgroup != nil:
		who = "cgroup " + w.Cgroup.Name()
	case w.PID == 0:
		who = "the calling thread"
	case w.PID == AllTasks:
		who = "all tasks"
	}
	if w.CPU == AnyCPU {
		return who
	}
	return fmt.Sprintf("%s on cpu %d", who, w.CPU)
}

// Counter is one event opened in one place. It is not safe for concurrent use.
type Counter struct {
	fd     int
	id     uint64
	read   abi.ReadFormat
	name   string
	where  Where
	closer io.Closer // the library's event when that opened it
}

// Open opens e, configured, in one place. The counter is closed on exec. An
// error says what the kernel meant, see explain.
func Open(e *Event, w Where) (*Counter, error) {
	pid, flags := w.PID, unix.PERF_FLAG_FD_CLOEXEC
	if w.Cgroup != nil {
		pid, flags = int(w.Cgroup.Fd()), flags|unix.PERF_FLAG_PID_CGROUP
	}
	c := &Counter{fd: -1, read: e.Attr.ReadFormat, name: e.Name, where: w}
	err := c.open(e, pid, w.CPU, flags)
	runtime.KeepAlive(w.Cgroup)
	if err != nil {
		return nil, fmt.Errorf("open event %s on %v: %w", e.Name, w, explain(err, e, w))
	}
	if c.id, err = ioctlID(c.fd); err != nil {
		return nil, errors.Join(c.wrap("ask for the id of", err), c.Close())
	}
	return c, nil
}

func (c *Counter) open(e *Event, pid, cpu, flags int) (err error) {
	if lib, ok := libraryAttr(e); ok {
		c.fd, c.closer, err = libraryOpen(lib, pid, cpu, flags)
		return err
	}
	attr := e.Attr
	var target []byte
	if e.target != "" {
		if target, err = unix.ByteSliceFromString(e.target); err != nil {
			return err
		}
		// Config1 of a probe is a pointer that the kernel reads during the
		// system call. The bytes are on the heap, which does not move, since
		// runtime.KeepAlive lets them escape; it also keeps them until then.
		attr.Config1 = uint64(uintptr(unsafe.Pointer(&target[0])))
	}
	b := attr.AppendTo(nil, nativeOrder)
	// unix.PerfEventOpen takes a structure of 128 bytes, which ends before
	// config3; the encoded attribute has it. Kernels that know less take it as
	// long as the rest is zero (perf_copy_attr).
	fd, _, errno := unix.Syscall6(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&b[0])),
		uintptr(pid), uintptr(cpu), ^uintptr(0), uintptr(flags), 0)
	runtime.KeepAlive(target)
	if errno != 0 {
		return errno
	}
	c.fd = int(fd)
	return nil
}

// nativeOrder: both supported architectures are little-endian.
const nativeOrder = abi.LittleEndian

func ioctlID(fd int) (id uint64, err error) {
	// The kernel writes eight bytes to id during the call.
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id)))
	if errno != 0 {
		return 0, errno
	}
	return id, nil
}

// FD is the counter's file descriptor, for poll; it stays the counter's.
func (c *Counter) FD() int { return c.fd }

// ID is what the counter's records carry.
func (c *Counter) ID() uint64 { return c.id }

// Where is what the counter watches.
func (c *Counter) Where() Where { return c.where }

// Enable starts counting.
func (c *Counter) Enable() error {
	return c.wrap("enable", unix.IoctlSetInt(c.fd, unix.PERF_EVENT_IOC_ENABLE, 0))
}

// Disable stops counting.
func (c *Counter) Disable() error {
	return c.wrap("disable", unix.IoctlSetInt(c.fd, unix.PERF_EVENT_IOC_DISABLE, 0))
}

// SetOutput has the kernel write c's records to the ring that owner has
// mapped. Both must be on the same CPU and clock.
func (c *Counter) SetOutput(owner *Counter) error {
	return c.wrap("redirect", unix.IoctlSetInt(c.fd, unix.PERF_EVENT_IOC_SET_OUTPUT, owner.fd))
}

// SetFilter has the kernel drop what does not match, in the language of
// Documentation/trace/events.rst, "Event filtering". A bad filter is EINVAL and
// no more; tracefs.FS.CheckFilter knows why. (Of parentheses and quotes without
// a partner the kernel returns -1, -2 and -3, TOO_MANY_CLOSE and so on in
// kernel/trace/trace_events_filter.c, which read as EPERM, ENOENT and ESRCH.)
func (c *Counter) SetFilter(filter string) error {
	b, err := unix.ByteSliceFromString(filter)
	if err != nil {
		return c.wrap("filter", err)
	}
	// The kernel copies the string during the call.
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(c.fd), unix.PERF_EVENT_IOC_SET_FILTER, uintptr(unsafe.Pointer(&b[0])))
	switch errno {
	case 0:
		return nil
	case unix.EPERM, unix.ENOENT, unix.ESRCH:
		errno = unix.EINVAL
	}
	return c.wrap("filter", errno)
}

// Count is what read(2) of a counter says.
type Count struct {
	Value   uint64        // occurrences, those in inherited tasks included
	Enabled time.Duration // how long the event was enabled
	Running time.Duration // how long it was on the PMU
	Lost    uint64        // records that found the ring full; 0 without PERF_FORMAT_LOST
}

// Read reads the count.
func (c *Counter) Read() (Count, error) {
	var buf [5 * 8]byte
	n, err := unix.Read(c.fd, buf[:])
	if err != nil {
		return Count{}, c.wrap("read", err)
	}
	b := buf[:n]
	next := func(present bool) uint64 {
		if !present || len(b) < 8 {
			return 0
		}
		v := binary.NativeEndian.Uint64(b)
		b = b[8:]
		return v
	}
	count := Count{Value: next(true)}
	count.Enabled = time.Duration(next(c.read&abi.ReadTotalTimeEnabled != 0))
	count.Running = time.Duration(next(c.read&abi.ReadTotalTimeRunning != 0))
	next(c.read&abi.ReadID != 0)
	count.Lost = next(c.read&abi.ReadLost != 0)
	return count, nil
}

// Close closes the counter; its ring lives on while it is mapped. A second
// Close does nothing.
func (c *Counter) Close() error {
	if c.fd < 0 {
		return nil
	}
	fd := c.fd
	c.fd = -1
	if c.closer != nil {
		return c.wrap("close", c.closer.Close())
	}
	return c.wrap("close", unix.Close(fd))
}

func (c *Counter) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s event %s on %v: %w", what, c.name, c.where, err)
}
