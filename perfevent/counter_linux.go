package perfevent

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	fd    int
	id    uint64
	read  abi.ReadFormat
	name  string
	where Where
}

// Open opens e, configured, in one place. The counter is closed on exec. An
// error says what the kernel meant, see explain.
func Open(e *Event, w Where) (*Counter, error) { return OpenInGroup(e, w, nil) }

// OpenInGroup is Open for a member of the group that leader leads: the kernel has
// all of a group on the PMU at the same time, or none. A nil leader leads nothing.
func OpenInGroup(e *Event, w Where, leader *Counter) (*Counter, error) {
	group := -1
	if leader != nil {
		group = leader.fd
	}
	pid, flags := w.PID, unix.PERF_FLAG_FD_CLOEXEC
	if w.Cgroup != nil {
		pid, flags = int(w.Cgroup.Fd()), flags|unix.PERF_FLAG_PID_CGROUP
	}
	c := &Counter{fd: -1, read: e.Attr.ReadFormat, name: e.messageName(), where: w}
	err := c.open(e, pid, w.CPU, group, flags)
	runtime.KeepAlive(w.Cgroup)
	if err != nil {
		return nil, Explain(err, e, w)
	}
	if c.id, err = ioctlID(c.fd); err != nil {
		return nil, errors.Join(c.wrap("ask for the id of", err), c.Close())
	}
	return c, nil
}

// Explain is what the refusal err of perf_event_open(2) to open e there means, for
// those who make the call themselves.
func Explain(err error, e *Event, w Where) error {
	return fmt.Errorf("open %s on %v: %w", e.messageName(), w, explain(err, e, w))
}

// open is the one place that calls perf_event_open(2), but for package count, which
// leaves what does not sample to a library where that can express it.
func (c *Counter) open(e *Event, pid, cpu, group, flags int) (err error) {
	attr := e.Attr
	var target []byte
	if e.Target != "" {
		if target, err = unix.ByteSliceFromString(e.Target); err != nil {
			return err
		}
		// Config1 of a probe is a pointer that the kernel reads during the
		// system call. The bytes are on the heap, which does not move, since
		// runtime.KeepAlive lets them escape; it also keeps them until then.
		attr.Config1 = uint64(uintptr(unsafe.Pointer(&target[0])))
	}
	b := attr.AppendTo(nil, nativeOrder)
	// unix.PerfEventAttr has 128 bytes, which end before config3; the encoded
	// attribute is longer and says so in its size field, which is what the kernel
	// goes by. Kernels that know less take it as long as the rest is zero
	// (perf_copy_attr).
	c.fd, err = unix.PerfEventOpen((*unix.PerfEventAttr)(unsafe.Pointer(&b[0])), pid, cpu, group, flags)
	runtime.KeepAlive(target)
	return err
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

// Add adds another count of the same event.
func (c *Count) Add(other Count) {
	c.Value += other.Value
	c.Enabled += other.Enabled
	c.Running += other.Running
	c.Lost += other.Lost
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

// ErrDisbanded is what a group is whose CPU has been taken offline: each member is left
// by itself, with what it had counted.
var ErrDisbanded = errors.New("the kernel has taken the group apart")

// ReadGroup reads the counts of the group that c leads, which has so many members
// besides, in the order in which they were opened. All must have been opened with
// ReadGroup in their format, and none with an id. What Read says of one of them is
// true of each: enabled and running times are the group's.
func (c *Counter) ReadGroup(others int) ([]Count, error) {
	buf := make([]byte, (3+1+others)*8)
	n, err := unix.Read(c.fd, buf)
	if err != nil {
		return nil, c.wrap("read", err)
	}
	counts := make([]Count, 1+others)
	if n == 0 { // the end: the kernel has given up on the event
		return counts, nil
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(buf[i*8:]) }
	if others > 0 && n == 4*8 && word(0) == 1 {
		return nil, c.wrap("read", ErrDisbanded)
	}
	if n != len(buf) || word(0) != uint64(1+others) {
		return nil, c.wrap("read", fmt.Errorf("%d bytes of %d counts, wants %d of %d", n, word(0), len(buf), 1+others))
	}
	for i := range counts {
		counts[i] = Count{Value: word(3 + i), Enabled: time.Duration(word(1)), Running: time.Duration(word(2))}
	}
	return counts, nil
}

// Close closes the counter; its ring lives on while it is mapped. A second
// Close does nothing.
func (c *Counter) Close() error {
	if c.fd < 0 {
		return nil
	}
	fd := c.fd
	c.fd = -1
	return c.wrap("close", unix.Close(fd))
}

func (c *Counter) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s on %v: %w", what, c.name, c.where, err)
}
