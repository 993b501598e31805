package trace

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kprof/convert/trace/ftracetext"
	"kprof/perfevent/format"
)

// The kernel keeps the names of some tasks beside a trace (saved_cmdlines), 128 by default. Events
// of the scheduler tell those of others: of who runs next, and who was woken. As the kernel keeps
// the last name of each, so it is the last that counts here: a command, not the shell before it.

// noName stands for a name that the kernel did not keep.
const noName = "<...>"

// maxNames bounds how many tasks' names are kept of a trace.
const maxNames = 1 << 20

// pidOf returns the name of the field with the task whose name a field is: "next_pid" of
// "next_comm"; false if it is another field.
func pidOf(field string) (string, bool) {
	which, ok := strings.CutSuffix(field, "comm")
	return which + "pid", ok
}

// who fills in the task of an event.
func (w *textWalk) who(e *textEvent, l *ftracetext.Line) {
	e.cpu, e.tid, e.task, e.pid, e.time, e.flags = l.CPU, l.TID, l.Task, l.TGID, w.time, commonFlags(l.Flags)
	e.flagged = l.Flags != ""
	if e.tid < 0 && l.Kind != ftracetext.Lost {
		if t, ok := w.tasks[l.CPU]; ok {
			e.tid, e.task = t.tid, t.name
		}
	}
	// function_graph cuts names to 7 characters, the latency format to 8.
	known, ok := w.names[e.tid]
	if !ok {
		known, ok = w.t.told[e.tid]
	}
	switch {
	case e.task == noName && ok, len(e.task) >= 7 && strings.HasPrefix(known, e.task):
		e.task = known
	case e.task != noName:
		setName(w.names, e.tid, e.task)
	}
}

// learn takes up the names of tasks that an event of the scheduler tells.
func (t *textTrace) learn(e *textEvent) {
	if e.kind.system != "sched" {
		return
	}
	for i := 1; i < len(e.fields); i++ {
		comm, pid := &e.fields[i-1], &e.fields[i]
		if name, ok := pidOf(comm.Name); !ok || name != pid.Name || comm.Value == noName {
			continue
		}
		if tid, err := strconv.ParseInt(pid.Value, 10, 32); err == nil {
			setName(t.told, int32(tid), comm.Value)
		}
	}
}

// setName notes the name of a task.
func setName(names map[int32]string, tid int32, name string) {
	known, ok := names[tid]
	if tid <= 0 || name == "" || known == name || !ok && len(names) >= maxNames {
		return
	}
	names[tid] = strings.Clone(name)
}

// namePair are the fields of an event that tell a task and its name.
type namePair struct{ comm, pid *format.Field }

// namePairs are those of an event of the scheduler.
func namePairs(f *format.Format) (pairs []namePair) {
	for i := range f.Fields {
		if pid, ok := pidOf(f.Fields[i].Name); ok && f.Fields[i].Text() {
			if p := f.Field(pid); p != nil && p.Scalar() {
				pairs = append(pairs, namePair{&f.Fields[i], p})
			}
		}
	}
	return pairs
}

// toldName is the name of a task as an event tells it.
type toldName struct {
	time uint64
	name string
}

// toldNames are the last names of tasks that events tell, by tid.
type toldNames map[int32]toldName

// note takes up what an event tells.
func (n toldNames) note(pairs []namePair, time uint64, raw []byte) {
	for i := range pairs {
		tid, ok := pairs[i].pid.Uint(raw)
		if !ok || int32(tid) <= 0 {
			continue
		}
		known, ok := n[int32(tid)]
		if ok && known.time > time || !ok && len(n) >= maxNames {
			continue
		}
		if name, ok := pairs[i].comm.String(raw); ok && len(name) > 0 && string(name) != noName {
			if string(name) != known.name {
				known.name = string(name)
			}
			n[int32(tid)] = toldName{time, known.name}
		}
	}
}

// merge takes up what is later in others.
func (n toldNames) merge(others toldNames) {
	for tid, x := range others {
		if known, ok := n[tid]; !ok || cmp.Or(cmp.Compare(x.time, known.time), strings.Compare(x.name, known.name)) > 0 {
			n[tid] = x
		}
	}
}

// tids are the tasks, in order.
func (n toldNames) tids() []int32 { return slices.Sorted(maps.Keys(n)) }
