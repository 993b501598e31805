// Package compare compares profiles of two sides, as convert opens them: it chooses
// what they have in common, and finds out what the builds themselves say of the
// functions that changed.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kprof/convert"
	"kprof/convert/diff"
	"kprof/convert/diffreport"
	"kprof/convert/spandiff"
	"kprof/convert/stacks"
	"kprof/symbolize"
	"kprof/symbolize/kallsyms"
)

// Options say what to compare, and where the code of each side is.
type Options struct {
	Diff     diff.Options // Builds and SimilarCode are filled in
	AutoPer  bool         // compare the times of boots by run and not as shares
	Events   []string     // to choose from, as stacks.Choose finds them; none for all
	PerEvent string       // what diff.PerEvent divides by
	By       []string     // labels by which times of spans are grouped. Default: spandiff's

	Sides [2]Side // base and new

	// BuildIDCache is a directory where perf keeps files by build id (~/.debug);
	// empty for none.
	BuildIDCache string

	// Wording puts what only one side ran into words for the Result's notes.
	// Default: OneSided.String.
	Wording func(*OneSided) string
}

// Side is what is known of one side besides its profiles. All of it may be empty.
type Side struct {
	Ops float64 // operations that it did, for diff.PerOps
	// RunOps are those of runs, by their Profile.Source, in the place of Ops.
	RunOps   map[string]float64
	ELF      string // a program or library file, for the sizes of its functions
	Vmlinux  string // the kernel's file, likewise
	Kallsyms string // a file with the kernel's /proc/kallsyms
	Root     string // directory with the file system of its machine; empty is this one's
}

// Comparison is profiles of two sides and what of them is compared.
type Comparison struct {
	Profiles [2][]*convert.Profile // base and new
	Runs     [2][]diff.Run

	// Event is the event that is compared, with its samples in all profiles, and
	// Others are those that all profiles have too.
	Event  convert.EventCount
	Others []convert.EventCount

	// Times are the times of both sides, of events of spans, after Compare; else nil.
	Times *spandiff.Result

	o       Options
	files   [2]map[string]codeFile          // the files that have code of what was asked last, by codeKey
	open    []*symbolize.Symbolizer         // of files, see release
	sizes   [2]map[string]diffreport.CodeOf // of what builds was asked last
	kernels [2]struct {                     // see kernelFunctions
		table *kallsyms.Table
		read  bool
	}
}

// New prepares a comparison of profiles with names, at least one of each side. Profiles
// that are all folded stacks are changed: the first frames of their lines, which were
// read as comms, become functions, see rootComms; and boots lose their levels where not
// all have them.
//
// Where there is no event that all have, the error is a *NoCommonEventError; with
// Diff.Force those with the most samples are compared.
func New(profiles [2][]*convert.Profile, o Options) (*Comparison, error) {
	if len(profiles[0]) == 0 || len(profiles[1]) == 0 {
		return nil, errors.New("compare: one side has no profiles")
	}
	o.Diff.Alpha = cmp.Or(o.Diff.Alpha, diff.Defaults.Alpha)
	c := &Comparison{Profiles: profiles, o: o}
	rootComms(profiles)
	withoutLevels(profiles)
	if err := c.choose(); err != nil {
		return nil, err
	}
	if o.AutoPer && c.Runs[0][0].Measured {
		c.o.Diff.Per = diff.PerRun
	}
	c.o.Diff.Names = o.Diff.Names.Of(c.Runs)
	c.o.Diff.Builds, c.o.Diff.SimilarCode = c.builds, c.similarCode
	return c, nil
}

// OfPerf reports whether any of the profiles is one of perf's, see convert.Profile.
func (c *Comparison) OfPerf() bool {
	for _, side := range c.Profiles {
		if slices.ContainsFunc(side, (*convert.Profile).OfPerf) {
			return true
		}
	}
	return false
}

// Compare compares the sides.
func (c *Comparison) Compare() (*diff.Result, error) {
	o, spans := c.o.Diff, c.ofSpans()
	if spans {
		o.Alpha /= 2 // two questions: where the time is, and how long calls take
	}
	r, err := diff.Compare(c.Runs[0], c.Runs[1], o)
	if err != nil {
		return nil, err
	}
	if spans {
		c.Times = spandiff.Compare(c.Runs[0], c.Runs[1], spandiff.Options{Alpha: o.Alpha, By: c.o.By})
		if c.Times != nil && c.Times.Changed() {
			r.Outcome = diff.Changed
		}
	}
	if one := oneSided(c.Runs); one != nil {
		word := (*OneSided).String
		if c.o.Wording != nil {
			word = c.o.Wording
		}
		r.Notes = append(r.Notes, word(one))
	}
	return r, nil
}

// Judge holds a comparison, of Compare, against a limit: a share of the base's total, and for
// the times of spans, if that is what is compared, of what a call took.
func (c *Comparison) Judge(r *diff.Result, limit float64) diff.Judgement {
	j := r.Judge(limit)
	if c.Times == nil {
		return j
	}
	var all float64 // time of all calls of a run
	for i := range c.Times.Groups {
		all = max(all, c.Times.Groups[i].Time())
	}
	for i := range c.Times.Groups {
		g := &c.Times.Groups[i]
		matters := g.Time() >= leastUntested*all
		for _, x := range []struct {
			what string
			*spandiff.Change
		}{{"mean", &g.Mean}, {"median", &g.Median}, {"99th percentile", &g.P99}} {
			switch ratio := x.New / x.Base; {
			case !(x.Base > 0):
			case !x.Tested:
				if matters && ratio > max(1+limit, j.Untested.Ratio) {
					j.Untested = diff.SlowerSpans{Group: g.Name, What: x.what, Ratio: ratio}
				}
			case x.Significant && ratio > 1+limit:
				j.Slower = append(j.Slower, diff.SlowerSpans{Group: g.Name, What: x.what, Ratio: ratio})
			case x.Change.Ratio.High > max(1+limit, j.MaybeSlower.Ratio):
				j.MaybeSlower = diff.SlowerSpans{Group: g.Name, What: x.what, Ratio: x.Change.Ratio.High}
			}
		}
	}
	switch {
	case len(j.Slower) > 0:
		j.Outcome, j.Doubts = diff.Changed, nil
		fallthrough
	case j.Outcome == diff.Changed:
		j.MaybeSlower, j.Untested = diff.SlowerSpans{}, diff.SlowerSpans{}
		return j
	}
	if j.MaybeSlower.Ratio > 0 {
		j.Outcome, j.Doubts = diff.Inconclusive, append(j.Doubts, diff.MaybeSlower)
	}
	if j.Untested.Ratio > 0 {
		j.Outcome, j.Doubts = diff.Inconclusive, append(j.Doubts, diff.SlowerUntested)
	}
	return j
}

// leastUntested is the share of all calls' time that those of a group take at least for what
// too few of them show to count: each recording has calls that it saw once or twice.
const leastUntested = 0.01

// ofSpans reports whether what is compared are times of spans.
func (c *Comparison) ofSpans() bool {
	for side := range c.Runs {
		for _, r := range c.Runs[side] {
			if e := &r.Set.Events[r.Event]; !spandiff.Is(e) || r.Column != len(e.Values)-1 {
				return false
			}
		}
	}
	return true
}

// History looks for the builds from which on something costs more or less, of profiles
// of which the first side are those of the first build, and the second those of the
// others, in their order; names and runs are those of all builds, and how many profiles
// each has.
func (c *Comparison) History(names []string, runs []int) (*diff.History, error) {
	all := slices.Concat(c.Runs[0], c.Runs[1])
	var builds []diff.Build
	for i, name := range names {
		builds = append(builds, diff.Build{Name: name, Runs: all[:runs[i]]})
		all = all[runs[i]:]
	}
	return diff.NewHistory(builds, c.o.Diff)
}

// rootComms makes functions of the first frames of folded stacks, which are read
// as comms, if all profiles are folded stacks: many do not start with a comm. Where
// each profile is of one comm, but not all of the same, they are of a program that
// was built under different names.
func rootComms(profiles [2][]*convert.Profile) {
	var comms []string
	single := true
	for _, p := range append(append([]*convert.Profile(nil), profiles[0]...), profiles[1]...) {
		if p.Events != nil || len(p.Set.Mappings) > 0 || len(p.Set.Events) != 1 || p.Set.Events[0].Name != "samples" {
			return
		}
		shares := commShares(p.Set, 0, 0)
		single = single && len(shares) == 1
		comms = slices.AppendSeq(comms, maps.Keys(shares))
	}
	if slices.Sort(comms); single && len(slices.Compact(comms)) > 1 {
		return
	}
	for side := range profiles {
		for _, p := range profiles[side] {
			if hasComms(p.Set) {
				p.Set = commRooted(p.Set)
			}
		}
	}
}

// hasComms reports whether any sample has a comm.
func hasComms(s *stacks.Set) bool {
	for i := range s.NumSamples() {
		if _, ok := s.Label(s.Sample(i).Labels, "comm"); ok {
			return true
		}
	}
	return false
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
	rows := make([]uint32, s.NumSamples())
	for i := range s.NumSamples() {
		x := s.Sample(i)
		chain = append(chain[:0], s.Stack(x.Stack)...)
		if comm, ok := s.Label(x.Labels, "comm"); ok {
			loc, known := comms[comm.Str]
			if !known {
				loc = add(comm.Str)
				comms[comm.Str] = loc
			}
			chain = append(chain[:min(len(chain), stacks.MaxDepth-1)], loc)
		}
		rows[i] = uint32(rooted.Add(x.Event, rooted.Intern(chain), 0, x.Values...))
	}
	rooted.SetBlockShift(s.BlockShift())
	for _, b := range s.BlockSums {
		b.Sample = rows[b.Sample]
		rooted.AddBlockSum(b)
	}
	rooted.SumBlocks()
	rooted.DurationNanos = s.DurationNanos
	return rooted
}

// choose finds what is to be compared in each profile.
func (c *Comparison) choose() error {
	first := c.Profiles[0][0]
	event, err := c.commonEvent()
	if err != nil {
		return err
	}
	want := first.Set.Events[event].Values[first.WeightColumn(event)]
	for side := range c.Profiles {
		for _, p := range c.Profiles[side] {
			e := matchingEvent(p, first, event)
			if e < 0 { // by force
				e = p.Set.Most()
			}
			r := diff.Run{
				Name: p.Source, Set: p.Set, Event: e, Column: p.WeightColumn(e),
				Ops: c.o.Sides[side].Ops, Machine: machineOf(p), Lost: lostOf(p),
				EventName: eventName(p, e),
			}
			if ops, ok := c.o.Sides[side].RunOps[p.Source]; ok {
				r.Ops = ops
			}
			r.Measured = isBoot(&p.Set.Events[e])
			r.Exact = p.Set.Events[e].Instants && r.Column == 0 || isCounted(r.EventName) && len(p.Set.Events[e].Values) == 1
			for i, vt := range p.Set.Events[e].Values {
				if vt == want {
					r.Column = i
				}
			}
			if c.o.PerEvent != "" {
				asked, err := askedFor(p.Set, []string{c.o.PerEvent})
				if err != nil {
					return fmt.Errorf("%s: %w", p.Source, p.EventError(err))
				}
				r.PerEvent = slices.Index(asked, true)
				// The sum of its periods: how often it happened, not how often it was sampled.
				r.PerColumn = len(p.Set.Events[r.PerEvent].Values) - 1
			}
			c.Runs[side] = append(c.Runs[side], r)
		}
	}
	return nil
}

// NoCommonEventError says that there is no event that all profiles have.
type NoCommonEventError struct {
	Asked string // events that were asked for, "" for any
	Have  string // what each profile has
}

func (e *NoCommonEventError) Error() string {
	if e.Asked != "" {
		return fmt.Sprintf("not all profiles have event %q%s", e.Asked, e.Have)
	}
	return "the profiles have no event in common" + e.Have
}

// commonEvent returns the index in the first profile of the event to compare: of those
// asked for, or all but the one to divide by, and that all profiles have, the one with
// the most samples.
func (c *Comparison) commonEvent() (int, error) {
	first := c.Profiles[0][0]
	all := slices.Concat(c.Profiles[0], c.Profiles[1])
	counts := make([][]int64, len(all))
	for i, p := range all {
		counts[i] = p.Set.SampleCounts()
	}
	asked, err := askedFor(first.Set, c.o.Events)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", first.Source, first.EventError(err))
	}
	var common []int
	sums := make([]int64, len(first.Set.Events)) // of samples of all profiles
	for i := range first.Set.Events {
		everywhere := asked[i]
		for j, p := range all {
			e := matchingEvent(p, first, i)
			if everywhere = everywhere && e >= 0; everywhere {
				sums[i] += counts[j][e]
			}
		}
		if everywhere {
			common = append(common, i)
		}
	}
	if len(common) == 0 {
		have := ""
		for _, p := range all {
			have += fmt.Sprintf("; %s has %s", p.Source, eventNames(p))
		}
		if len(c.o.Events) == 0 && c.o.Diff.Force {
			return first.Set.Most(), nil
		}
		return 0, &NoCommonEventError{Asked: strings.Join(c.o.Events, ","), Have: have}
	}
	if per, err := askedFor(first.Set, []string{c.o.PerEvent}); c.o.PerEvent != "" && err == nil && len(c.o.Events) == 0 {
		if left := slices.DeleteFunc(slices.Clone(common), func(i int) bool { return per[i] }); len(left) > 0 {
			common = left
		}
	}
	most := slices.MaxFunc(common, func(a, b int) int { return cmp.Compare(sums[a], sums[b]) })
	for _, i := range common {
		e := convert.EventCount{Name: first.Set.Events[i].Name, Samples: uint64(sums[i])}
		if i == most {
			c.Event = e
		} else {
			c.Others = append(c.Others, e)
		}
	}
	return most, nil
}

// askedFor tells of each event of a Set whether patterns ask for it.
func askedFor(s *stacks.Set, patterns []string) ([]bool, error) {
	names := make([]stacks.EventName, len(s.Events))
	for i, e := range s.Events {
		names[i].Name = e.Name
	}
	choices, err := stacks.Choose(names, patterns)
	asked := make([]bool, len(s.Events))
	for _, c := range choices {
		for _, e := range c.Events {
			asked[e] = true
		}
	}
	return asked, err
}

// matchingEvent returns the index of the event of a profile that counts what one of
// another profile does: of the same name, where both are known, else of the same value,
// else the only one where either side is folded stacks, which name nothing.
func matchingEvent(p, first *convert.Profile, event int) int {
	s, e := p.Set, &first.Set.Events[event]
	want := eventName(first, event)
	if want != "" {
		for i := range s.Events {
			if eventName(p, i) == want {
				return i
			}
		}
	}
	may := func(i int) bool { return want == "" || eventName(p, i) == "" }
	if i := s.EventIndex(e.Name); i >= 0 && may(i) {
		return i
	}
	for i := range s.Events {
		if v := s.Events[i].Values; may(i) && v[len(v)-1] == e.Values[len(e.Values)-1] {
			return i
		}
	}
	if len(s.Events) == 1 && may(0) && (s.Events[0].Name == "samples" || e.Name == "samples") {
		return 0
	}
	return -1
}

func eventNames(p *convert.Profile) string {
	var names []string
	for i, e := range p.Set.Events {
		names = append(names, cmp.Or(eventName(p, i), e.Name))
	}
	return strings.Join(names, ", ")
}
