package event

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"kprof/perfevent/internal/errkind"
)

// isGlobbed reports whether p is for all functions, or statically defined probes, that match.
func (p *Probe) isGlobbed() bool { return strings.ContainsAny(p.Provider+p.Symbol, "*?[") }

// defaultMaxProbes is how many functions a glob may match when Resolver.MaxProbes
// does not say: each one is slowed down, and takes a file for each CPU.
const defaultMaxProbes = 100

// expand returns the probes that s asks for, each at one place.
func (r *Resolver) expand(s Spec) ([]Spec, error) {
	p := &s.Probe
	var specs []Spec
	var err error
	switch {
	case p.Provider != "":
		specs, err = expandUSDT(s)
	case p.User && p.Symbol != "":
		specs, err = r.expandUserProbe(s)
	case !p.isGlobbed():
		return []Spec{s}, nil
	default:
		specs, err = r.expandProbe(s)
	}
	if most := cmp.Or(r.MaxProbes, defaultMaxProbes); len(specs) > most && (p.isGlobbed() || p.Provider == "") {
		return nil, errkind.Errorf(os.ErrInvalid, "%d %s match %s, and each is slowed down; name fewer, or raise the limit of %d on purpose", len(specs), p.these(), p.asked(), most)
	}
	return specs, err
}

// these are what p is one of.
func (p *Probe) these() string {
	if p.Provider != "" {
		return "statically defined probes"
	}
	return "functions"
}

// asked is what of p is looked for, in the kernel or in its file.
func (p *Probe) asked() string {
	if p.Provider != "" {
		return p.Provider + ":" + p.Symbol
	}
	return p.Symbol
}

// matching returns what selects the names that a glob matches.
func matching(glob string) (func(name string) bool, error) {
	glob = strings.ReplaceAll(glob, "[!", "[^") // perf's
	if _, err := path.Match(plainSlashes(glob), ""); err != nil {
		return nil, errkind.Errorf(os.ErrInvalid, "functions %q: %w", glob, err)
	}
	return func(name string) bool {
		ok, _ := path.Match(plainSlashes(glob), plainSlashes(name))
		return ok
	}, nil
}

// plainSlashes has a slash in a name, such as of a Go package, be no border between directories.
func plainSlashes(name string) string { return strings.ReplaceAll(name, "/", "\x01") }

// withName is s with another name in place of what it asks for.
func (s Spec) withName(name string) Spec {
	place, args, blank := strings.Cut(s.Text, " ")
	asked := s.Probe.asked()
	if i := strings.LastIndex(place, asked); i >= 0 {
		place = place[:i] + name + place[i+len(asked):]
	}
	s.Text = place
	if blank {
		s.Text += " " + args
	}
	return s
}

// expandProbe makes of a glob a Spec for each function of the kernel that matches and may be
// probed.
func (r *Resolver) expandProbe(s Spec) ([]Spec, error) {
	p := s.Probe
	if p.Off != 0 {
		return nil, errOffsetOfMany(p)
	}
	names, all, err := r.probeable(p.Module, p.Symbol)
	if err != nil {
		return nil, err
	}
	var specs []Spec
	for _, name := range names {
		one := s.withName(name)
		one.Probe.Symbol = name
		specs = append(specs, one)
	}
	switch {
	case all == 0:
		return nil, fmt.Errorf("functions %s: %w", p.Symbol, errUnknownFunction)
	case len(specs) == 0:
		return nil, errkind.Errorf(os.ErrInvalid, "of the %d functions that match %s none may be probed", all, p.Symbol)
	}
	return specs, nil
}

func errOffsetOfMany(p Probe) error {
	return errkind.Errorf(os.ErrInvalid, "an offset needs one function, and %s may match many", p.Symbol)
}

// probeable returns the functions of the kernel, or of one of its modules, that match a glob and
// may be probed by their names, in the order of their addresses, and how many match.
func (r *Resolver) probeable(module, glob string) (names []string, all int, err error) {
	match, err := matching(glob)
	if err != nil {
		return nil, 0, err
	}
	funcs, err := r.kernelFuncs()
	if err != nil {
		return nil, 0, err
	}
	count := map[string]int{}
	for _, f := range funcs {
		if (module == "" || f.module == module) && match(f.name) {
			if count[f.name]++; count[f.name] == 1 {
				names = append(names, f.name)
			}
		}
	}
	all = len(names)
	blacklisted, traceable := r.blacklisted(), r.traceable()
	names = slices.DeleteFunc(names, func(name string) bool {
		return count[name] > 1 || isColdPart(name) || blacklisted[name] || traceable != nil && !traceable[name]
	})
	return names, all, nil
}

// expandUserProbe makes of a glob a Spec for each function of a program that matches, by its
// name, or by its place in the file where others are called the same. What is one function under
// several names is one. If a function is called like the glob, as (*T).String is in Go, it is
// that one. Names are those that the linker knows, and what r.Readable makes of them; a probe of
// the one function that is called so keeps the name that it was asked for by.
func (r *Resolver) expandUserProbe(s Spec) ([]Spec, error) {
	p := s.Probe
	globbed := p.isGlobbed()
	if !globbed && r.Readable == nil {
		return []Spec{s}, nil
	}
	f, e, err := openProgram(p.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing to lose
	funcs, err := functionsOf(e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	match, err := matching(p.Symbol)
	if err != nil {
		return nil, err
	}
	if !globbed {
		match = func(name string) bool { return name == p.Symbol }
	}
	places := map[string]int{}
	for _, fn := range funcs {
		if fn.Name == p.Symbol {
			return []Spec{s}, nil
		}
		places[fn.Name]++
	}
	var found []elf.Symbol
	for _, fn := range funcs {
		known := len(found) > 0 && found[len(found)-1].Value == fn.Value // they are in the order of addresses
		if !known && !isColdPart(fn.Name) && (match(fn.Name) || r.Readable != nil && match(r.Readable(fn.Name))) {
			found = append(found, fn)
		}
	}
	if !globbed && len(found) == 0 {
		return []Spec{s}, nil // what is not there is told where it is looked up
	}
	switch {
	case p.Off != 0 && (globbed || len(found) > 1):
		return nil, errOffsetOfMany(p)
	case len(found) == 0:
		return nil, errkind.Errorf(os.ErrNotExist, "%s: no function in symtab or dynsym matches %q", p.Path, p.Symbol)
	}
	var specs []Spec
	for _, fn := range found {
		off, ok := segmentOffset(e, fn.Value, elf.PF_X)
		if !ok {
			continue
		}
		one := s.withName(fn.Name)
		if !globbed && len(found) == 1 {
			one = s
		}
		one.Probe.Symbol = fn.Name
		if places[fn.Name] > 1 {
			one = s.withName(fmt.Sprintf("%#x", off))
			one.Probe.Symbol, one.Probe.Addr = "", off
		}
		specs = append(specs, one)
	}
	if len(specs) == 0 {
		return nil, errkind.Errorf(os.ErrInvalid, "%s: of the %d functions that match %s none lies in an executable segment", p.Path, len(found), p.Symbol)
	}
	return specs, nil
}

// isColdPart reports whether a compiler gave this name to code that it split off a function, which
// is jumped to and not called.
func isColdPart(name string) bool {
	_, suffix, ok := strings.Cut(name, ".cold")
	return ok && (suffix == "" || suffix[0] == '.')
}

// functionsOf returns the functions of a program that a name selects, by symtab and dynsym: of
// each version the default one, each address under each of its names once, those first that
// others are better known by.
func functionsOf(e *elf.File) ([]elf.Symbol, error) {
	symtab, err := e.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	dynsym, err := e.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	var funcs []elf.Symbol
	for _, s := range slices.Concat(symtab, dynsym) {
		if s = splitVersion(s); s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC && !(s.HasVersion && s.VersionIndex.IsHidden()) {
			funcs = append(funcs, s)
		}
	}
	underscores := func(name string) int { return len(name) - len(strings.TrimLeft(name, "_")) }
	slices.SortFunc(funcs, func(a, b elf.Symbol) int {
		// Local ones are 0, others more.
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(min(elf.ST_BIND(b.Info), 1), min(elf.ST_BIND(a.Info), 1)),
			underscores(a.Name)-underscores(b.Name), len(a.Name)-len(b.Name), strings.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(funcs, func(a, b elf.Symbol) bool { return a.Value == b.Value && a.Name == b.Name }), nil
}

// expandUSDT returns a Spec for each place that is a statically defined probe which s asks for.
// Several of one probe are told apart by their offsets: PATH:PROVIDER:NAME@0x1234.
func expandUSDT(s Spec) ([]Spec, error) {
	p := s.Probe
	f, e, err := openProgram(p.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing to lose
	all, err := readUSDT(e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	if len(all) == 0 {
		return nil, errkind.Errorf(os.ErrNotExist, "%s has no statically defined probes", p.Path)
	}
	asked := func(u usdt) bool { return u.provider == p.Provider && u.name == p.Symbol }
	if p.isGlobbed() {
		provider, err := matching(p.Provider)
		if err != nil {
			return nil, err
		}
		name, err := matching(p.Symbol)
		if err != nil {
			return nil, err
		}
		asked = func(u usdt) bool { return provider(u.provider) && name(u.name) }
	}
	places := map[string]int{}
	for _, u := range all {
		places[u.String()]++
	}
	var specs []Spec
	var others []string
	for _, u := range all {
		if !asked(u) {
			if !slices.Contains(others, u.String()) {
				others = append(others, u.String())
			}
			continue
		}
		one := s.withName(u.String())
		if places[u.String()] > 1 {
			one = s.withName(fmt.Sprintf("%s@%#x", u, u.off))
		}
		one.Probe.Provider, one.Probe.Symbol = u.provider, u.name
		one.Probe.Addr, one.Probe.Counter = u.off, u.counter
		if one.Probe.Args, err = u.fetch(e, p.Args); err != nil {
			return nil, fmt.Errorf("%s at %#x: %s: %w (its arguments: %q)", p.Path, u.off, u, err, u.args)
		}
		specs = append(specs, one)
	}
	if len(specs) == 0 {
		const most = 20
		there := strings.Join(others[:min(len(others), most)], ", ")
		if len(others) > most {
			there += fmt.Sprintf(" and %d more", len(others)-most)
		}
		return nil, errkind.Errorf(os.ErrNotExist, "%s has no probe %s (it has %s)", p.Path, p.asked(), there)
	}
	return specs, nil
}
