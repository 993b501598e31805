package diff

import "kprof/convert/stacks"

// Per is what costs are divided by, so that runs can be compared.
type Per uint8

const (
	PerShare  Per = iota // the total: shares from 0 to 1
	PerSecond            // the duration, in seconds
	PerOps               // a number of operations that the user counted
	PerEvent             // the total of another event of the same recording
	PerRun               // nothing: runs that do the same work
)

// Run is one profile to compare.
type Run struct {
	Name          string // for messages
	Set           *stacks.Set
	Event, Column int     // what is compared
	PerEvent      int     // for PerEvent: index of that event
	PerColumn     int     // and of its column
	Ops           float64 // for PerOps
	Machine       Machine
	Lost          uint64 // samples or records that are missing

	// EventName is the event's name, where Set.Events may have another that its values
	// gave it; "" if it is not known.
	EventName string
	// Exact says that every occurrence of the event is counted in the compared column.
	// It is filled in where the Set tells so.
	Exact bool
	// Measured says that each value is a measurement of its own, such as how long a call
	// took, and not a number of equal samples.
	Measured bool

	idle   *idle   // what is left out
	values []int64 // see stackValues
}

// Options say how to compare. Use Defaults for what is usual.
type Options struct {
	Names Names
	Per   Per
	// Alpha is the probability that anything at all is reported when nothing has
	// changed. The intervals of single differences have a level of 1-Alpha. Default: that of
	// Defaults.
	Alpha float64
	// MinEffect is how large a difference must be to be reported, as a share of
	// the base's total.
	MinEffect float64
	// Paths is of how many functions the call paths are listed, PathsEach how many
	// of each; the others are summed up.
	Paths, PathsEach int
	// Force compares what is not comparable.
	Force bool
	// WithIdle keeps the samples of CPUs that have nothing to do.
	WithIdle bool
	// Program says that the runs are of programs and not of whole machines. What CPUs did in
	// interrupts meanwhile, for whomever, is left out: which task that hits is chance.
	Program bool
	// WithInterrupts compares what ran in interrupts as anything else where one run of each side
	// is compared, too: see Interrupts.
	WithInterrupts bool
	// Suspects are functions that were suspected before: their differences are corrected
	// for their own number only, and reported however small they are.
	Suspects []string
	// SimilarCode says how like, from 0 to 1, the code of a function of the base is to
	// that of another of the new side, if it is known: to find functions that were
	// renamed. Default: it is not.
	SimilarCode func(base, new string) (alike float64, known bool)
	// Builds says which builds have some functions, by name; of those that it leaves out
	// nothing is known. That only one build has a function is no chance, however samples
	// scatter, and what both have was not renamed. Default: nothing is known.
	Builds func(names []string) map[string]Presence
}

// Presence is which builds have a function, base and new, and of which that is known. What
// is inlined everywhere in a build is neither known to be in it nor not to be.
type Presence struct{ In, Known [2]bool }

// onlyIn returns the side that alone has the function, if that is known.
func (p Presence) onlyIn() (side int, ok bool) {
	if !p.Known[0] || !p.Known[1] || p.In[0] == p.In[1] {
		return 0, false
	}
	if p.In[1] {
		side = 1
	}
	return side, true
}

// Defaults are alpha 0.05, a minimum effect of a quarter of a percent, since a single run does
// not show how much runs of the same build differ, and paths of the first ten
// functions.
var Defaults = Options{Alpha: 0.05, MinEffect: 0.0025, Paths: 10, PathsEach: 5}
