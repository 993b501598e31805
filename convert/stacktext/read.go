// Package stacktext reads the stacks that other tools print as text: perf script
// (and what prints like it), bpftrace, DTrace, and the hist triggers of the kernel's tracer.
//
// Text is read line by line, in memory that grows with the number of different
// frames, stacks and labels, not with that of samples.
package stacktext

import (
	"fmt"
	"io"

	"kprof/convert/stacks"
)

// Options say which samples to take and how to label them. The zero value takes
// all and labels them with comm and pid, as far as the text has them.
type Options struct {
	PIDs  []int32  // processes to take, none for all
	TIDs  []int32  // threads to take, none for all
	Comms []string // names of threads to take, none for all
	CPUs  []int32  // processors to take, none for all
	// From and To bound the times of samples, in ns of the text's clock, both
	// inclusive. To 0 is no bound.
	From, To uint64
	// Window makes From and To of the time of the first sample that has one; last is 0,
	// as text is read but once (see Span). nil leaves them as they are.
	Window func(first, last uint64) (from, to uint64, err error)

	TID, CPU bool // label samples with their thread and processor too

	// Times keeps the time of each sample that has one (stacks.Set.TimedSamples), 24
	// bytes each. Memory then grows with the number of samples.
	Times bool
	// Blocks keeps the sums of samples over blocks of time (stacks.Set.BlockSums).
	Blocks bool
}

// Stats is what was seen of a text.
type Stats struct {
	Samples uint64 // in the text
	Taken   uint64 // of those, the ones Options select
	Lost    uint64 // records that the text says were lost
	// Branches are samples that are a branch, "FROM => TO", of a hardware trace; their
	// stack is the function at FROM alone.
	Branches uint64
	Errors   uint64 // errors in decoding a hardware trace, of which the text tells

	// Unread is the number of lines that are of no known form, and FirstUnread
	// where the first of them is, counted from 1.
	Unread, FirstUnread uint64
	ShortenedStacks     uint64 // stacks of more frames than can be stored
	// CutStacks are stacks of CutFrames frames, as many as are taken: callers are missing. CutHistStacks
	// are those of hist triggers, each of which may have been seen often.
	CutStacks, CutHistStacks uint64
	CutFrames                int
	OverflowTasks            uint64 // samples whose task is not told, as there are too many
	// MissingDeferredChains are samples whose user callers were to come later, and did not.
	MissingDeferredChains uint64

	FirstTime, LastTime uint64 // of samples, ns of the text's clock

	// Which fields the samples have.
	HasPID, HasTID, HasComm, HasCPU, HasTime bool

	LeftOut *LeftOut // nil if samples were taken, or there are none
}

// Dialect is a form of text.
type Dialect uint8

// The forms of text that Read knows.
const (
	Unknown    Dialect = iota
	PerfScript         // perf script, simpleperf's report_sample.py
	BPFTrace           // maps of bpftrace whose keys have stacks, "@[…]: n"
	DTrace             // aggregations of DTrace by stack()
	Histogram          // what hist triggers counted by stack, tracefs' events/SYSTEM/EVENT/hist
)

// Read reads text of the dialect d. It fails if there is no stack in it.
func Read(r io.Reader, d Dialect, o Options) (*stacks.Set, *Stats, error) {
	switch d {
	case PerfScript:
		return readPerfScript(r, o)
	case BPFTrace:
		return readBPFTrace(r)
	case DTrace:
		return readDTrace(r)
	case Histogram:
		return readHistogram(r)
	}
	return nil, nil, fmt.Errorf("no dialect %d", d)
}
