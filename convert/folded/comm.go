package folded

import (
	"bytes"
	"errors"

	"kprof/convert/stacks"
)

// errDeep tells of a line with more frames than can be stored.
var errDeep = errors.New("more frames than can be stored")

// maxComm is the longest name of a task, without its end (TASK_COMM_LEN of linux/sched.h).
const maxComm = 15

// isFunction tells whether the first frame of a line is no name of a task but a function, as in the
// stacks of py-spy, "<module> (a.py:1)", async-profiler, DTrace and others that write no comm: it is
// longer than the kernel lets names be, or has what functions alone have. Of a work queue's thread,
// the kernel tells more than its name (fs/proc/array.c, proc_task_name).
func isFunction(name []byte) bool {
	if bytes.HasPrefix(name, []byte("kworker/")) {
		return false
	}
	name = cutIDs(name)
	return len(name) > maxComm || bytes.Contains(name, []byte("::")) || bytes.IndexByte(name, '`') > 0 ||
		bytes.Contains(name, []byte(" tid=")) || bytes.HasSuffix(name, []byte("()")) || hasLine(name)
}

// cutIDs removes "-PID" or "-PID/TID", which stackcollapse-perf.pl --pid and --tid put behind a comm,
// and "?" for what is not known.
func cutIDs(name []byte) []byte {
	i := bytes.LastIndexByte(name, '-')
	if i < 0 || len(bytes.Trim(name[i+1:], "0123456789/?")) > 0 {
		return name
	}
	return name[:i]
}

// hasLine tells whether a name ends in a place in a source, "(a.py:12)".
func hasLine(name []byte) bool {
	place, ok := bytes.CutSuffix(name, []byte(")"))
	file := bytes.TrimRight(place, "0123456789")
	return ok && len(file) < len(place) && bytes.HasSuffix(file, []byte(":")) && bytes.IndexByte(file, '(') > 0
}

// uncall makes functions of all that was taken for comms: the outermost frames of their stacks.
func (f *foldedReader) uncall() error {
	old := f.set
	f.set = stacks.New(old.Events...)
	f.locations = make(map[string]uint32)
	f.comm, f.comms, f.labels, f.names = false, nil, 0, 0
	locations := make([]uint32, len(old.Locations))
	for i := range locations {
		locations[i] = f.location([]byte(old.Functions[old.Lines(uint32(i))[0].Function].Name))
	}
	for i := range old.NumSamples() {
		x := old.Sample(i)
		f.chain = f.chain[:0]
		for _, loc := range old.Stack(x.Stack) {
			f.chain = append(f.chain, locations[loc])
		}
		l, _ := old.Label(x.Labels, "comm")
		if f.chain = append(f.chain, f.location([]byte(l.Str))); len(f.chain) > stacks.MaxDepth {
			return errDeep
		}
		f.set.Add(0, f.set.Intern(f.chain), 0, x.Values...)
	}
	return nil
}
