package diff

import (
	"cmp"
	"slices"
	"strings"
)

// Program is how much of both sides a program is, by its comm.
type Program struct {
	Comm      string
	Base, New float64 // share of the total
}

const (
	// mostCommon is the share of each side that programs of both sides must be, for others to
	// be others.
	mostCommon = 0.5
	// fewSamples of a program on the base do not tell what of it a function is.
	fewSamples = 50
	// A program that has foreign times as much of one side as of the other is not the load, unless
	// no other has more of both.
	foreign = 2
	// leftBeside is the part of a difference that may be left when programs have explained it: more
	// than of what one factor explains, as it must be chance by itself, too.
	leftBeside = 0.85
)

// ofProgram is what a program has of both sides, and of some functions.
type ofProgram struct {
	comm      string
	value     [2]float64
	self, cum [2]map[uint32]float64
}

// otherPrograms finds changes that are there since programs ran more or less than on the base:
// as much as if each of them were what it was on the base, or new. Whether that is the build's
// doing is not to be told by shares, of one run of each side.
func (r *Result) otherPrograms() {
	if r.Per != PerShare || r.Program || len(r.runs[0]) != 1 || len(r.runs[1]) != 1 {
		return
	}
	changed := map[uint32]*Function{}
	for fn := range r.Functions {
		if f := &r.Functions[fn]; f.changed() {
			changed[uint32(fn)] = f
		}
	}
	if len(changed) == 0 {
		return
	}
	programs, total := r.programs(changed)
	if len(programs) < 2 {
		return
	}
	var common [2]float64
	var load *ofProgram
	both := func(p *ofProgram) float64 { return p.value[0]/total[0] + p.value[1]/total[1] }
	for _, p := range programs {
		if p.value[0] > 0 && p.value[1] > 0 {
			common[0] += p.value[0] / total[0]
			common[1] += p.value[1] / total[1]
			if load == nil || both(p) > both(load) {
				load = p
			}
		}
	}
	if min(common[0], common[1]) < mostCommon {
		return
	}
	few := fewSamples / r.Base.Samples
	self, cum := map[uint32]float64{}, map[uint32]float64{} // what shares of functions are expected to be
	for _, p := range programs {
		base, new := p.value[0]/total[0], p.value[1]/total[1]
		side, factor := 0, new/p.value[0]
		if base < few || p != load && max(base, new) > foreign*min(base, new) {
			side, factor = 1, 1/total[1]
		}
		for fn, v := range p.self[side] {
			self[fn] += factor * v
		}
		for fn, v := range p.cum[side] {
			cum[fn] += factor * v
		}
	}
	alpha := r.Alpha / float64(max(r.Tests, 1))
	explained := func(d *Difference, expected float64) bool {
		if d.Base == 0 {
			return d.New > 0 && abs(d.New-expected) <= leftBeside*d.New
		}
		left := abs(d.New - expected)
		return (d.Diff < 0) == (expected < d.Base) && left <= leftBeside*abs(d.Diff) &&
			left <= max(quantile(alpha, d.freedom)*d.deviation*max(1, expected/d.Base), r.MinEffect*r.Base.Total)
	}
	unclear := false
	for fn, f := range changed {
		d, expected := &f.Self, self[fn]
		if f.Changed() == &f.Cum {
			d, expected = &f.Cum, cum[fn]
		}
		if explained(d, expected) {
			f.Verdict, unclear = Unclear, true
		}
	}
	if !unclear {
		return
	}
	for _, p := range programs {
		r.Programs = append(r.Programs, Program{p.comm, p.value[0] / total[0], p.value[1] / total[1]})
	}
	slices.SortFunc(r.Programs, func(a, b Program) int {
		x, y := abs(a.New-a.Base), abs(b.New-b.Base)
		if abs(x-y) < 1e-9 { // of two, what one has the other has not
			x, y = -max(a.Base, a.New), -max(b.Base, b.New)
		}
		return cmp.Or(cmp.Compare(y, x), strings.Compare(a.Comm, b.Comm))
	})
}

// programs sums up what programs have of the functions, in the order of their names. It is nil
// where not all samples have a comm.
func (r *Result) programs(of map[uint32]*Function) (programs []*ofProgram, total [2]float64) {
	byComm := map[string]*ofProgram{}
	seen := make([]uint32, len(r.Functions)) // the last stack a function was found in, counted from 1
	var fns []uint32
	stack := uint32(0)
	for side := range r.runs {
		run, names := &r.runs[side][0], r.names[side][0]
		s := run.Set
		byLabels := make([]*ofProgram, s.NumLabels())
		type found struct {
			known bool
			self  bool // the first of cum
			cum   []uint32
		}
		inStack := make([]found, s.NumStacks())
		for row := range s.NumSamples() {
			x := s.Sample(row)
			v := float64(x.Values[run.Column])
			if !run.compares(&x) || v == 0 {
				continue
			}
			p := byLabels[x.Labels]
			if p == nil {
				l, ok := s.Label(x.Labels, "comm")
				if !ok {
					return nil, total
				}
				comm := programOf(l.Str)
				if p = byComm[comm]; p == nil {
					p = &ofProgram{comm: comm}
					byComm[comm] = p
					programs = append(programs, p)
				}
				byLabels[x.Labels] = p
			}
			p.value[side] += v
			total[side] += v
			in := &inStack[x.Stack]
			if !in.known {
				in.known = true
				stack++
				fns = names.appendFunctions(fns[:0], s.Stack(x.Stack))
				for at, fn := range fns {
					if of[fn] != nil && seen[fn] != stack {
						seen[fn] = stack
						in.cum = append(in.cum, fn)
						in.self = in.self || at == 0
					}
				}
			}
			if len(in.cum) > 0 && p.cum[side] == nil {
				p.self[side], p.cum[side] = map[uint32]float64{}, map[uint32]float64{}
			}
			for i, fn := range in.cum {
				if p.cum[side][fn] += v; i == 0 && in.self {
					p.self[side][fn] += v
				}
			}
		}
	}
	slices.SortFunc(programs, func(a, b *ofProgram) int { return strings.Compare(a.comm, b.comm) })
	return programs, total
}

// programOf is the comm of a program without the numbers of the kernel's threads, such as
// kworker/u8:2-events.
func programOf(comm string) string {
	if name, _, ok := strings.Cut(comm, "/"); ok && name != "" {
		return name
	}
	return comm
}
