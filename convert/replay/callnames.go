package replay

import (
	"slices"

	"kprof/perfevent/spanrule"
	"kprof/perfevent/syscalls"
)

// callNames names the system calls that samples of an event are of.
type callNames struct {
	byNumber *syscalls.Table
	only     string // of an event of one call alone, which does not tell its number
}

// callNames are those of a side of a rule, whose event's name has varying; nil where the rule is
// not of system calls.
func (o *ruleSpans) callNames(r *spanrule.Rule, s *spanrule.Side, varying string) *callNames {
	if !slices.ContainsFunc(r.Families[0].Starts[0].Labels, func(l spanrule.Label) bool { return l.As == spanrule.Syscall }) {
		return nil
	}
	if s.Check == nil {
		return &callNames{only: varying}
	}
	return &callNames{byNumber: o.x.r.syscalls()}
}

// of returns the name of a call, empty where it is not known.
func (c *callNames) of(number uint64) string {
	if c.only != "" {
		return c.only
	}
	name, _ := c.byNumber.Name(number)
	return name
}
