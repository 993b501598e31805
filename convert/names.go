package convert

import (
	"context"
	"slices"
	"strings"

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
	return p.addNames(ctx, sym, func(ctx context.Context) ([]naming.Missing, error) { return naming.Name(ctx, p.Set, sym) })
}

// nameProgram names what is in files, by these, in a profile of another tool that leaves that to its
// readers, as profilers of C and C++ do. Addresses are those of processes (profile.proto, Mapping): where
// they do not lie in their mapping, they have been changed, and are left alone.
func (p *Profile) nameProgram(ctx context.Context) error {
	of := make([]bool, len(p.Set.Mappings))
	for i := range p.Set.Locations {
		if m := p.Set.Locations[i].Mapping; m >= 0 && len(p.Set.Lines(uint32(i))) == 0 {
			of[m] = p.Set.Mappings[m].Kind == stacks.KindUser && (p.opts.Symbols.Root != "" || !p.Set.Mappings[m].HasFunctions)
		}
	}
	for i := range p.Set.Locations {
		if l := &p.Set.Locations[i]; l.Mapping >= 0 {
			m := &p.Set.Mappings[l.Mapping]
			of[l.Mapping] = of[l.Mapping] && m.Start <= l.Addr && l.Addr < m.Limit
		}
	}
	if p.opts.Unnamed || !slices.Contains(of, true) {
		return nil
	}
	// What a conversion before has said of these names is said again, if it is still so.
	for i, m := range p.Set.Mappings {
		said := " of samples have frames without " + MissingNames.missing() + " in " + m.File + ": "
		p.Set.Comments = slices.DeleteFunc(p.Set.Comments, func(c string) bool { return of[i] && strings.Contains(c, said) })
	}
	p.unplaced = true
	sym := p.Symbolizer()
	defer sym.Close()
	return p.addNames(ctx, sym, func(ctx context.Context) ([]naming.Missing, error) {
		return naming.NameOf(ctx, p.Set, sym, func(m int32) bool { return of[m] })
	})
}

// addNames adds the names that name finds by a Symbolizer within the time for it, and warns of what is missing.
func (p *Profile) addNames(ctx context.Context, sym *symbolize.Symbolizer, name func(context.Context) ([]naming.Missing, error)) error {
	untilEnded, end := p.opts.naming(ctx)
	missing, err := name(untilEnded)
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
