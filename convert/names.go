package convert

import (
	"context"
	"slices"

	"kprof/convert/naming"
	"kprof/convert/stacks"
	"kprof/symbolize"
)

// AddNames fills in the names of all frames, as the options say, and warns of those
// that could not be had.
//
// A file of the recorded kernel that was given, and is not of it or cannot be read, is
// a *symbolize.VmlinuxError; one with its symbols that cannot be opened, a *symbolize.KallsymsError.
func (p *Profile) AddNames(ctx context.Context, sym *symbolize.Symbolizer) error {
	if p.opts.Unnamed {
		return nil
	}
	for _, d := range p.Stats.JITDumps {
		sym.AddJITDump(d.PID, d.Path)
	}
	if p.Header != nil {
		naming.Recorded(p.Set, p.Header.FileSymbols, symbolize.DemangleSimple)
	}
	untilEnded, end := p.opts.naming(ctx)
	missing, err := naming.Name(untilEnded, p.Set, sym)
	if err != nil {
		p.warn(Warning{Kind: NamingEnded, Err: context.Cause(untilEnded)})
	}
	end()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := sym.ServerErr(); err != nil {
		p.warn(Warning{Kind: DebuginfodFailed, Err: err})
	}
	if err := naming.Given(missing); err != nil {
		return err
	}
	for _, other := range sym.Overridden() {
		p.warn(Warning{Kind: NamesOfOtherBuild, File: other.Path, Err: other})
	}
	p.addMissing(missing)
	if slices.ContainsFunc(p.Set.Locations, func(l stacks.Location) bool { return l.Mapping == stacks.NoMapping && l.Kind == stacks.KindKernel }) {
		p.warn(Warning{Kind: KernelNotMapped})
	}
	return nil
}
