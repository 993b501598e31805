//go:build !portable

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kprof/convert/export"
	"kprof/convert/printable"
	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/record"
	"kprof/symbolize/framepointer"
)

// callGraphUsage is the usage of --call-graph.
const callGraphUsage = "what tells callers: auto for copies of the stacks of those programs of a command or of processes that have no frame pointers, fp for frame pointers, dwarf or dwarf,SIZE for copies of user stacks of that many bytes (default 16384), " +
	"lbr for what the processor keeps of calls, none for no callchains"

// callers takes --call-graph and -g for a recording.
func (f *recordFlags) callers(o *record.Options) error {
	mode, size, sized := strings.Cut(f.callGraphMode, ",")
	switch {
	case mode == "fp" && !sized:
	case mode == "auto" && !sized:
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
		return usagef("--call-graph %q: use auto, fp, dwarf, dwarf,SIZE, lbr or none", f.callGraphMode)
	}
	if !f.callGraph {
		o.NoCallchain = true
	}
	if o.NoKernelCallers, o.NoUserCallers = f.userChains, f.kernelChains; f.userChains && f.kernelChains {
		return usagef("--user-callchains and --kernel-callchains exclude each other: callchains have both parts by default")
	}
	if (f.userChains || f.kernelChains) && o.NoCallchain {
		return usagef("--user-callchains and --kernel-callchains are of callchains, and none are recorded")
	}
	return nil
}

// forOutput fits what is recorded to what is made of it.
func (f *recordFlags) forOutput(o *record.Options, out output) {
	if every := max(f.parts.every, f.push.every); every >= 5*time.Second && len(f.when.on)+len(f.when.off)+len(f.parts.on) == 0 {
		// Nobody waits for what comes in such periods, and each look into the rings costs as much as
		// dozens of samples. They wake us before they are full.
		o.DrainInterval = 250 * time.Millisecond
	}
	if out.format == export.Data || f.trace != nil {
		return
	}
	if sel, err := f.sel.options(); err == nil && !sel.UsesFields() {
		o.NoRaw = true
	}
	f.live = true
	f.forLive(o)
}

// forLive does so where a profile is made while recording.
func (f *recordFlags) forLive(o *record.Options) {
	if f.live && o.UserCallers == perfevent.CopiedStacks {
		o.UserCallers = perfevent.CopiedStacksToo // of which nobody makes two stacks, as perf does
	}
}

// copyWhereNeeded has stacks copied, if it is left to us, where programs have no frame
// pointers: of the command at path, or of the processes that are recorded.
func (f *recordFlags) copyWhereNeeded(o *record.Options, path string) {
	if f.callGraphMode != "auto" || o.NoCallchain || o.NoUserCallers || f.trace != nil || f.offCPU() != "" || o.Target.AllCPUs || len(o.Target.Cgroups) > 0 ||
		!perfevent.CanCopyStacks() {
		return
	}
	var programs framepointer.Programs
	o.CopiesIf = func(pid int) bool {
		lacks, err := programs.ProcessLacks(pid)
		return lacks && err == nil
	}
	if path != "" {
		lacks, err := programs.PathLacks(path)
		o.CopiesAlways = lacks && err == nil
	} else {
		o.CopiesAlways = !slices.ContainsFunc(slices.Concat(o.Target.PIDs, o.Target.TIDs), func(id int) bool { return !o.CopiesIf(id) })
	}
	o.UserCallers = perfevent.CopiedStacks
	f.forLive(o)
}

// noteShortStacks says what share of the machine's samples has a short user stack, and what
// whole ones take, where frame pointers were not asked for.
func (f *recordFlags) noteShortStacks(o *record.Options, stats *record.Stats) {
	if f.callGraphMode != "auto" && (f.callGraphSet || !o.Target.AllCPUs) || f.top != nil || f.trace != nil {
		return
	}
	if text := shortStacksText(stats.ShortStacks, stats.Samples); text != "" {
		notef("%s", text)
	}
}

// shortStacksText is "" where few samples with user code were looked at, or few of these have a
// short stack.
func shortStacksText(s record.UserStacks, samples uint64) string {
	const few, tenth = 50, 10
	if s.Seen < few || s.Short*tenth < s.Seen {
		return ""
	}
	return fmt.Sprintf("%d%% of the samples in user code have a stack of one or two frames there: --call-graph dwarf copies stacks, which are whole then, 16 KiB of each, %s for as many samples",
		s.Short*100/s.Seen, printable.Bytes(int64(samples)<<14))
}

// noteCopies says how much of stacks is copied, and how often.
func noteCopies(s *record.Session) {
	for _, e := range s.Events() {
		if e.Attr.SampleStackUser == 0 || strings.HasSuffix(e.Name, abi.CopiesSuffix) { // of some programs, perhaps
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

// noteUncopied says of which events --call-graph auto has no stacks copied, whatever program runs.
func (f *recordFlags) noteUncopied(o *record.Options, s *record.Session) {
	if f.callGraphMode != "auto" || o.NoCallchain || o.NoUserCallers || f.trace != nil || f.top != nil || o.Target.AllCPUs || len(o.Target.Cgroups) > 0 {
		return
	}
	if text := uncopiedText(s.Events()); text != "" {
		notef("%s", text)
	}
}

// uncopiedText is "" where all events that have callchains are sampled at a frequency.
func uncopiedText(events []abi.Event) string {
	var names []string
	for _, e := range events {
		if a := &e.Attr; a.SampleType&abi.SampleCallchain != 0 && a.Flags&abi.FlagFreq == 0 && a.SampleStackUser == 0 && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "--call-graph auto copies no stacks of events that are sampled by their number, not by a frequency: " + strings.Join(names, ", ") + "; --call-graph dwarf does"
}

// tooManyLost is the error of --max-lost.
func (f *recordFlags) tooManyLost(stats *record.Stats) error {
	if !f.maxLostSet || stats.Lost <= f.maxLost {
		return nil
	}
	return fmt.Errorf("%d records were lost, and --max-lost allows %d", stats.Lost, f.maxLost)
}
