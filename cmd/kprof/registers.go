package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"kprof/convert"
	"kprof/convert/infile"
	"kprof/convert/listing"
	"kprof/convert/registers"
)

// registerOptions are the flags of the table of accesses to registers.
type registerOptions struct {
	regions string // a file
	last    int
}

// asksRegisters reports whether the table is that of registers: --by register, without a rule of
// spans, which has a label of that name too.
func (o *topOptions) asksRegisters(c *convert.Options) bool {
	return o.by == "register" && len(c.Spans) == 0 && !c.OffCPU && !o.hist
}

// recordedRegisters is what an input says of its registers.
type recordedRegisters struct {
	table   *registers.Table
	regions registers.Regions
}

// read takes the accesses of an input; nil where it is no recording of any, and can be read again
// as what it is.
func (o *registerOptions) read(ctx context.Context, name string, opts convert.Options, sym symbolOptions) (*recordedRegisters, error) {
	if isStore(name) {
		return nil, nil
	}
	f, name, err := openInput(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	none := func() (*recordedRegisters, error) {
		if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: --by register is of a recording with accesses to registers (rwmmio events), which this is not; for a label of that name write it to a file first", name)
		}
		return nil, nil
	}
	rec, err := convert.OpenRecording(f)
	if errors.Is(err, convert.ErrNoRecording) {
		return none()
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, worded(err))
	}
	defer rec.Close()
	has := false
	for _, e := range rec.Events.Events {
		has = has || strings.HasPrefix(e.Name, "rwmmio:")
	}
	if !has {
		return none()
	}
	sym.NamesOnly = true
	sym.addTo(&opts)
	opts.Name, opts.Labels, opts.FieldLabels = name, 0, nil
	if o.last < 0 {
		return nil, usagef("--last %d: wants a number", o.last)
	}
	c := registers.Collector{Recent: o.last}
	res, err := listing.Read(ctx, rec, listing.Options{Options: opts}, &c)
	if res != nil {
		say(res.Warnings)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, worded(err))
	}
	r := &recordedRegisters{table: c.Table()}
	if o.regions != "" {
		return r, o.readRegions(&r.regions)
	}
	symbols, err := rec.KernelSymbols()
	if symbols != nil && len(symbols.IOMem) > 0 { // which are of the start: nothing else is needed
		err = r.regions.Read(strings.NewReader(string(symbols.IOMem)))
	}
	if long := (*registers.LongLinesError)(nil); errors.As(err, &long) {
		messagef("%s: %v", name, err)
		err = nil
	}
	if err != nil && !errors.Is(err, registers.ErrNoRegions) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

func (o *registerOptions) readRegions(r *registers.Regions) error {
	f, err := infile.Open(o.regions)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := r.Read(f); err != nil {
		return fmt.Errorf("--regions %s: %w", o.regions, err)
	}
	return nil
}

// write writes the table of one input.
func (r *recordedRegisters) write(w io.Writer, o topOptions) error {
	wo := registers.WriteOptions{Regions: &r.regions, Limit: o.limit}
	if o.json {
		return registers.JSON(w, r.table, wo)
	}
	return registers.Text(w, r.table, wo)
}
