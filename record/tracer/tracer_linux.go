package tracer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/tracefs"
)

// Tracer is a tracer of the kernel that is set up. Close it.
type Tracer struct {
	fs       *tracefs.FS
	dir      string // that of the instance, or the top one
	o        Options
	attached bool // it is an instance of somebody else
	clock    string
	lock     *os.File // nil where nothing is set that all tracers share

	settings   settings
	rings      []*ring
	headerPage string // what says how pages are laid out
	size       int    // bytes of a page of the rings
}

// InUseError says that somebody else uses what the tracer would have to change.
type InUseError struct {
	Path string // of the file that says so
	Text string // what it says
}

func (e *InUseError) Error() string {
	if e.Text == "" {
		return "another kprof uses the kernel's tracer"
	}
	return fmt.Sprintf("somebody uses the kernel's tracer: %s is %q", e.Path, e.Text)
}

// DefaultBufferSize is the size of the ring of each CPU, in bytes, where all of them take
// no more than maxBuffers.
const (
	DefaultBufferSize = 4 << 20
	maxBuffers        = 512 << 20
	minBufferSize     = 256 << 10
)

// Open sets the tracer up. What it has changed, also where it fails, is put back, by Close
// or by what outlives this process. The error is perfevent.ErrNotSupported where the kernel
// has no such tracer, and *InUseError where it is somebody else's.
func Open(fs *tracefs.FS, o Options) (_ *Tracer, err error) {
	t := &Tracer{fs: fs, dir: fs.Path(), o: o, clock: ownClock}
	if err := t.check(); err != nil {
		return nil, err
	}
	// One that somebody reads stays, and is in nobody's way.
	if _, err := RemoveStale(fs); err != nil && !errors.Is(err, unix.EBUSY) {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if t.o.tracer() == "function_graph" || t.o.shared() {
		if err := t.openLock(); err != nil {
			return nil, err
		}
	}
	if t.settings.guard, err = startGuard(t.lock); err != nil {
		return nil, err
	}
	if err := t.makeInstance(); err != nil {
		return nil, err
	}
	instance := t.dir != fs.Path()
	shares, err := t.shares()
	if err != nil {
		return nil, err
	}
	if !instance || shares {
		if err := t.takeLock(); err != nil {
			return nil, err
		}
	}
	if !instance {
		if err := t.unused(); err != nil {
			return nil, err
		}
	}
	if err := t.set(); err != nil {
		return nil, err
	}
	return t, t.openRings()
}

// shares reports whether something has to be changed that all tracers of the kernel share:
// the functions whose calls are wanted, or those that somebody has left there.
func (t *Tracer) shares() (bool, error) {
	if t.o.tracer() != "function_graph" || t.o.shared() {
		return t.o.shared(), nil
	}
	list, err := readList(filepath.Join(t.fs.Path(), "set_graph_function"))
	return len(list) > 0, err
}

// check looks for what can be known before anything is changed.
func (t *Tracer) check() error {
	text, err := os.ReadFile(filepath.Join(t.dir, "available_tracers"))
	if err != nil {
		return err
	}
	if want := t.o.tracer(); !slices.Contains(strings.Fields(string(text)), want) {
		return fmt.Errorf("%w: this kernel has no tracer %s (CONFIG_%s_TRACER)", perfevent.ErrNotSupported, want, strings.ToUpper(want))
	}
	return checkFunctions(t.fs, t.o.functions(), t.o.Everything)
}

// makeInstance makes an instance, by whose name the next kprof knows whose it was, and takes it
// if it can have the tracer, which an instance alone tells.
func (t *Tracer) makeInstance() error {
	self, err := tracefs.Self()
	if err != nil {
		return err
	}
	dir := filepath.Join(t.fs.Path(), "instances", self.Group())
	remove := undo{Path: dir, Remove: true}
	if err := t.settings.note(remove); err != nil {
		return err
	}
	if err := unix.Mkdir(dir, 0o700); err != nil {
		return &os.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	text, err := os.ReadFile(filepath.Join(dir, "available_tracers"))
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(string(text)), t.o.tracer()) {
		return remove.do()
	}
	t.dir = dir
	return nil
}

// openLock opens what takeLock locks, for what outlives this process to keep it locked.
func (t *Tracer) openLock() (err error) {
	t.lock, err = os.Open(filepath.Join(t.fs.Path(), "set_graph_function"))
	return err
}

// takeLock keeps other processes of this program from what all tracers share, until it has
// been put back.
func (t *Tracer) takeLock() error {
	err := unix.Flock(int(t.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return &InUseError{Path: t.lock.Name()}
	}
	if err != nil {
		return &os.PathError{Op: "lock", Path: t.lock.Name(), Err: err}
	}
	return nil
}

// unused makes sure that nobody uses the top tracer.
func (t *Tracer) unused() error {
	for name, free := range map[string]string{"current_tracer": "nop", "events/enable": "0"} {
		path := filepath.Join(t.dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if got := strings.TrimSpace(string(text)); got != free {
			return &InUseError{Path: path, Text: got}
		}
	}
	return nil
}

// nobodyGraphs makes sure that no function_graph of another depends on what is shared.
func (t *Tracer) nobodyGraphs() error {
	paths, err := filepath.Glob(filepath.Join(t.fs.Path(), "instances", "*", "current_tracer"))
	if err != nil {
		return err
	}
	for _, path := range append(paths, filepath.Join(t.fs.Path(), "current_tracer")) {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if got := strings.TrimSpace(string(text)); strings.HasPrefix(got, "function_graph") {
			return &InUseError{Path: path, Text: got}
		}
	}
	return nil
}

// in is the path of a file of the tracer.
func (t *Tracer) in(name string) string { return filepath.Join(t.dir, name) }

// has reports whether the kernel has a file of the tracer.
func (t *Tracer) has(name string) bool {
	_, err := os.Stat(t.in(name))
	return err == nil
}

// set sets all up, in an order in which nothing is ever traced that is not wanted.
func (t *Tracer) set() error {
	s := &t.settings
	if err := s.set(t.in("tracing_on"), "0"); err != nil {
		return err
	}
	if err := s.set(t.in("trace_clock"), t.clock); err != nil {
		return err
	}
	if err := t.setSize(); err != nil {
		return err
	}
	if t.o.CPUs != nil {
		if err := s.set(t.in("tracing_cpumask"), mask(t.o.CPUs)); err != nil {
			return err
		}
	}
	if err := t.setTasks(); err != nil {
		return err
	}
	if err := t.setFunctions(); err != nil {
		return err
	}
	if err := s.set(t.in("current_tracer"), t.o.tracer()); err != nil {
		return err
	}
	// Some kernels have these with their tracer only.
	if t.o.tracer() == "function" {
		return s.set(t.in("options/func_stack_trace"), "1")
	}
	sleep := "1"
	if t.o.OnCPU {
		sleep = "0"
	}
	if err := s.set(t.in("options/sleep-time"), sleep); err != nil {
		return err
	}
	for _, option := range []string{"options/funcgraph-args", "options/funcgraph-retval"} {
		if t.has(option) {
			if err := s.set(t.in(option), "1"); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownClock is the same on all CPUs, and counts ns.
const ownClock = "mono"

// setSize gives each CPU its ring.
func (t *Tracer) setSize() error {
	size := t.o.BufferSize
	if size == 0 {
		cpus, err := filepath.Glob(t.in("per_cpu/cpu*"))
		if err != nil {
			return err
		}
		size = max(min(DefaultBufferSize, maxBuffers/max(len(cpus), 1)), minBufferSize)
	}
	kb := strconv.Itoa(max(size>>10, 1))
	path := t.in("buffer_size_kb")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(text)) != "X" {
		return t.settings.set(path, kb)
	}
	each, err := filepath.Glob(t.in("per_cpu/cpu*/buffer_size_kb"))
	if err != nil {
		return err
	}
	for _, path := range each {
		if err := t.settings.set(path, kb); err != nil {
			return err
		}
	}
	return nil
}

// setTasks says whose functions are traced, and that what they start is like them.
func (t *Tracer) setTasks() error {
	var only, not []string
	for _, tid := range t.o.Tasks {
		only = append(only, strconv.Itoa(tid))
	}
	if only == nil {
		for _, pid := range []int{os.Getpid(), t.settings.guard.cmd.Process.Pid} {
			threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
			if err != nil {
				return err
			}
			for _, e := range threads {
				not = append(not, e.Name())
			}
		}
	}
	if t.has("options/function-fork") {
		if err := t.settings.set(t.in("options/function-fork"), "1"); err != nil {
			return err
		}
	}
	if t.has("set_ftrace_notrace_pid") { // since Linux 5.7
		if err := t.settings.list(t.in("set_ftrace_notrace_pid"), not...); err != nil {
			return err
		}
	}
	if err := t.settings.list(t.in("set_ftrace_pid"), only...); err != nil {
		return err
	}
	return t.addThreads()
}

// maxPasses is how often threads are looked for that came meanwhile.
const maxPasses = 10

// addThreads adds the threads that processes have started since they were looked at, until there
// are none: those that a traced one starts by now are traced by themselves, and a process may do
// so all the time.
func (t *Tracer) addThreads() error {
	if len(t.o.Processes) == 0 {
		return nil
	}
	known := map[int]bool{}
	for _, tid := range t.o.Tasks {
		known[tid] = true
	}
	for range maxPasses {
		tids, err := Threads(t.o.Processes)
		if errors.Is(err, os.ErrNotExist) { // it has ended
			return nil
		} else if err != nil {
			return err
		}
		var more []string
		for _, tid := range tids {
			if !known[tid] {
				known[tid] = true
				more = append(more, strconv.Itoa(tid))
			}
		}
		if len(more) == 0 {
			return nil
		}
		if err := write(t.in("set_ftrace_pid"), false, more...); err != nil {
			return err
		}
	}
	return nil
}

// setFunctions says which functions are traced.
func (t *Tracer) setFunctions() error {
	s := &t.settings
	graphs := filepath.Join(t.fs.Path(), "set_graph_function")
	if shares, err := t.shares(); err != nil {
		return err
	} else if shares {
		if err := t.nobodyGraphs(); err != nil {
			return err
		}
	}
	if !t.o.shared() {
		if t.o.tracer() == "function_graph" {
			if err := s.list(graphs); err != nil {
				return err
			}
		}
		return s.list(t.in("set_ftrace_filter"), t.o.functions()...)
	}
	if err := s.list(t.in("set_ftrace_filter")); err != nil {
		return err
	}
	if err := s.list(graphs, t.o.Graph...); err != nil {
		return err
	}
	return s.set(filepath.Join(t.fs.Path(), "max_graph_depth"), strconv.Itoa(t.o.Depth))
}

// mask is a set of CPUs as the kernel reads it: groups of 32 bits, the highest first.
func mask(cpus []int) string {
	words := make([]uint32, slices.Max(cpus)/32+1)
	for _, c := range cpus {
		words[c/32] |= 1 << (c % 32)
	}
	var groups []string
	for i := len(words) - 1; i >= 0; i-- {
		groups = append(groups, fmt.Sprintf("%08x", words[i]))
	}
	return strings.Join(groups, ",")
}

// Close puts back what Open has changed.
func (t *Tracer) Close() error {
	var errs []error
	for _, r := range t.rings {
		errs = append(errs, r.f.Close())
	}
	t.rings = nil
	if t.settings.guard != nil {
		errs = append(errs, t.settings.undo())
		t.settings.guard = nil
	}
	if t.lock != nil {
		errs = append(errs, t.lock.Close())
		t.lock = nil
	}
	return errors.Join(errs...)
}

// RemoveStale removes the instances of processes of this program that are gone, and returns
// their names. The error says which could not be removed: unix.EBUSY, while somebody reads one.
func RemoveStale(fs *tracefs.FS) (removed []string, err error) {
	dirs, err := os.ReadDir(filepath.Join(fs.Path(), "instances"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var errs []error
	for _, d := range dirs {
		group, _, _ := strings.Cut(d.Name(), ".") // what FS.CheckFilter makes has more
		if o, ok := tracefs.ParseOwner(group); !ok || o.State() != tracefs.Gone {
			continue
		}
		remove := undo{Path: filepath.Join(fs.Path(), "instances", d.Name()), Remove: true}
		if err := remove.do(); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, d.Name())
	}
	return removed, errors.Join(errs...)
}
