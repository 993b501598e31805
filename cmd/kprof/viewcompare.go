package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"kprof/convert"
	"kprof/convert/compare"
	"kprof/convert/diff"
	"kprof/convert/diffreport"
	"kprof/convert/page"
)

// viewBases is what kprof view compares with: --diff-base.
type viewBases struct {
	inputs   []string
	profiles []*profile
	flags    diffFlags // as kprof diff has them where they are not given
}

// shownChanges is how many functions that changed the page of a comparison lists.
const shownChanges = 200

// takeBases reads the profiles to compare with.
func (f *viewFlags) takeBases(ctx context.Context, shown *shownPages, opts convert.Options) error {
	b := &viewBases{flags: diffFlags{sel: f.sel, sym: f.sym, alpha: diff.Defaults.Alpha, limit: shownChanges}}
	for _, arg := range f.bases {
		files, err := compare.Inputs(arg)
		if err != nil {
			return fmt.Errorf("--diff-base: %w", err)
		}
		b.inputs = append(b.inputs, files...)
	}
	if f.pprof {
		sum, err := loadSum(ctx, b.inputs, opts, f.sym)
		if err == nil {
			sum.ShownFirst()
			err = shown.profiles.Base(sum.Set)
		}
		return err
	}
	for _, in := range b.inputs {
		p, err := load(ctx, in, opts, f.sym)
		if err != nil {
			return err
		}
		b.profiles = append(b.profiles, p)
	}
	shown.bases = b
	return nil
}

// difference shows what differs between profiles and their bases: a page of the comparison,
// and one of each profile.
func (s *shownPages) difference(profiles []*profile, inputs []string) error {
	b := s.bases
	all := slices.Concat(inputs, b.inputs)
	if len(inputs) == 0 { // recorded
		all = append([]string{"recorded now"}, b.inputs...)
	}
	s.newTabs(append([]string{"difference"}, names(all)...))
	var sides [2][]*convert.Profile
	for i, p := range slices.Concat(profiles, b.profiles) {
		var from []string // of which the page can offer commands
		if i >= len(profiles) || len(inputs) > 0 {
			from = all[i : i+1]
		}
		if err := s.writeTab(i+1, p, names(all)[i], from); err != nil {
			return fmt.Errorf("%s: %w", all[i], err)
		}
		side := 0
		if i < len(profiles) {
			side = 1
		}
		same := *p.Profile // of which the comparison may change the Set
		sides[side] = append(sides[side], &same)
	}
	o, perEvent, err := b.flags.options()
	if err != nil {
		return err
	}
	c, err := b.flags.comparison(sides, o, perEvent)
	if err != nil {
		return err
	}
	r, err := c.Compare()
	if err != nil {
		return withFlags(err)
	}
	po, err := comparedPage(r, c, diffreport.Options{Limit: b.flags.limit, Times: c.Times})
	if err != nil {
		return err
	}
	s.later = addedUp(profiles)
	s.laterBase = addedUp(b.profiles)
	return s.tabs.Write(0, r.Both(), po)
}

// comparedPage is how a page shows a comparison.
func comparedPage(r *diff.Result, c *compare.Comparison, o diffreport.Options) (page.Options, error) {
	var err error
	if o.Code, err = c.Code(r, o.Limit); err != nil {
		return page.Options{}, err
	}
	compared := diffreport.Page(r, o)
	return page.Options{Title: comparedTitle(r.Base.Runs, r.New.Runs), Compare: &compared}, nil
}

// comparedTitle names the runs of both sides, without the directories that all are in.
func comparedTitle(base, other []string) string {
	all := slices.Concat(base, other)
	var common string
	for i, run := range all {
		if i == 0 {
			common = run[:strings.LastIndexByte(run, '/')+1]
		}
		for !strings.HasPrefix(run, common) {
			common = common[:strings.LastIndexByte(strings.TrimSuffix(common, "/"), '/')+1]
		}
	}
	for i, run := range all {
		all[i] = strings.TrimPrefix(run, common)
	}
	return strings.Join(all[:len(base)], " ") + " → " + strings.Join(all[len(base):], " ")
}

// addedUp are profiles that are added up when somebody asks for it.
func addedUp(profiles []*profile) func() (*profile, error) {
	return func() (*profile, error) {
		if len(profiles) == 1 {
			return profiles[0], nil
		}
		sum := convert.NewSum(convert.SumOptions{})
		for _, p := range profiles {
			if err := sum.Add(p.Profile); err != nil {
				return nil, err
			}
		}
		return &profile{sum.Profile()}, nil
	}
}
