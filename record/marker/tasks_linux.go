package marker

import (
	"os"
	"strconv"
	"strings"
)

// task is a thread: the tracer notes its id alone.
type task struct {
	pid, tid int32
	comm     string
}

// maxTasks is how many tasks are known at the same time.
const maxTasks = 1 << 14

// tasks finds the processes and the names of threads in /proc.
type tasks struct {
	names bool
	known map[int32]task // in this round: an id may be another's in the next
	named map[int32]string
}

func newTasks(names bool) tasks {
	return tasks{names, map[int32]task{}, map[int32]string{}}
}

// forget begins a round.
func (s *tasks) forget() {
	clear(s.known)
	if len(s.named) > maxTasks {
		clear(s.named)
	}
}

// of returns what is known of a thread, and whether its name is to be told. One that is
// gone is its own process.
func (s *tasks) of(tid int32) (_ task, isNew bool) {
	t, ok := s.known[tid]
	if ok {
		return t, false
	}
	t = readTask(tid)
	if len(s.known) > maxTasks {
		clear(s.known)
	}
	s.known[tid] = t
	if !s.names || t.comm == "" || s.named[tid] == t.comm {
		return t, false
	}
	s.named[tid] = t.comm
	return t, true
}

func readTask(tid int32) task {
	t := task{pid: tid, tid: tid}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(int(tid)) + "/status")
	if err != nil {
		return t
	}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":\t")
		switch key {
		case "Name":
			t.comm = value
		case "Tgid":
			if n, err := strconv.ParseInt(value, 10, 32); err == nil {
				t.pid = int32(n)
			}
			return t
		}
	}
	return t
}
