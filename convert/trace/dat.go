package trace

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"kprof/convert/trace/tracedat"
	"kprof/perfevent/perfdata"
)

// OpenDat opens the trace.dat file in the first size bytes of r, which must stay open as
// long as the Reader; lines is as in Trace.Reader.
func OpenDat(ctx context.Context, r io.ReaderAt, size int64, lines bool) (*perfdata.Reader, error) {
	f, err := tracedat.Open(r, size)
	if err != nil {
		return nil, err
	}
	rd, err := ofDat(f).Reader(ctx, lines)
	if err != nil {
		f.Close()
		return nil, err
	}
	return rd, nil
}

// ofDat makes a Trace of a trace.dat file.
func ofDat(f *tracedat.File) *Trace {
	t := &Trace{
		Order: f.Order, Cmdlines: f.Cmdlines, Incomplete: f.Truncated, Close: f.Close,
		Tracing: *f.TracingData(func(uint64) bool { return true }),
	}
	t.TickClock, t.Ticks = ticks(f)
	if len(f.Kallsyms) > 0 {
		t.Kernel = &perfdata.KernelSymbols{Kallsyms: f.Kallsyms, Modules: f.Modules}
	}
	if v := f.Options.Version; v != "" {
		t.Version = "trace-cmd " + v
	}
	// "Linux HOST RELEASE MACHINE"
	if words := strings.Fields(f.Options.Uname); len(words) >= 4 {
		t.Host.Hostname, t.Host.OSRelease, t.Host.Arch = words[1], words[2], words[len(words)-1]
	}
	t.Host.CPUs.Online, t.Host.CPUs.Available = uint32(f.Options.CPUs), uint32(f.Options.CPUs)
	for _, p := range f.Options.Processes {
		t.Processes = append(t.Processes, Process{PID: p.PID, Maps: placed(p.Maps)})
	}
	for i := range f.Buffers {
		b := &f.Buffers[i]
		for _, c := range b.CPUs {
			t.Rings = append(t.Rings, Ring{
				Buffer: b.Name, CPU: int32(c.ID), Layout: b.Layout, Time: f.Options.Nanoseconds(int32(c.ID)),
				Open: func(readahead int) Pages { return f.Pages(b, c, readahead) },
			})
		}
	}
	t.placeKernel(f.Options.LastBoot)
	if len(t.Rings) == 0 && t.Incomplete == nil && len(f.Text) > 0 {
		t.Incomplete = fmt.Errorf("it holds the text of a latency tracer, and no pages")
	}
	return t
}

// ticks reports whether times of the file are ticks of a clock that does not count ns, and that nothing
// makes ns of, and which, where that is known.
func ticks(f *tracedat.File) (clock string, ticks bool) {
	if f.Options.Scale.Mult != 0 {
		return "", false
	}
	for i := range f.Buffers {
		b := &f.Buffers[i]
		if c, t := f.Ticks(b); t && len(b.CPUs) > 0 {
			clock, ticks = cmp.Or(clock, c), true
		}
	}
	return clock, ticks
}
