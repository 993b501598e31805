package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// Machine is where a run was recorded; what is not known is "".
type Machine struct {
	Host   string
	Kernel string // release
	Arch   string // as uname calls it
	CPU    string

	BuildID string // of the kernel
}

const (
	// muchLost is the share of lost samples above which a comparison is refused.
	muchLost = 0.1
	// unnamed is the share of samples without a function that is too much if the
	// other side has far less.
	muchUnnamed, littleUnnamed = 0.9, 0.5
)

// comparable checks that runs can be compared and returns what the reader must
// know of their differences.
func comparable(runs [2][]Run, o *Options) (notes []string, err error) {
	for side := range runs {
		if len(runs[side]) == 0 {
			return nil, errors.New("nothing to compare: both sides need a profile")
		}
		for i := range runs[side] {
			if err := valid(&runs[side][i], o.Per, side); err != nil {
				return nil, err
			}
		}
	}
	first := &runs[0][0]
	var refused []string
	for side := range runs {
		for i := range runs[side] {
			r := &runs[side][i]
			told, bad := against(first, r, o.Per)
			notes = append(notes, told...)
			refused = append(refused, bad...)
		}
	}
	refused = append(refused, duplicates(runs)...)
	notes, refused = unique(notes), unique(refused)
	if len(refused) > 0 && !o.Force {
		return nil, &IncomparableError{Differences: refused}
	}
	return append(refused, notes...), nil
}

// duplicates names the runs that are given twice: a run tells nothing of how it would be
// again.
func duplicates(runs [2][]Run) (clauses []string) {
	var all []*Run
	for side := range runs {
		for i := range runs[side] {
			all = append(all, &runs[side][i])
		}
	}
	for i, r := range all {
		for _, before := range all[:i] {
			if !identical(before, r) {
				continue
			}
			if before.Name == r.Name {
				clauses = append(clauses, r.Name+" is given twice")
			} else {
				clauses = append(clauses, fmt.Sprintf("%s and %s are the same run: each stack has the same value", before.Name, r.Name))
			}
			break
		}
	}
	return clauses
}

func unique(l []string) []string {
	var u []string
	for _, s := range l {
		if !slices.Contains(u, s) {
			u = append(u, s)
		}
	}
	return u
}

// valid checks what a run must have of itself.
func valid(r *Run, per Per, side int) error {
	reason := Reason(0)
	switch {
	case r.Event < 0 || r.Event >= len(r.Set.Events):
		return fmt.Errorf("%s: no event %d among %d", r.Name, r.Event, len(r.Set.Events))
	case r.Column < 0 || r.Column >= len(r.Set.Events[r.Event].Values):
		return fmt.Errorf("%s: no column %d of event %s", r.Name, r.Column, r.Set.Events[r.Event].Name)
	case r.Set.NumSamples() == 0:
		reason = Empty
	case negative(r):
		reason = Negative
	case per == PerSecond && r.Set.DurationNanos <= 0:
		reason = NoDuration
	case per == PerOps && !(r.Ops > 0):
		reason = NoOperations
	case per == PerEvent && !r.divides():
		reason = NoDivisor
	default:
		return nil
	}
	return &RunError{Run: r.Name, Side: side, Reason: reason}
}

// divides tells whether a run has what PerEvent divides by.
func (r *Run) divides() bool {
	if r.PerEvent < 0 || r.PerEvent >= len(r.Set.Events) || r.PerColumn < 0 || r.PerColumn >= len(r.Set.Events[r.PerEvent].Values) {
		return false
	}
	return r.Set.Totals(r.PerEvent)[r.PerColumn] > 0
}

func negative(r *Run) bool {
	for i := range r.Set.NumSamples() {
		if x := r.Set.Sample(i); x.Event == r.Event && x.Values[r.Column] < 0 {
			return true
		}
	}
	return false
}

// against compares a run with the first one.
func against(first, r *Run, per Per) (told, refused []string) {
	tell := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	refuse := func(format string, args ...any) { refused = append(refused, fmt.Sprintf(format, args...)) }
	e, f := &r.Set.Events[r.Event], &first.Set.Events[first.Event]
	v, w := e.Values[r.Column], f.Values[first.Column]
	switch {
	case anonymous(r.Set, r.Event) != anonymous(first.Set, first.Event):
		tell("folded stacks do not tell which event they count: that of the other side is assumed")
		if per != PerShare && v != w {
			refuse("%s counts %s/%s, %s counts %s/%s", first.Name, w.Type, w.Unit, r.Name, v.Type, v.Unit)
		}
	case first.EventName != "" && r.EventName != "" && first.EventName != r.EventName:
		refuse("%s has event %s, %s has event %s", first.Name, first.EventName, r.Name, r.EventName)
	case e.Name != f.Name && v != w && (first.EventName == "" || r.EventName == ""):
		refuse("%s has event %s, %s has event %s", first.Name, f.Name, r.Name, e.Name)
	case v != w:
		if per != PerShare {
			refuse("%s counts %s/%s, %s counts %s/%s", first.Name, w.Type, w.Unit, r.Name, v.Type, v.Unit)
		}
	}
	if a, b := first.Set, r.Set; a.Period > 0 && b.Period > 0 && a.PeriodType == b.PeriodType && a.Period != b.Period {
		rates := fmt.Sprintf("%s was sampled every %d %s, %s every %d", first.Name, a.Period, a.PeriodType.Unit, r.Name, b.Period)
		// Values that are sums of periods say the same at any rate.
		if per != PerShare && countsSamples(v, e.Name) && a.PeriodType.Unit == "nanoseconds" {
			refuse("%s", rates)
		} else {
			tell("%s", rates)
		}
	}
	if samples := float64(r.Set.Totals(r.Event)[0]); r.Lost > 0 && len(e.Values) > 0 && countsSamples(e.Values[0], e.Name) {
		share := float64(r.Lost) / (float64(r.Lost) + samples)
		if share > muchLost {
			refuse("%s lost %.0f %% of its samples", r.Name, 100*share)
		} else {
			tell("%s lost %d of its samples", r.Name, r.Lost)
		}
	}
	m, n := &first.Machine, &r.Machine
	switch {
	case m.Arch != "" && n.Arch != "" && m.Arch != n.Arch:
		refuse("%s was recorded on %s, %s on %s", first.Name, m.Arch, r.Name, n.Arch)
	case m.CPU != "" && n.CPU != "" && m.CPU != n.CPU:
		tell("different processors: %s (%s), %s (%s)", m.CPU, first.Name, n.CPU, r.Name)
	case m.Host != "" && n.Host != "" && m.Host != n.Host:
		tell("different machines: %s (%s), %s (%s)", m.Host, first.Name, n.Host, r.Name)
	}
	return told, refused
}

// anonymous tells folded stacks, which have no name for what they count.
func anonymous(s *stacks.Set, event int) bool {
	e := &s.Events[event]
	return e.Name == "samples" && len(e.Values) == 1 && len(s.Mappings) == 0
}

// symbols checks that both sides have names, or neither. Where a function is not
// known its name is that of its file, in brackets.
func (r *Result) symbols(c [2][]*cost) error {
	if r.Force {
		return nil
	}
	var shares [2]float64
	for side := range c {
		var unnamed, total int64
		for _, x := range c[side] {
			total += x.total
			for fn, v := range x.self {
				if strings.HasPrefix(r.table.functions[fn], "[") {
					unnamed += v
				}
			}
		}
		shares[side] = float64(unnamed) / float64(total)
	}
	for side := range shares {
		if shares[side] > muchUnnamed && shares[1-side] < littleUnnamed {
			return &RunError{Run: r.runs[side][0].Name, Side: side, Reason: NoNames, Share: shares[side]}
		}
	}
	return nil
}
