package convert

import (
	"path"
	"slices"
	"strings"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
)

// JITDump is a file in which a process writes what code it makes at run time. The
// process maps it once, to tell whoever records it.
type JITDump struct {
	PID  int
	Path string
}

// maxDumps bounds how many dumps are remembered.
const maxDumps = 1 << 12

// noteDump remembers the file of a mapping that is called jit-PID.dump.
func (tl *timeline) noteDump(m *abi.Mmap) {
	if !strings.HasSuffix(m.File, ".dump") { // nearly always
		return
	}
	pid, ok := strings.CutPrefix(strings.TrimSuffix(path.Base(m.File), ".dump"), "jit-")
	if !ok || pid == "" || strings.Trim(pid, "0123456789") != "" {
		return
	}
	d := JITDump{int(m.PID), m.File}
	if len(tl.dumps) < maxDumps && !slices.Contains(tl.dumps, d) {
		tl.dumps = append(tl.dumps, d)
	}
}

// addJITCode maps the code of all dumps, each function from when it was put down:
// to where its bytes are in the dump, which is then a file like any other.
func (tl *timeline) addJITCode(code func(JITDump) []symbolize.JITCode) {
	for _, d := range tl.dumps {
		codes := code(d)
		o := object{file: tl.strings.of(d.Path), kind: stacks.KindUser}
		for _, c := range codes {
			o.size = max(o.size, c.Offset+c.Limit-c.Start)
		}
		obj := tl.objects.of(o)
		for _, c := range codes {
			a := newArea(c.Start, c.Limit-c.Start, c.Time)
			a.off, a.obj, a.pid = c.Offset, obj, int32(d.PID)
			tl.pending.addMap(opMap, a)
		}
	}
}

// monotonic reports whether the times of a recording are those of
// CLOCK_MONOTONIC, which dumps have.
func monotonic(events *perfdata.EventSet) bool {
	const clockMonotonic = 1
	for _, e := range events.Events {
		if e.Attr.Flags&abi.FlagUseClockID == 0 || e.Attr.ClockID != clockMonotonic {
			return false
		}
	}
	return len(events.Events) > 0
}
