package convert

import (
	"context"
	"errors"
	"os"
	"slices"

	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
)

// SampledNames finds the names of the user code that was sampled in the recording in f, and
// what walking its copies of stacks takes, in the form of perfdata.AppendUserSymbols: nil
// where no user code was. leftOut is how many addresses have none since there are too many
// names. Of a recording that was just made it sees more than anybody later: o.Retained holds
// what was mapped, and processes may still be there. No server is asked.
//
// When ctx ends, so does it, with the cause as error, whatever it waits for.
func SampledNames(ctx context.Context, f *os.File, o symbolize.Options) (names []byte, leftOut int, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	r, err := perfdata.NewReaderAt(f, st.Size())
	if err != nil {
		return nil, 0, err
	}
	if !slices.ContainsFunc(r.Events.Events, samplesUserCode) {
		return nil, 0, nil
	}
	kept := symbolize.NewKeptNames()
	o.Keep, o.DebuginfodURLs, o.NamesOnly, o.Inline, o.Lines = kept, nil, false, false, false
	in := recordingInput{Reader: r}
	o.CallFrames = in.wantsCallFrames()
	found := make(chan error, 1)
	go func() {
		sym := symbolize.New(o)
		found <- errors.Join(in.findNames(ctx, sym), sym.Close())
	}()
	select {
	case err = <-found:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, 0, err
	}
	names, leftOut = kept.AppendTo(nil, perfdata.MaxUserSymbols)
	return names, leftOut, nil
}

// samplesUserCode reports whether samples of an event have addresses of user code. Leaving out
// what user code does (cycles:k) leaves its callers in: exclude_callchain_user is for these
// (get_perf_callchain, kernel/events/callchain.c).
func samplesUserCode(e *perfdata.Event) bool {
	a := &e.Attr
	switch t := a.SampleType; {
	case a.Type == abi.TypeSoftware && a.Config == abi.SWDummy: // it has no samples
		return false
	case t&(abi.SampleStackUser|abi.SampleBranchStack|abi.SampleAux) != 0:
		return true
	case t&abi.SampleCallchain != 0 && a.Flags&abi.FlagExcludeCallchainUser == 0:
		return true
	}
	return a.SampleType&abi.SampleIP != 0 && a.Flags&abi.FlagExcludeUser == 0
}

// findNames has sym look for the names of all user code.
func (in *recordingInput) findNames(ctx context.Context, sym *symbolize.Symbolizer) error {
	ro := replay.Options{JITCode: func(d replay.JITDump) []symbolize.JITCode { return sym.JITCode(d.PID, d.Path) }}
	if in.wantsCallFrames() {
		ro.Unwind = &replay.Unwind{Machine: unwindMachine(in.Features.Arch), Frames: sym.CallFrames}
	}
	set, stats, err := replay.File(ctx, in.Reader, ro)
	if err != nil {
		return err
	}
	for _, d := range stats.JITDumps {
		sym.AddJITDump(d.PID, d.Path)
	}
	addrs := make([][]uint64, len(set.Mappings))
	memory := map[int]int32{} // of processes: what one tells of its code is read once
	for i := range set.Locations {
		l := &set.Locations[i]
		if l.Mapping < 0 {
			continue
		}
		m, addr, at := &set.Mappings[l.Mapping], l.Addr, l.Mapping
		switch l.Kind {
		case stacks.KindUser, stacks.KindVDSO:
			addr = addr - m.Start + m.Offset
		case stacks.KindAnon:
			first, known := memory[m.PID]
			if !known {
				first = at
				memory[m.PID] = at
			}
			at = first
		default:
			continue
		}
		addrs[at] = append(addrs[at], addr)
	}
	for i := range addrs {
		if _, err := sym.Resolve(ctx, set.Mappings[i], addrs[i]); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}
