package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"kprof/convert"
	"kprof/convert/compare"
	"kprof/convert/diff"
	"kprof/convert/printable"
	"kprof/record/bench"
)

// side are the flags of one side, which come before those of both.
func (f *diffFlags) side(side int) compare.Side {
	return compare.Side{
		Ops: f.ops[side], RunOps: f.runOps[side], ELF: f.elf[side],
		Vmlinux:  cmp.Or(f.vmlinux[side], f.sym.Vmlinux),
		Kallsyms: cmp.Or(f.kallsyms[side], f.sym.KallsymsPath),
		Root:     cmp.Or(f.symfs[side], f.sym.Root),
	}
}

// profileOptions say what to take of each profile: the times of its samples, where it has
// some, too.
func (f *diffFlags) profileOptions(perEvent string) (convert.Options, error) {
	opts, err := f.sel.options()
	if err != nil {
		return opts, err
	}
	opts.Times = true
	addLabels(&opts, f.by)
	if perEvent != "" {
		if opts.Value != nil {
			return opts, usagef("--per event:NAME and --value exclude each other")
		}
		opts.Events = nil // both are needed
	}
	return opts, nil
}

// runs returns the names of the inputs of both sides; none at all is possible
// with --explain-names.
func (f *diffFlags) runs(args []string) (names [2][]string, err error) {
	switch given := len(f.repeats[0]) + len(f.repeats[1]); {
	case given == 0 && len(args) == 2:
		names = [2][]string{args[:1], args[1:]}
	case given == 0 && len(args) == 0 && f.explain:
		return names, nil
	case given == 0 && len(args) == 0:
		return names, usagef("name two profiles to compare: BASE NEW, or --base FILE and --new FILE")
	case given == 0:
		return names, usagef("%s is to be compared with what? Name two profiles: BASE NEW", args[0])
	case len(args) > 0:
		return names, usagef("%q: with --base and --new, all profiles are given so", args[0])
	case len(f.repeats[0]) == 0 || len(f.repeats[1]) == 0:
		return names, usagef("--base and --new go together")
	default:
		names = f.repeats
	}
	for side := range names {
		var files []string
		for _, arg := range names[side] {
			found, err := compare.Inputs(arg)
			if err != nil {
				return names, err
			}
			files = append(files, found...)
		}
		names[side] = files
		if f.per == "ops" && f.ops[side] == 0 {
			if f.runOps[side], err = benchOps(files); err != nil {
				return names, err
			}
			for _, file := range files {
				if f.runOps[side][file] == 0 {
					return names, usagef("--per=ops needs the number of operations of both sides: --base-ops N --new-ops M, or runs of kprof bench --ops-from; %s has none", file)
				}
			}
		}
	}
	return names, nil
}

// benchOps are the operations of runs, as kprof bench has noted them beside their files.
func benchOps(files []string) (map[string]float64, error) {
	ops := map[string]float64{}
	lists := map[string]*bench.List{}
	for _, file := range files {
		dir := filepath.Dir(file)
		list, known := lists[dir]
		if !known {
			var err error
			if list, err = bench.Read(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			lists[dir] = list
		}
		if list == nil {
			continue
		}
		for _, r := range list.Runs {
			if r.File == filepath.Base(file) && r.Ops > 0 {
				ops[file] = r.Ops
			}
		}
	}
	return ops, nil
}

// load reads all profiles.
func (f *diffFlags) load(ctx context.Context, names [2][]string, opts convert.Options) (profiles [2][]*convert.Profile, err error) {
	if err := stdinOnce(slices.Concat(names[0], names[1])); err != nil {
		return profiles, err
	}
	for side := range names {
		sym, of := f.sym, f.side(side)
		sym.Vmlinux, sym.KallsymsPath, sym.Root = of.Vmlinux, of.Kallsyms, of.Root
		for _, name := range names[side] {
			p, err := loadQuiet(ctx, name, opts, sym)
			if err != nil {
				return profiles, err
			}
			if voice.verbose {
				say(p.Warnings)
			}
			profiles[side] = append(profiles[side], p)
		}
	}
	if !voice.verbose {
		for side := range profiles {
			saySide(sideNames[side], profiles[side])
		}
	}
	return profiles, nil
}

// shownWarnings is how many kinds of warnings a side's line has.
const shownWarnings = 3

// saySide says in one line what the profiles of a side lack.
func saySide(side string, profiles []*convert.Profile) {
	var texts []string
	loss := false
	all := compare.Warnings(profiles)
	for i := range all {
		w := &all[i]
		text := wording(&w.Warning)
		switch {
		case w.Files == 2:
			text += "; and in another file"
		case w.Files > 2:
			text += fmt.Sprintf("; and in %d files more", w.Files-1)
		}
		if len(profiles) > 1 {
			text += fmt.Sprintf(" (%d of %d runs)", w.Profiles, len(profiles))
		}
		if w.Kind.IsLoss() {
			loss = true
			texts = append([]string{text}, texts...)
			continue
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return
	}
	if n := len(texts) - shownWarnings; n > 0 {
		texts = append(texts[:shownWarnings], fmt.Sprintf("%d more (-v lists them)", n))
	}
	name := side
	if len(profiles) == 1 {
		name += " " + profiles[0].Source
	}
	line := notef
	if loss {
		line = messagef
	}
	line("%s: %s", name, strings.Join(texts, "; "))
}

// comparison prepares what is compared, and tells what is not.
func (f *diffFlags) comparison(profiles [2][]*convert.Profile, o diff.Options, perEvent string) (*compare.Comparison, error) {
	c, err := compare.New(profiles, compare.Options{
		Diff: o, AutoPer: f.per == "", Events: f.sel.events, PerEvent: perEvent, By: f.by,
		Sides: [2]compare.Side{f.side(0), f.side(1)}, BuildIDCache: buildIDCache(),
		Wording: func(one *compare.OneSided) string {
			return fmt.Sprintf("%v; --comm %s and the like compares what both ran", one, one.Common)
		},
	})
	var none *compare.NoCommonEventError
	if errors.As(err, &none) && none.Asked == "" {
		return nil, fmt.Errorf("%w (--force compares those with the most samples)", err)
	}
	if err != nil {
		return nil, err
	}
	if len(c.Others) > 0 {
		var names []string
		var samples []uint64
		for _, e := range c.Others {
			names, samples = append(names, e.Name), append(samples, e.Samples)
		}
		notef("comparing event %s (%s) only; choose another with --event: %s",
			c.Event.Name, printable.Count(c.Event.Samples, "sample"), convert.CountedList(names, samples))
	}
	return c, nil
}
