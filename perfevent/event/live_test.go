//go:build linux

package event

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// resolveOne parses and resolves an event that is one.
func resolveOne(t *testing.T, text string, s perfevent.Sampling) Event {
	t.Helper()
	spec := mustSpec(t, text)
	events, err := (&Resolver{MountTracefs: true}).Resolve(spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 1 {
		t.Fatalf("%s: %d events", text, len(events))
	}
	events[0].Configure(s)
	return events[0]
}

// count opens e on the calling thread and returns what f made of it.
func count(t *testing.T, e Event, f func()) perfevent.Count {
	t.Helper()
	return livetest.Count(t, func() (*perfevent.Counter, error) { return e.Open(perfevent.Where{CPU: perfevent.AnyCPU}) }, f)
}

const hits = 100

func TestLiveTracepoint(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	e := resolveOne(t, "syscalls:sys_enter_getppid", perfevent.Sampling{})
	n := count(t, e, func() {
		for range hits {
			unix.Getppid()
		}
	})
	// The scheduler's clock may stand still for that long in an emulated machine.
	stopped := n.Enabled == 0 && os.Getenv("KPROF_LIVE") != "guest"
	if n.Value != hits || stopped || n.Running != n.Enabled {
		t.Errorf("%+v, want %d", n, hits)
	}
}

var watched [2]uint64

func TestLiveBreakpoint(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.PMU("breakpoint"))
	livetest.RequireKernel(t, livetest.Breakpoints)
	addr := uintptr(unsafe.Pointer(&watched[0]))
	e := Event{Event: perfevent.Event{Name: "mem", Attr: abi.Attr{Type: abi.TypeBreakpoint, BPType: uint32(AccessWrite), Config1: uint64(addr), Config2: 8, SamplePeriod: 1}}}
	e.Configure(perfevent.Sampling{})
	n := count(t, e, func() {
		for i := range hits {
			watched[0] = uint64(i)
			watched[1] = watched[0]
		}
	})
	if n.Value != hits {
		t.Errorf("%d writes, want %d", n.Value, hits)
	}
	if n, err := BreakpointHits(hits); n != hits || err != nil {
		t.Errorf("%d writes of %d are counted, %v", n, hits, err)
	}
}

//go:noinline
func probed(x int) int { return x + 1 }

// fileOffset is where probed lies in this program's file. Test programs have no
// symbol table.
func fileOffset(t *testing.T, exe string) uint64 {
	t.Helper()
	f := livetest.Open(t, elf.Open, exe)
	vaddr := uint64(reflect.ValueOf(probed).Pointer())
	off, ok := segmentOffset(f, vaddr, elf.PF_X)
	if !ok {
		t.Fatalf("%#x is in no segment: a position-independent test program?", vaddr)
	}
	return off
}

func TestLiveUprobe(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.PMU("uprobe"))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("uprobe:%s:%#x", exe, fileOffset(t, exe))
	sum := 0
	n := count(t, resolveOne(t, text, perfevent.Sampling{Callchain: true, ReadLost: true}), func() {
		for i := range hits {
			sum += probed(i)
		}
	})
	if n.Value != hits || sum == 0 {
		t.Errorf("%d calls, want %d", n.Value, hits)
	}
	livetest.Errors(t, func(place string) ([]Event, error) {
		return new(Resolver).Resolve(mustSpec(t, "uprobe:"+place))
	}, map[string]string{
		exe + ":nosuch":          `no function "nosuch"`,
		"/:main":                 "not a regular file",
		"/no/such/file:main":     "no such file",
		"/proc/self/status:main": "bad magic number",
	})
}

// onlineCPUs are all of the machine, of which this process may have a part.
func onlineCPUs(t *testing.T) (cpus []int) {
	t.Helper()
	files, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	if err != nil || len(files) == 0 {
		t.Fatal("no CPUs: ", err)
	}
	for _, file := range files {
		if b, err := os.ReadFile(filepath.Join(file, "online")); err == nil && strings.TrimSpace(string(b)) == "0" {
			continue
		}
		cpu, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(file), "cpu"))
		if err != nil {
			t.Fatal(err)
		}
		cpus = append(cpus, cpu)
	}
	return cpus
}

// TestLiveUprobeSymbol probes a function of the C library by name, on entry and
// return, and has id(1) call it.
func TestLiveUprobeSymbol(t *testing.T) {
	libc := ""
	livetest.Require(t, livetest.Root, livetest.PMU("uprobe"), livetest.Program("id"), func() string {
		for _, glob := range []string{"/lib/*/libc.so.6", "/lib64/libc.so.6"} {
			if found, err := filepath.Glob(glob); err == nil && len(found) > 0 {
				libc = found[0]
				return ""
			}
		}
		return "libc.so.6"
	})
	for _, kind := range []string{"uprobe:", "uretprobe:"} {
		e := resolveOne(t, kind+libc+":geteuid", perfevent.Sampling{ReadLost: true})
		var counters []*perfevent.Counter
		for _, cpu := range onlineCPUs(t) {
			c, err := e.Open(perfevent.Where{PID: perfevent.AllTasks, CPU: cpu})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.Enable(); err != nil {
				t.Fatal(err)
			}
			counters = append(counters, c)
		}
		if out, err := exec.Command("id", "-u").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var n uint64
		for _, c := range counters {
			got, err := c.Read()
			if err != nil {
				t.Fatal(err)
			}
			n += got.Value
		}
		if n == 0 {
			t.Errorf("%s: no hits", e.Name)
		}
	}
	if _, err := probeOffset(libc, Probe{User: true, Symbol: "geteuid", Off: 1 << 20}); err == nil || !strings.Contains(err.Error(), "is outside geteuid") {
		t.Errorf("an offset far behind the function: %v", err)
	}
}

func TestLiveErrors(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	for _, tt := range []struct {
		text string
		s    perfevent.Sampling
		w    perfevent.Where
		want string
		is   error
	}{
		{"cpu-clock", perfevent.Sampling{}, perfevent.Where{PID: 1 << 22, CPU: perfevent.AnyCPU}, "no such task", unix.ESRCH},
		{"cpu-clock", perfevent.Sampling{}, perfevent.Where{PID: perfevent.AllTasks, CPU: 1 << 12}, "cpu 4096", nil},
		{"cpu-clock", perfevent.Sampling{Frequency: 1 << 40}, perfevent.Where{CPU: perfevent.AnyCPU}, "kernel.perf_event_max_sample_rate", unix.EINVAL},
		{"cpu-clock", perfevent.Sampling{Callchain: true, MaxStack: 60000}, perfevent.Where{CPU: perfevent.AnyCPU}, "kernel.perf_event_max_stack", unix.EOVERFLOW},
		{"mem:0x1001/8:w", perfevent.Sampling{}, perfevent.Where{CPU: perfevent.AnyCPU}, "aligned", unix.EINVAL},
	} {
		e := resolveOne(t, tt.text, tt.s)
		c, err := e.Open(tt.w)
		if err == nil {
			t.Errorf("%s %+v: no error", tt.text, tt.s)
			c.Close()
			continue
		}
		if !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v; want %q in it, and %v", tt.text, err, tt.want, tt.is)
		}
	}
}

// TestLiveUnprivileged opens as nobody: the message must say what is needed.
func TestLiveUnprivileged(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	all := perfevent.Where{PID: perfevent.AllTasks}
	events := map[string]Event{
		"CAP_PERFMON, or kernel.perf_event_paranoid at most 0": resolveOne(t, "cpu-clock", perfevent.Sampling{}),
		"recording tracepoints needs CAP_PERFMON":              resolveOne(t, "sched:sched_switch", perfevent.Sampling{}),
	}
	user := resolveOne(t, "cpu-clock:u", perfevent.Sampling{})
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		t.Fatal(err)
	}
	paranoid := strings.TrimSpace(string(b))
	asNobody(t, func() {
		for want, e := range events {
			c, err := e.Open(all)
			if err == nil {
				c.Close()
				t.Skipf("kernel.perf_event_paranoid (%s) permits it", paranoid)
			}
			if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q in it", e.Name, err, want)
			}
		}
		// Where the sysctl is no hindrance, it is the owner of the task.
		if level, err := strconv.Atoi(paranoid); err != nil || level > 2 {
			return
		}
		const want = "a task of another user"
		if c, err := user.Open(perfevent.Where{PID: 1}); err == nil {
			c.Close()
			t.Errorf("%s of process 1: no error", user.Name)
		} else if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s of process 1: %v; want %q in it", user.Name, err, want)
		}
	})
}

// asNobody runs f on a thread without root's rights; the thread ends with it.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		// The raw system calls change this thread only.
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			done <- errno
			return
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
