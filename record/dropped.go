package record

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"kprof/perfevent/abi"
)

// otherRights is when Linux takes the counters of a task from it (fs/exec.c, begin_new_exec).
const otherRights = "Linux ends that when a program begins that gets other rights than whoever started it (setuid), or that its user may not read; it is in recordings of the whole machine"

// dropped finds the processes that went on without counters after an exec, see otherRights: the kernel
// writes an EXIT record of such a one before it has mapped its program, which follows any other exec.
type dropped struct {
	layout abi.Layout // of the side-band
	tasks  map[uint32]*execed
}

// execed is what happened to a process last; times of 0 are not known.
type execed struct {
	name               string // that its exec gave it
	exec, mapped, exit uint64
}

// take takes a side-band record. Records of one process may be in several rings, and so come in any order.
func (d *dropped) take(rec []byte) {
	const o = abi.LittleEndian
	if len(rec) < 24 {
		return
	}
	pid := o.Uint32(rec[8:])
	switch typ := abi.RecordType(o.Uint32(rec)); typ {
	case abi.RecordComm: // pid, tid, name
		f, ok := d.layout.DecodeTrailer(rec[abi.HeaderSize:])
		if !ok || abi.Misc(o.Uint16(rec[4:]))&abi.MiscCommExec == 0 {
			return
		}
		name, _, _ := bytes.Cut(rec[16:], []byte{0})
		e := d.of(pid)
		e.exec, e.name, e.exit = f.Time, string(name), 0
	case abi.RecordMmap, abi.RecordMmap2: // pid, tid
		if f, ok := d.layout.DecodeTrailer(rec[abi.HeaderSize:]); ok {
			e := d.of(pid)
			e.mapped = max(e.mapped, f.Time)
			if e.exit != 0 && !e.gone() {
				delete(d.tasks, pid)
			}
		}
	case abi.RecordExit: // pid, ppid, tid, ptid, time
		if len(rec) < 32 || o.Uint32(rec[16:]) != pid {
			return
		}
		e := d.of(pid)
		if e.exit = o.Uint64(rec[24:]); !e.gone() {
			delete(d.tasks, pid)
		}
	}
}

func (d *dropped) of(pid uint32) *execed {
	e := d.tasks[pid]
	if e == nil {
		e = &execed{}
		d.tasks[pid] = e
	}
	return e
}

// gone reports whether its counters were taken from it.
func (e *execed) gone() bool { return e.exec != 0 && e.exit >= e.exec && e.mapped < e.exec }

// note says which processes these are, but for those that others have told of; "" for none.
func (d *dropped) note(told []int) string {
	n := 0
	var names []string
	for pid, e := range d.tasks {
		if e.gone() && !slices.Contains(told, int(pid)) {
			n++
			names = append(names, e.name)
		}
	}
	if n == 0 {
		return ""
	}
	slices.Sort(names)
	names = slices.Compact(names)
	const most = 5
	if len(names) > most {
		names = append(names[:most], "…")
	}
	what := "a process was"
	if n > 1 {
		what = fmt.Sprintf("%d processes were", n)
	}
	return fmt.Sprintf("%s not recorded from an exec on (%s): %s", what, strings.Join(names, ", "), otherRights)
}
