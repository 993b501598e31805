package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/stacks"
)

// load reads all profiles, with the times of their samples where they have some.
func (f *diffFlags) load(ctx context.Context, names [2][]string, perEvent string) (profiles [2][]*profile, err error) {
	opts, err := f.sel.options()
	if err != nil {
		return profiles, err
	}
	opts.Times = true
	if perEvent != "" {
		opts.Event = "" // both are needed
	}
	for side := range names {
		sym := f.sym
		override(&sym.vmlinux, f.vmlinux[side])
		override(&sym.kallsyms, f.kallsyms[side])
		override(&sym.symfs, f.symfs[side])
		for _, name := range names[side] {
			p, err := load(ctx, name, opts, sym)
			if err != nil {
				return profiles, err
			}
			if p.set.NumSamples() == 0 {
				return profiles, fmt.Errorf("%s: the profile is empty: there are no samples to compare", p.source)
			}
			profiles[side] = append(profiles[side], p)
		}
	}
	return profiles, nil
}

// rootComms makes functions of the first frames of folded stacks, which are read
// as comms, if all profiles are folded stacks: many do not start with a comm. Where
// each profile is of one comm, but not all of the same, they are of a program that
// was built under different names.
func rootComms(profiles [2][]*profile) {
	var comms []string
	single := true
	for _, p := range append(append([]*profile(nil), profiles[0]...), profiles[1]...) {
		if p.events != nil || len(p.set.Mappings) > 0 || len(p.set.Events) != 1 || p.set.Events[0].Name != "samples" {
			return
		}
		shares := commShares(p.set, 0, 0)
		single = single && len(shares) == 1
		comms = slices.AppendSeq(comms, maps.Keys(shares))
	}
	if slices.Sort(comms); single && len(slices.Compact(comms)) > 1 {
		return
	}
	for side := range profiles {
		for _, p := range profiles[side] {
			p.set = commRooted(p.set)
		}
	}
}

// commShares returns the share of each comm in a column of an event; nil if the
// profile does not know comms.
func commShares(s *stacks.Set, event, column int) map[string]float64 {
	total := float64(s.Totals(event)[column])
	shares := map[string]float64{}
	for i := range s.NumSamples() {
		if x := s.Sample(i); x.Event == event {
			comm, ok := s.Label(x.Labels, "comm")
			if !ok {
				return nil
			}
			shares[comm.Str] += float64(x.Values[column]) / total
		}
	}
	return shares
}

// A comm that has at least muchMore of one side's total, and less than a tenth of
// that of the other's, is told.
const muchMore, muchLess = 0.03, 0.1

// otherComms tells which programs only one side recorded, next to others that both
// did: on a whole machine, what ran besides the load.
func otherComms(runs [2][]diff.Run) string {
	var shares [2]map[string]float64
	for side := range runs {
		shares[side] = map[string]float64{}
		for i := range runs[side] {
			r := &runs[side][i]
			of := commShares(r.Set, r.Event, r.Column)
			if of == nil {
				return ""
			}
			for comm, share := range of {
				shares[side][comm] += share / float64(len(runs[side]))
			}
		}
	}
	var others []string
	common := ""
	for side := range shares {
		for _, comm := range slices.Sorted(maps.Keys(shares[side])) {
			share := shares[side][comm]
			switch other := shares[1-side][comm]; {
			case share >= muchMore && other < muchLess*share:
				others = append(others, fmt.Sprintf("%s (%.0f%% of %s)", comm, 100*share, sideNames[side]))
			case share > 0 && other > 0 && (common == "" || share+other > shares[0][common]+shares[1][common]):
				common = comm
			}
		}
	}
	if len(others) == 0 || shares[0][common]+shares[1][common] < muchMore {
		return ""
	}
	return fmt.Sprintf("programs that only one side recorded make differences too: %s; --comm %s and the like compares what both ran",
		strings.Join(others, ", "), common)
}

// commRooted returns folded stacks with their comms as outermost frames.
func commRooted(s *stacks.Set) *stacks.Set {
	rooted := stacks.New(s.Events...)
	add := func(name string) uint32 {
		loc := rooted.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
		rooted.SetLines(loc, stacks.Line{Function: rooted.AddFunction(stacks.Function{Name: name, SystemName: name})})
		return loc
	}
	for loc := range s.Locations {
		add(s.Functions[s.Lines(uint32(loc))[0].Function].Name)
	}
	comms := map[string]uint32{}
	var chain []uint32
	for i := range s.NumSamples() {
		x := s.Sample(i)
		chain = append(chain[:0], s.Stack(x.Stack)...)
		if comm, ok := s.Label(x.Labels, "comm"); ok {
			loc, known := comms[comm.Str]
			if !known {
				loc = add(comm.Str)
				comms[comm.Str] = loc
			}
			chain = append(chain, loc)
		}
		rooted.Add(x.Event, rooted.Intern(chain), 0, x.Values...)
	}
	return rooted
}

func override(s *string, by string) {
	if by != "" {
		*s = by
	}
}

// choose finds what is to be compared in each profile.
func (f *diffFlags) choose(profiles [2][]*profile, perEvent string) (runs [2][]diff.Run, err error) {
	first := profiles[0][0]
	event, err := f.commonEvent(profiles)
	if err != nil {
		return runs, err
	}
	want := first.set.Events[event].Values[first.weightColumn(event)]
	for side := range profiles {
		for _, p := range profiles[side] {
			e := max(matchingEvent(p.set, &first.set.Events[event]), 0) // its first, by force
			r := diff.Run{
				Name: p.source, Set: p.set, Event: e, Column: p.weightColumn(e),
				Ops: f.ops[side], Machine: p.machine(), Lost: p.lost(),
			}
			for c, vt := range p.set.Events[e].Values {
				if vt == want {
					r.Column = c
				}
			}
			if perEvent != "" {
				if r.PerEvent = p.set.EventIndex(perEvent); r.PerEvent < 0 {
					return runs, fmt.Errorf("%s: it has no event %q to divide by, but %s", p.source, perEvent, eventNames(p.set))
				}
				// The sum of its periods: how often it happened, not how often it was sampled.
				r.PerColumn = len(p.set.Events[r.PerEvent].Values) - 1
			}
			runs[side] = append(runs[side], r)
		}
	}
	return runs, nil
}

// commonEvent returns the index in the first profile of the event to compare: the
// one asked for, else the first that all have.
func (f *diffFlags) commonEvent(profiles [2][]*profile) (int, error) {
	first := profiles[0][0]
	all := append(append([]*profile(nil), profiles[0]...), profiles[1]...)
	var common []int
	for i := range first.set.Events {
		e := &first.set.Events[i]
		everywhere := f.sel.event == "" || e.Name == f.sel.event
		for _, p := range all {
			everywhere = everywhere && matchingEvent(p.set, e) >= 0
		}
		if everywhere {
			common = append(common, i)
		}
	}
	if len(common) == 0 {
		have := ""
		for _, p := range all {
			have += fmt.Sprintf("; %s has %s", p.source, eventNames(p.set))
		}
		if f.sel.event != "" {
			return 0, fmt.Errorf("not all profiles have event %q%s", f.sel.event, have)
		}
		if f.sym.force {
			return 0, nil
		}
		return 0, errors.New("the profiles have no event in common" + have + " (--force compares the first of each)")
	}
	if len(common) > 1 {
		var others []string
		for _, i := range common[1:] {
			others = append(others, first.set.Events[i].Name)
		}
		messagef("comparing event %s only; choose another with --event: %s", first.set.Events[common[0]].Name, strings.Join(others, ", "))
	}
	return common[0], nil
}

// matchingEvent returns the index of the event that counts what e does: of the
// same name, else of the same value, since a pprof profile of one event does not
// keep its name, else the only one where either side is folded stacks, which name
// nothing.
func matchingEvent(s *stacks.Set, e *stacks.Event) int {
	if i := s.EventIndex(e.Name); i >= 0 {
		return i
	}
	for i := range s.Events {
		if v := s.Events[i].Values; v[len(v)-1] == e.Values[len(e.Values)-1] {
			return i
		}
	}
	if len(s.Events) == 1 && (s.Events[0].Name == "samples" || e.Name == "samples") {
		return 0
	}
	return -1
}

func eventNames(s *stacks.Set) string {
	var names []string
	for _, e := range s.Events {
		names = append(names, e.Name)
	}
	return strings.Join(names, ", ")
}

// machine is what the profile's comments say of where it was recorded: see
// describe.
func (p *profile) machine() (m diff.Machine) {
	for _, c := range p.set.Comments {
		what, value, _ := strings.Cut(c, ": ")
		switch what {
		case "host":
			m.Host = value
		case "kernel":
			m.Kernel, m.Arch, _ = strings.Cut(value, " ")
		case "cpu":
			m.CPU = value
		}
	}
	return m
}

// lost is the number of records or samples that the profile lacks.
func (p *profile) lost() uint64 {
	if n := p.stats.Lost + p.stats.LostSamples; n > 0 {
		return n
	}
	var sum uint64
	for _, c := range p.set.Comments {
		var n uint64
		if _, err := fmt.Sscanf(c, "warning: lost %d", &n); err == nil {
			sum += n
		}
	}
	return sum
}
