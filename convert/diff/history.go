package diff

import (
	"errors"
	"math"
	"slices"
)

// Build is the runs of one of several builds.
type Build struct {
	Name string
	Runs []Run
}

// History is how the cost of functions changed over a series of builds.
type History struct {
	Builds  []string
	Changes []Change // in the order of builds
	// Series are the functions that cost something else from one of the Changes on, those
	// that differ most first.
	Series []Series
	// Untold are the builds with which something may have changed, by index: there is one run
	// before them, or from them on, and a single run may be off for reasons of its own.
	Untold []int
	// Outcome is Changed with any Changes, else Inconclusive where no comparison of builds before
	// with those after tells anything. Resolution is the best of all, as in Result: +Inf if there is none.
	Outcome    Outcome
	Resolution float64
	Per        Per
	Notes      []string // sentences that a reader must know
	Method     string   // a clause on where the p-values of the last split come from
}

// Change is a build from which on something costs more or less than before.
type Change struct {
	Build int // index of the first build that has it
	// Result compares the builds since the change before, or the first, with those up to
	// the next change, or the last.
	Result *Result
}

// Series is a function's cost in each build: its own or, if only that changed, with what
// it calls; as in Difference.
type Series struct {
	Name  string
	Cum   bool
	Costs []float64
	// Verdicts are, by build, what became of it there: Noise where it is no change.
	Verdicts []Verdict
}

// NewHistory looks for the builds, in their order, in which functions or the total became
// slower or faster: it splits the series where the builds before and after differ most,
// if they differ by more than chance, and looks into both parts again; where no split
// is found, for builds that differ from those before and after (binary and circular
// segmentation: Olshen and others, "Circular binary segmentation for the analysis of
// array-based DNA copy number data", 2004). P-values are corrected for the number of places
// besides that of functions. Names of functions that
// were renamed are not found. There must be three builds; those of several runs, or many of
// one, tell more.
func NewHistory(builds []Build, o Options) (*History, error) {
	if len(builds) < 3 {
		return nil, errors.New("a history takes at least three builds")
	}
	var all []Run
	starts := []int{0}
	for _, b := range builds {
		if len(b.Runs) == 0 {
			return nil, errors.New(b.Name + ": no runs")
		}
		all = append(all, b.Runs...)
		starts = append(starts, len(all))
	}
	o.Paths = 0
	o.Builds, o.SimilarCode = nil, nil
	r, c, err := prepare(all[:starts[1]], all[starts[1]:], o)
	if err != nil {
		return nil, err
	}
	s := &splitter{
		prepared: r, starts: starts, runs: slices.Concat(r.runs[0], r.runs[1]),
		names: slices.Concat(r.names[0], r.names[1]), costs: slices.Concat(c[0], c[1]),
	}
	s.options = r.Options
	s.finest = math.Inf(1)
	s.options.Alpha /= float64(len(builds)*(len(builds)-1)) / 2
	points := s.split(0, len(builds), nil)
	slices.Sort(points)
	h := &History{Per: o.Per, Notes: r.Notes}
	for i, b := range builds {
		h.Builds = append(h.Builds, b.Name)
		if i > 0 && min(starts[i], len(all)-starts[i]) < runsOfPart {
			h.Untold = append(h.Untold, i)
		}
	}
	h.Outcome, h.Resolution = Inconclusive, s.finest
	switch {
	case len(points) > 0:
		h.Outcome = Changed
	case s.told:
		h.Outcome = Unchanged
	}
	edges := append(append([]int{0}, points...), len(builds))
	for i := 1; i+1 < len(edges); i++ {
		x := s.compare(edges[i-1], edges[i], edges[i+1])
		h.Method = x.Method
		h.Changes = append(h.Changes, Change{edges[i], x})
	}
	s.series(h)
	return h, nil
}

// splitter compares parts of a series of builds.
type splitter struct {
	prepared *Result
	options  Options
	starts   []int   // of the runs of each build
	told     bool    // some comparison tells something
	finest   float64 // the least resolution
	runs     []Run
	names    []*frames
	costs    []*cost
}

// compare compares builds from low to middle with those from middle to high.
func (s *splitter) compare(low, middle, high int) *Result {
	return s.sides(s.part(low, middle), s.part(middle, high))
}

// part is the builds from one to another.
func (s *splitter) part(from, to int) splitter {
	a, b := s.starts[from], s.starts[to]
	return splitter{runs: s.runs[a:b], names: s.names[a:b], costs: s.costs[a:b]}
}

// split adds the builds between low and high that begin a part that differs from the one
// before: one, or else two between which something is different for a while.
func (s *splitter) split(low, high int, points []int) []int {
	var best []int
	most := 0.0
	// One run may be off for reasons of its own.
	try := func(r *Result, at ...int) {
		if min(len(r.runs[0]), len(r.runs[1])) < runsOfPart {
			return
		}
		s.told = s.told || r.Outcome != Inconclusive
		if r.Resolution < s.finest { // not NaN
			s.finest = r.Resolution
		}
		if r.Outcome == Changed {
			if far := r.farthest(); far > most {
				best, most = at, far
			}
		}
	}
	for middle := low + 1; middle < high; middle++ {
		try(s.compare(low, middle, high), middle)
	}
	if best == nil && high-low <= mostWhile {
		for from := low + 1; from < high-1; from++ {
			for to := from + 1; to < high; to++ {
				try(s.while(low, from, to, high), from, to)
			}
		}
	}
	for _, at := range best {
		points = s.split(low, at, append(points, at))
		low = at
	}
	if best == nil {
		return points
	}
	return s.split(low, high, points)
}

// runsOfPart is how many runs there must be before a change and from it on.
const runsOfPart = 2

// mostWhile is how many builds are looked at for a change that ends again: it takes the
// square of that many comparisons.
const mostWhile = 50

// while compares the builds between two with those before and after.
func (s *splitter) while(low, from, to, high int) *Result {
	before, after := s.part(low, from), s.part(to, high)
	around := splitter{
		runs:  slices.Concat(before.runs, after.runs),
		names: slices.Concat(before.names, after.names),
		costs: slices.Concat(before.costs, after.costs),
	}
	return s.sides(around, s.part(from, to))
}

// sides compares two groups of runs.
func (s *splitter) sides(base, new splitter) *Result {
	p := s.prepared
	r := &Result{Options: s.options, Event: p.Event, Value: p.Value, table: p.table}
	r.runs, r.names = [2][]Run{base.runs, new.runs}, [2][]*frames{base.names, new.names}
	r.compare([2][]*cost{base.costs, new.costs})
	return r
}

// farthest is the largest difference that is a change, in standard deviations.
func (r *Result) farthest() (most float64) {
	far := func(d *Difference) {
		switch {
		case d.deviation > 0:
			most = max(most, abs(d.Diff)/d.deviation)
		case d.Diff != 0:
			most = math.Inf(1)
		}
	}
	for i := range r.Functions {
		if f := &r.Functions[i]; f.changed() {
			far(f.Changed())
		}
	}
	for _, d := range []*Difference{&r.Total, &r.PerRun} {
		if d.Significant {
			far(d)
		}
	}
	return most
}

// series fills in the functions that changed anywhere.
func (s *splitter) series(h *History) {
	at := make(map[string]int)
	for _, c := range h.Changes {
		for i := range c.Result.Functions {
			f := &c.Result.Functions[i]
			if !f.changed() {
				continue
			}
			j, ok := at[f.Name]
			if !ok {
				j = len(h.Series)
				at[f.Name] = j
				h.Series = append(h.Series, Series{Name: f.Name, Cum: true, Verdicts: make([]Verdict, len(h.Builds))})
			}
			h.Series[j].Verdicts[c.Build] = f.Verdict
			if f.Changed() == &f.Self {
				h.Series[j].Cum = false
			}
		}
	}
	for b := range h.Builds {
		side := [2][]*cost{s.costs[s.starts[b]:s.starts[b+1]], s.costs[s.starts[b]:s.starts[b+1]]}
		runs := s.runs[s.starts[b]:s.starts[b+1]]
		d := newData([2][]Run{runs, runs}, side, h.Per)
		for i := range h.Series {
			x := &h.Series[i]
			x.Costs = append(x.Costs, d.function(s.prepared.table.byName[x.Name], x.Cum).mean(0))
		}
	}
	slices.SortStableFunc(h.Series, func(a, b Series) int {
		span := func(x Series) float64 { return slices.Max(x.Costs) - slices.Min(x.Costs) }
		switch x, y := span(a), span(b); {
		case a.Cum != b.Cum && a.Cum:
			return 1
		case a.Cum != b.Cum:
			return -1
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
}
