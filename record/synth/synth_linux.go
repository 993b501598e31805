package synth

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/procfs"
)

// Options say what Describe describes, and how.
type Options struct {
	// Attr is the attribute of the side-band event, whose records the
	// synthesized ones imitate: its sample type gives the trailer, flag
	// build_id build ids in the maps, flag mmap_data maps that are not
	// executable, flag ksymbol BPF programs, flag cgroup the cgroups.
	Attr abi.Attr

	ID uint64 // of the side-band event, for the trailer

	// PIDs are the processes to describe, each with all of its threads; the
	// id of a thread stands for its process. Nil: all of them.
	PIDs []int

	KernelOnly bool // describe no process
	NoKernel   bool // nor the kernel, its modules and BPF programs, which it takes most of the time to find

	// Clock is that of Attr, for those who have it already: to find it takes rights. Default: it is
	// found.
	Clock perfevent.Clock

	// Known says that records told of the processes before, of most of them: their tasks have
	// no FORK records, which would begin other tasks of these numbers.
	Known bool

	// Kallsyms is what /proc/kallsyms has of functions now, which takes long to read; nil
	// for nobody who knows.
	Kallsyms []byte

	// Root is the directory in which proc, sys and lib/modules are looked for;
	// empty for those of the running machine.
	Root string

	// KernelDone is called when the kernel has been described, for which it takes
	// rights, and before any file is opened that a process has a say in. Nil for
	// nothing.
	KernelDone func() error
}

// Describe describes what is there already as records, in the form in which
// the kernel announces what comes: the kernel and its modules (MMAP or MMAP2,
// pid -1), BPF programs (KSYMBOL), cgroups, and for each process FORK and COMM
// of its threads and MMAP2 of what it has mapped. write gets one whole record a
// call, valid during the call.
//
// The side-band must be recording before. For then every change is in the rings,
// and what remains is to order the description among the changes:
//
//   - The kernel and its modules have time 0, before everything.
//   - A process has the time read just before its files are. A change that the
//     description missed, or has half, is younger, and so applied to it: an exec
//     between reading the name and reading the maps, a map that appears in the
//     middle. A change that is older is part of the description, and cannot be
//     applied a second time: with time 0, a library that was replaced by moving
//     another one over it (mremap is announced by no record) would come back,
//     and a child forked before its parent called exec would inherit the maps
//     that its parent got by it.
//   - A process is described before those that it will start. Processes that
//     appear while /proc is walked are picked up by another walk, until one finds
//     nothing new.
//
// FORK records carry MiscForkExec, as perf's do: nothing is inherited, since
// the description is complete. Tasks that end meanwhile are left out.
func Describe(opts Options, write func(rec []byte) error) error {
	// A user who may lock no more memory cannot compare clocks. Then all has
	// time 0, as in perf's recordings.
	clock := opts.Clock
	if clock == (perfevent.Clock{}) {
		var err error
		if clock, err = perfevent.NewClock(&opts.Attr); err != nil {
			clock = perfevent.Clock{}
		}
	}
	s := &synth{
		opts:     opts,
		layout:   abi.NewLayout(&opts.Attr, abi.LittleEndian),
		clock:    clock,
		write:    write,
		buildIDs: map[fileID][]byte{},
		file:     make([]byte, 64<<10),
	}
	if !opts.NoKernel {
		if err := s.kernel(); err != nil {
			return fmt.Errorf("synthesize kernel: %w", err)
		}
	}
	if opts.KernelDone != nil {
		if err := opts.KernelDone(); err != nil {
			return err
		}
	}
	if opts.Attr.Flags&abi.FlagCgroup != 0 {
		if err := s.cgroups(); err != nil {
			return fmt.Errorf("synthesize cgroups: %w", err)
		}
	}
	if opts.KernelOnly {
		return nil
	}
	if opts.PIDs != nil {
		return s.some(opts.PIDs)
	}
	return s.all()
}

// synth is one run of Describe.
type synth struct {
	opts     Options
	layout   abi.Layout
	clock    perfevent.Clock
	write    func(rec []byte) error
	buildIDs map[fileID][]byte // nil for files without
	rec      []byte            // the record being built
	file     []byte            // the file being read
	path     []byte
	comm     []byte
}

// maxWalks bounds the walks over /proc; each finds only what appeared during
// the one before, with a pid below those already passed.
const maxWalks = 5

func (s *synth) all() error {
	seen := map[int]bool{}
	for range maxWalks {
		pids, err := readProc(s.opts.Root)
		if err != nil {
			return fmt.Errorf("synthesize: %w", err)
		}
		fresh := false
		for _, pid := range pids {
			if seen[pid] {
				continue
			}
			fresh, seen[pid] = true, true
			if err := s.process(pid); err != nil {
				return err
			}
		}
		if !fresh {
			break
		}
	}
	return nil
}

// readProc lists the processes, lowest pid first.
func readProc(root string) ([]int, error) {
	d, err := os.Open(root + "/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

func (s *synth) some(pids []int) error {
	seen := map[int]bool{}
	proc := os.DirFS(s.opts.Root + "/proc")
	for _, id := range pids {
		pid, err := procfs.ProcessOf(proc, id)
		if err != nil || seen[pid] {
			continue
		}
		seen[pid] = true
		if err := s.process(pid); err != nil {
			return err
		}
	}
	return nil
}

// process describes one process as of now.
func (s *synth) process(pid int) error {
	now := s.clock.Now()
	b, ok := s.read(s.procPath(pid, "/stat"))
	if !ok {
		return nil
	}
	st, ok := parseStat(b)
	if !ok {
		return fmt.Errorf("synthesize process %d: odd /proc/%d/stat: %q", pid, pid, b)
	}
	s.setComm(st.comm)
	if st.escaped && !s.readComm(pid, pid) {
		return nil
	}
	if err := s.task(now, pid, pid, st.ppid, st.ppid); err != nil {
		return err
	}
	others, err := s.threads(now, pid, st.threads)
	if err != nil || st.kernel {
		return err
	}
	mapped, err := s.maps(now, pid, pid)
	if err != nil || mapped || len(others) == 0 {
		return err
	}
	// The leader has ended; the others still have what was its.
	_, err = s.maps(now, pid, others[0])
	return err
}

// threads describes the threads of a process beside its leader, and returns
// them.
func (s *synth) threads(now uint64, pid, n int) ([]int, error) {
	if n <= 1 {
		return nil, nil
	}
	tids, err := procfs.ThreadsOf(os.DirFS(s.opts.Root+"/proc"), pid)
	if err != nil {
		if errors.Is(err, unix.ESRCH) {
			return nil, nil
		}
		return nil, fmt.Errorf("synthesize: %w", err)
	}
	tids = slices.DeleteFunc(tids, func(tid int) bool { return tid == pid })
	for _, tid := range tids {
		if !s.readComm(pid, tid) {
			continue
		}
		if err := s.task(now, pid, tid, pid, pid); err != nil {
			return nil, err
		}
	}
	return tids, nil
}

// readComm reads a thread's name into s.comm; false when the thread is gone.
func (s *synth) readComm(pid, tid int) bool {
	s.procPath(pid, "/task/")
	s.path = append(strconv.AppendInt(s.path, int64(tid), 10), "/comm"...)
	b, ok := s.read(s.path)
	if !ok {
		return false
	}
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	s.setComm(b)
	return true
}

// maxComm is the longest name of a task, TASK_COMM_LEN without its NUL. /proc
// gives kernel threads longer ones, records do not.
const maxComm = 15

func (s *synth) setComm(b []byte) { s.comm = append(s.comm[:0], b[:min(len(b), maxComm)]...) }

// procPath is proc/pid and what follows, below the root, in a buffer that the next call uses
// again.
func (s *synth) procPath(pid int, rest string) []byte {
	s.path = append(strconv.AppendInt(append(append(s.path[:0], s.opts.Root...), "/proc/"...), int64(pid), 10), rest...)
	return s.path
}

// read reads a whole file into a buffer that the next call uses again. False
// means that the task is gone or not ours to see.
func (s *synth) read(path []byte) ([]byte, bool) {
	fd, err := unix.Open(string(path), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	n := 0
	for {
		if n == len(s.file) {
			s.file = append(s.file, make([]byte, len(s.file))...)
		}
		k, err := unix.Read(fd, s.file[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, false
		}
		if k == 0 {
			return s.file[:n], true
		}
		n += k
	}
}

// stat is what /proc/PID/stat says and synth needs.
type stat struct {
	comm    []byte
	escaped bool // comm is not verbatim
	ppid    int
	threads int
	kernel  bool // a kernel thread: it maps nothing
}

// flagKthread is PF_KTHREAD (include/linux/sched.h).
const flagKthread = 0x00200000

// parseStat parses "pid (comm) state ppid …": see proc_pid_stat(5) for the
// numbers of fields, of which the first after comm is 3.
func parseStat(b []byte) (st stat, ok bool) {
	open, end := slices.Index(b, '('), len(b)-1
	for end >= 0 && b[end] != ')' { // comm may contain ')'
		end--
	}
	if open < 0 || end < open {
		return st, false
	}
	st.comm = b[open+1 : end]
	st.escaped = slices.Contains(st.comm, '\\')
	field := 2
	for rest := b[end+1:]; len(rest) > 0; {
		var f []byte
		f, rest = cutField(rest)
		if len(f) == 0 {
			break
		}
		var err error
		switch field++; field {
		case 4:
			st.ppid, err = strconv.Atoi(string(f))
		case 9:
			var flags uint64
			flags, err = strconv.ParseUint(string(f), 10, 64)
			st.kernel = flags&flagKthread != 0
		case 20:
			st.threads, err = strconv.Atoi(string(f))
			return st, err == nil
		}
		if err != nil {
			return st, false
		}
	}
	return st, false
}

// cutField returns the first field of b, delimited by blanks, and the rest.
func cutField(b []byte) (field, rest []byte) {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n') {
		b = b[1:]
	}
	for i, c := range b {
		if c == ' ' || c == '\n' {
			return b[:i], b[i:]
		}
	}
	return b, nil
}

// cutLine returns the first line of b without its end, and the rest.
func cutLine(b []byte) (line, rest []byte) {
	if i := slices.Index(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}
