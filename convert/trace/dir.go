package trace

import (
	"context"
	"io/fs"

	"kprof/convert/trace/ringdir"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/ringpage"
)

// OpenDir opens a directory with the pages of rings, and what reading them takes; see
// ringdir. lines is as in Trace.Reader. It fails with ringdir.ErrNoPages where there are none.
func OpenDir(ctx context.Context, dir fs.FS, lines bool) (*perfdata.Reader, error) {
	d, err := ringdir.Open(dir)
	if err != nil {
		return nil, err
	}
	t := &Trace{Order: d.Layout.Order, Tracing: d.Tracing, Cmdlines: d.Tracing.Cmdlines, Close: d.Close}
	if len(d.Kallsyms) > 0 {
		t.Kernel = &perfdata.KernelSymbols{Kallsyms: d.Kallsyms, Modules: d.Modules}
	}
	for i := range d.Rings {
		r := &d.Rings[i]
		if clock := d.Clocks[r.Buffer]; !t.Ticks && clock != "" && !ringpage.CountsNanoseconds(clock) {
			t.TickClock, t.Ticks = clock, true
		}
		t.Rings = append(t.Rings, Ring{
			Buffer: r.Buffer, CPU: r.CPU, Layout: d.Layout,
			Open: func(readahead int) Pages { return d.Pages(r, readahead) },
		})
	}
	t.placeKernel(d.LastBoot)
	rd, err := t.Reader(ctx, lines)
	if err != nil {
		d.Close()
		return nil, err
	}
	return rd, nil
}
