//go:build !portable

package main

import (
	"fmt"
	"strconv"
	"strings"

	"kprof/convert/printable"
	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/record"
)

// callGraphUsage is the usage of --call-graph.
const callGraphUsage = "what tells callers: fp for frame pointers, dwarf or dwarf,SIZE for copies of user stacks of that many bytes (default 16384), " +
	"lbr for what the processor keeps of calls, none for no callchains"

// callers takes --call-graph and -g for a recording.
func (f *recordFlags) callers(o *record.Options) error {
	mode, size, sized := strings.Cut(f.callGraphMode, ",")
	switch {
	case mode == "fp" && !sized:
	case mode == "none" && !sized:
		o.NoCallchain = true
	case mode == "lbr" && !sized:
		o.UserCallers = perfevent.BranchRecords
	case mode == "dwarf":
		o.UserCallers = perfevent.CopiedStacks
		if sized {
			n, err := strconv.Atoi(size)
			if err != nil || n < 8 || n > perfevent.MaxStackSize {
				return usagef("--call-graph %q: the size of copies is a number of bytes from 8 to %d", f.callGraphMode, perfevent.MaxStackSize)
			}
			o.StackSize = (n + 7) &^ 7
		}
	default:
		return usagef("--call-graph %q: use fp, dwarf, dwarf,SIZE, lbr or none", f.callGraphMode)
	}
	if !f.callGraph {
		o.NoCallchain = true
	}
	return nil
}

// forOutput fits what is recorded to what is made of it.
func (f *recordFlags) forOutput(o *record.Options, out output) {
	if out.format == formatData || f.trace != nil {
		return
	}
	if sel, err := f.sel.options(); err == nil && !sel.UsesFields() {
		o.NoRaw = true
	}
	if o.UserCallers == perfevent.CopiedStacks {
		o.UserCallers = perfevent.CopiedStacksToo // of which nobody makes two stacks, as perf does
	}
}

// noteCopies says how much of stacks is copied, and how often.
func noteCopies(s *record.Session) {
	for _, e := range s.Events() {
		if e.Attr.SampleStackUser == 0 {
			continue
		}
		often := "of each sample"
		if e.Attr.Flags&abi.FlagFreq != 0 {
			often = strconv.FormatUint(e.Attr.SamplePeriod, 10) + " times a second on each CPU"
		}
		notef("stacks are copied %s, %s each, into rings of %s", often, printable.Bytes(int64(e.Attr.SampleStackUser)), printable.Bytes(int64(s.RingSize())))
		return
	}
}

// tooManyLost is the error of --max-lost.
func (f *recordFlags) tooManyLost(stats *record.Stats) error {
	if !f.maxLostSet || stats.Lost <= f.maxLost {
		return nil
	}
	return fmt.Errorf("%d records were lost, and --max-lost allows %d", stats.Lost, f.maxLost)
}
