package listing

import (
	"fmt"
	"slices"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/spelling"
)

// Columns are what is shown of events.
type Columns uint32

// The columns, in the order in which they are shown, which is that of perf script; but in text
// registers, PhysAddr and sizes of pages come last.
const (
	Comm Columns = 1 << iota
	PID
	TID
	CPU
	Time
	Period
	EventName
	Trace  // the payload, as the kernel prints it
	Fields // the payload as name=value
	Raw    // the payload as bytes
	Addr
	DataSrc // where what is at Addr was found
	Weight
	InsLat       // in cycles, as RetireLat
	RetireLat    // as perf calls it; on powerpc the cycles of a stage of the pipeline
	IRegs        // registers of what was interrupted
	URegs        // registers of user code
	PhysAddr     // of Addr
	DataPageSize // of the page at Addr, in bytes
	CodePageSize // of the page at IP
	IP
	Sym // of IP
	DSO
	lastColumn
)

// columnNames are perf's words, but for fields and raw.
var columnNames = []string{"comm", "pid", "tid", "cpu", "time", "period", "event", "trace", "fields", "raw", "addr", "data_src", "weight", "ins_lat", "retire_lat", "iregs", "uregs", "phys_addr", "data_page_size", "code_page_size", "ip", "sym", "dso"}

// ColumnNames are the names of all columns, in the order in which they are shown.
func ColumnNames() []string { return slices.Clone(columnNames) }

// Names are the names of the columns.
func (c Columns) Names() []string {
	var names []string
	for i, n := range columnNames {
		if c&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// Selection is which columns are shown: those that suit each event, and more or fewer; or
// what was asked for.
type Selection struct {
	Exact     bool // Add is all
	Add, Drop Columns
}

// ParseColumns parses a list of columns, "comm,time,event", or "+period,-cpu" for what is
// shown besides, and not.
func ParseColumns(list string) (s Selection, err error) {
	plain, signed := 0, 0
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		to := &s.Add
		switch {
		case strings.HasPrefix(name, "-"):
			to = &s.Drop
			fallthrough
		case strings.HasPrefix(name, "+"):
			signed++
			name = name[1:]
		default:
			plain++
		}
		i := slices.Index(columnNames, name)
		if i < 0 {
			if near := spelling.Closest(name, columnNames); len(near) > 0 {
				return s, fmt.Errorf("there is no column %q%s", name, spelling.Question(near))
			}
			return s, fmt.Errorf("there is no column %q: use %s", name, strings.Join(columnNames, ", "))
		}
		*to |= 1 << i
	}
	if plain > 0 && signed > 0 {
		return s, fmt.Errorf("columns are either all listed, or each is added with + or left out with -")
	}
	s.Exact = plain > 0
	return s, nil
}

// most is the columns of CSV that are shown of any events.
func (s Selection) most() Columns {
	if s.Exact {
		return s.Add
	}
	return (Comm | PID | TID | CPU | Time | Period | EventName | Trace | IP | Sym | DSO | s.Add) &^ s.Drop
}

// of is the columns that are shown of a Kind, in a format.
func (s Selection) of(k *Kind, f Format) Columns {
	if s.Exact {
		return s.Add
	}
	c := Comm | TID | CPU | Time | EventName
	if f != Text {
		c |= PID
	}
	switch {
	case !k.hasPayload() || k.rawBeside():
		c |= Period | IP | Sym | DSO
	case f == JSON:
		c |= Fields
	default:
		c |= Trace
	}
	return (c | s.Add) &^ s.Drop
}

// hasPayload reports whether samples of the event have raw data that is theirs.
func (k *Kind) hasPayload() bool { return k.Event.Attr.SampleType&abi.SampleRaw != 0 && !k.offCPU() }

// rawBeside reports whether raw data is not what the event is about: of events of the CPU, of
// clocks and of breakpoints, of which perf record -R asks it too. As by perf script, it is not
// shown then unless it is asked for (builtin-script.c, output).
func (k *Kind) rawBeside() bool {
	a := &k.Event.Attr
	return a.Type <= abi.TypeBreakpoint && a.Type != abi.TypeTracepoint && !(a.Type == abi.TypeSoftware && a.Config == abi.SWBPFOutput)
}

// offCPU reports whether the raw data of samples are the sample itself.
func (k *Kind) offCPU() bool { return k.Name == "offcpu-time" }

// lacks are the columns that samples of an event do not have.
func (k *Kind) lacks() (c Columns) {
	t := k.Event.Attr.SampleType
	for _, of := range []struct {
		bits    abi.SampleType // any of them
		columns Columns
	}{{abi.SampleTID, Comm | PID | TID}, {abi.SampleCPU, CPU}, {abi.SampleTime, Time}, {abi.SampleAddr, Addr}, {abi.SampleIP, IP | Sym | DSO},
		{abi.SampleWeight | abi.SampleWeightStruct, Weight}, {abi.SampleRegsIntr, IRegs}, {abi.SampleRegsUser, URegs}, {abi.SamplePhysAddr, PhysAddr},
		{abi.SampleDataSrc, DataSrc}, {abi.SampleWeightStruct, InsLat | RetireLat}, {abi.SampleDataPageSize, DataPageSize}, {abi.SampleCodePageSize, CodePageSize}} {
		if t&of.bits == 0 {
			c |= of.columns
		}
	}
	if !k.hasPayload() {
		c |= Trace | Fields | Raw
	}
	return c
}
