package diff

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// copied returns runs of which fields can be filled in.
func copied(runs [2][]Run) [2][]Run {
	for side := range runs {
		runs[side] = slices.Clone(runs[side])
	}
	return runs
}

// leaveIdle finds what is left out of each run since its CPU had nothing to do, and
// what of a run every occurrence was counted.
func leaveIdle(runs [2][]Run, o *Options) (notes []string, err error) {
	var shares, interrupted [2]float64
	for side := range runs {
		var idle, inside, total int64
		for i := range runs[side] {
			r := &runs[side][i]
			e := &r.Set.Events[r.Event]
			if e.Instants && e.Values[r.Column].Unit == "count" && (len(e.Values) == 1 || r.Set.Totals(r.Event)[0] == r.Set.Totals(r.Event)[r.Column]) {
				r.Exact = true
			}
			if r.Measured {
				continue
			}
			all := r.Set.Totals(r.Event)[r.Column]
			total += all
			if !o.WithIdle {
				r.idle = idleOf(r, &o.Names)
			}
			rest := r.total(r.Column)
			if all > 0 && rest == 0 {
				return nil, &RunError{Run: r.Name, Side: side, Reason: OnlyIdle}
			}
			if o.Program {
				before := r.idle
				r.idle = before.and(interruptsOf(r, false))
				if after := r.total(r.Column); after > 0 {
					inside += rest - after
				} else {
					r.idle = before
				}
			}
			idle += all - rest
		}
		if total > 0 {
			shares[side], interrupted[side] = float64(idle)/float64(total), float64(inside)/float64(total)
		}
	}
	if interrupted[0] > 0 || interrupted[1] > 0 {
		notes = append(notes, fmt.Sprintf("interrupts are left out, which are no work of a program: %.1f%% of the base, %.1f%% of the new side", 100*interrupted[0], 100*interrupted[1]))
	}
	if shares[0] > 0 || shares[1] > 0 {
		notes = append(notes, fmt.Sprintf("idle CPUs are left out: %.1f%% of the base, %.1f%% of the new side", 100*shares[0], 100*shares[1]))
	}
	return notes, nil
}

// suspects returns the numbers of the functions that are suspected; those that no side
// has are told.
func (r *Result) suspects() map[uint32]bool {
	found := make(map[uint32]bool)
	var unknown []string
	for _, name := range r.Suspects {
		folded, _ := r.Names.Fold(name, false)
		fn, ok := r.table.byName[folded]
		if !ok {
			fn, ok = r.table.byName[name]
		}
		if !ok {
			unknown = append(unknown, name)
			continue
		}
		if i := slices.IndexFunc(r.pairs, func(p pair) bool { return p.base == fn }); i >= 0 {
			fn = r.pairs[i].new
		}
		found[fn] = true
	}
	if len(unknown) > 0 {
		r.Notes = append(r.Notes, "no sample of either side is in "+strings.Join(unknown, ", "))
	}
	return found
}

// perRun compares the totals of runs, whatever costs are divided by.
func (r *Result) perRun(c [2][]*cost) {
	first := r.runs[0][0].valueType()
	r.PerRunKnown = r.all(func(x *Run) bool { return x.valueType() == first })
	if !r.PerRunKnown {
		return
	}
	var n, mean, squares [2]float64
	for side := range c {
		n[side] = float64(len(c[side]))
		for _, x := range c[side] {
			mean[side] += float64(x.total) / n[side]
		}
		for _, x := range c[side] {
			squares[side] += (float64(x.total) - mean[side]) * (float64(x.total) - mean[side])
		}
	}
	d := &r.PerRun
	d.Base, d.New, d.Diff, d.P, d.Adjusted = mean[0], mean[1], mean[1]-mean[0], 1, 1
	d.Low, d.High = math.Inf(-1), math.Inf(1)
	if n[0] < 2 || n[1] < 2 || r.Per != PerShare && !r.Measured() {
		return // or Total is what tells
	}
	// Welch's t test: a build may make runs differ more.
	v0, v1 := squares[0]/(n[0]-1)/n[0], squares[1]/(n[1]-1)/n[1]
	d.deviation = math.Sqrt(v0 + v1)
	d.freedom = 1
	if v0+v1 > 0 {
		d.freedom = (v0 + v1) * (v0 + v1) / (v0*v0/(n[0]-1) + v1*v1/(n[1]-1))
		d.P = tail(d.Diff/d.deviation, d.freedom)
	} else if d.Diff != 0 {
		d.P = 0
	}
	half := quantile(r.Alpha, d.freedom) * d.deviation
	d.Low, d.High = d.Diff-half, d.Diff+half
	d.tested = true
}

func (r *Run) valueType() stacks.ValueType { return r.Set.Events[r.Event].Values[r.Column] }

// cpuSeconds is how much time of CPUs the samples of a run stand for, 0 if they do not
// say.
func (r *Run) cpuSeconds() float64 {
	if r.Measured {
		return 0
	}
	e := &r.Set.Events[r.Event]
	for c, v := range e.Values {
		if v.Unit == "nanoseconds" && (v.Type == "cpu" || isClock(v.Type) || isClock(e.Name)) {
			return float64(r.total(c)) / 1e9
		}
	}
	if r.Set.PeriodType.Unit == "nanoseconds" && r.Set.Period > 0 && countsSamples(r.valueType(), e.Name) {
		return float64(r.total(r.Column)) * float64(r.Set.Period) / 1e9
	}
	return 0
}

func isClock(event string) bool {
	name, _, _ := strings.Cut(event, ":")
	return name == "cpu-clock" || name == "task-clock"
}

// Measured tells whether what is compared are single measurements, such as how long
// calls took, and no samples.
func (r *Result) Measured() bool { return r.all(func(x *Run) bool { return x.Measured }) }
