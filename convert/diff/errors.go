package diff

import (
	"fmt"
	"strings"
)

// IncomparableError is that a comparison would be meaningless. Options.Force makes
// it all the same.
type IncomparableError struct {
	Differences []string // clauses on what differs between the runs
}

func (e *IncomparableError) Error() string {
	return "not comparable: " + strings.Join(e.Differences, "; ")
}

// Reason is what a run lacks.
type Reason uint8

const (
	Empty        Reason = iota + 1 // it has no samples
	Negative                       // it has values below 0
	NoDuration                     // PerSecond, and it does not say how long it took
	NoOperations                   // PerOps, and their number is not given
	NoDivisor                      // PerEvent, and it has no samples of that event
	OnlyIdle                       // all its samples are of CPUs that have nothing to do; see Options.WithIdle
	NoNames                        // it has no names of functions, and the other side has; see Options.Force
)

var reasons = [...]string{
	Empty:        "the profile is empty: it has no samples",
	Negative:     "it has negative values: it is the difference of profiles, not one",
	NoDuration:   "it does not tell how long it took",
	NoOperations: "the number of operations must be given, and more than 0",
	NoDivisor:    "it has no samples of the event to divide by",
	OnlyIdle:     "all its samples are of CPUs that have nothing to do",
	NoNames:      "it has no function names",
}

func (r Reason) String() string {
	if int(r) < len(reasons) && r > 0 {
		return reasons[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// RunError is that a run cannot be compared.
type RunError struct {
	Run    string // its name
	Side   int    // 0 for the base, 1 for the new side
	Reason Reason
	Share  float64 // for NoNames: of the side's samples, from 0 to 1
}

func (e *RunError) Error() string {
	if e.Reason == NoNames {
		return fmt.Sprintf("%s has no function names for %.0f %% of its samples, which the other side has", e.Run, 100*e.Share)
	}
	return e.Run + ": " + e.Reason.String()
}
