package tracedat

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"kprof/perfevent/ringpage"
)

// Options are what else the file says of the trace. Zero fields are not in it.
type Options struct {
	Clock   string // of the top buffer: "local", "x86-tsc"
	Uname   string // "Linux HOST RELEASE MACHINE"
	Version string // of trace-cmd
	CPUs    int
	Stats   []string // of each CPU, the text of tracefs' per_cpu/cpuN/stats

	// Offset is what is added to times of the buffers' clock, in ns; TimeShift and then Scale come first.
	Offset    int64
	Scale     Scale
	TimeShift TimeShift

	Processes []Process

	// LastBoot is what tracefs' last_boot_info says of buffers that an earlier boot wrote, by their names.
	LastBoot map[string]string
}

// Scale makes ns of a clock that does not count them: times Mult, shifted right.
type Scale struct{ Mult, Shift uint32 }

// Process is what was mapped into a traced process when the trace began.
type Process struct {
	PID     int32
	Program string
	Maps    []Map
}

// Map is a file that is mapped.
type Map struct {
	Start, End uint64
	Path       string
}

// Numbers of options, which are those of sections too (trace-cmd-private.h).
const (
	optionDone        = 0
	optionDate        = 1
	optionCPUStat     = 2
	optionBuffer      = 3
	optionTraceClock  = 4
	optionUname       = 5
	optionOffset      = 7
	optionCPUCount    = 8
	optionVersion     = 9
	optionProcMaps    = 10
	optionTimeShift   = 12
	optionTSC2NSec    = 14
	optionHeaderInfo  = 16
	optionFtrace      = 17
	optionEvents      = 18
	optionKallsyms    = 19
	optionPrintk      = 20
	optionCmdlines    = 21
	optionBufferText  = 22
	optionLastBoot    = 24
	optionModulesFile = 25
)

// optionReader takes options.
type optionReader struct {
	file    *File
	cpus    int
	buffers []bufferOption
	texts   []bufferOption
	parts   map[uint16]uint64 // where sections are, by number: of each the last that was told, which is the newer
	next    uint64            // where further options are, 0 for nowhere
}

type bufferOption struct {
	off  uint64
	name string
	rest *cursor // what version 7 has behind the name
}

func newOptionReader(f *File) *optionReader {
	return &optionReader{file: f, parts: map[uint16]uint64{}}
}

func (o *optionReader) take(id uint16, b []byte) {
	f := o.file
	c := section(b, f.Order)
	switch id {
	case optionDone:
		o.next = c.u64()
	case optionDate:
		f.Options.Offset += number(b) * 1000 // it is in µs
	case optionOffset:
		f.Options.Offset += number(b)
	case optionCPUStat:
		if len(f.Options.Stats) < maxCPUs {
			f.Options.Stats = append(f.Options.Stats, text(b))
		}
	case optionTraceClock:
		f.Options.Clock = ringpage.ChosenClock(text(b))
	case optionUname:
		f.Options.Uname = strings.TrimSpace(text(b))
	case optionVersion:
		f.Options.Version = strings.TrimSpace(text(b))
	case optionCPUCount:
		if n := int(int32(c.u32())); c.err == nil && n > 0 && n <= maxCPUs {
			o.cpus, f.Options.CPUs = n, n
		}
	case optionLastBoot:
		if name, info, ok := strings.Cut(text(b), ":"); ok && len(f.Options.LastBoot) < maxBuffers {
			if f.Options.LastBoot == nil {
				f.Options.LastBoot = map[string]string{}
			}
			f.Options.LastBoot[name] = info
		}
	case optionProcMaps:
		f.addProcesses(text(b))
	case optionTimeShift:
		shift, err := readTimeShift(c)
		if err != nil {
			f.truncated(err)
		}
		f.Options.TimeShift = shift
	case optionTSC2NSec:
		if s := (Scale{c.u32(), c.u32()}); c.err == nil && s.Shift < 64 {
			f.Options.Scale = s
		}
	case optionBuffer, optionBufferText:
		x := bufferOption{off: c.u64(), name: c.cstring(1 << 10), rest: c}
		if c.err != nil {
			return
		}
		to := &o.buffers
		if id == optionBufferText {
			to = &o.texts
		}
		if len(*to) < maxBuffers {
			*to = append(*to, x)
		}
	case optionHeaderInfo, optionFtrace, optionEvents, optionKallsyms, optionPrintk, optionCmdlines, optionModulesFile:
		if off := c.u64(); c.err == nil {
			o.parts[id] = off
		}
	}
}

// text is a text up to its NUL.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// number is a decimal, or hexadecimal 0x, number in text; 0 for none.
func number(b []byte) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text(b)), 0, 64)
	if err != nil {
		return 0
	}
	return n
}

// addProcesses reads lines "PID n PROGRAM", each with n lines "start end path" behind it. All
// numbers are hexadecimal.
func (f *File) addProcesses(text string) {
	all := &f.Options.Processes
	maps := uint64(0)
	for line := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(words) != 3 {
			continue
		}
		a, err1 := strconv.ParseUint(words[0], 16, 64)
		b, err2 := strconv.ParseUint(words[1], 16, 64)
		switch {
		case err1 != nil || err2 != nil:
		case f.maps >= maxMaps || len(*all) >= maxTasks:
			f.truncated(fmt.Errorf("what is mapped into processes: more than %d maps, or %d processes", maxMaps, maxTasks))
			return
		case maps == 0:
			if a < 1<<31 {
				*all = append(*all, Process{PID: int32(a), Program: words[2]})
				maps = b
			}
		default:
			maps--
			if p := &(*all)[len(*all)-1]; a < b {
				p.Maps = append(p.Maps, Map{a, b, words[2]})
				f.maps++
			}
		}
	}
}
