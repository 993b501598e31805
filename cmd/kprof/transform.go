package main

import (
	"strings"

	"github.com/spf13/cobra"

	"kprof/convert/transform"
)

// transformFlag is a flag that does something to the stacks of a profile. All of them
// add to one list, so that they are done in the order in which they are given.
type transformFlag struct {
	op transform.Op
	to *[]transform.Transform
}

type transformUsage struct {
	op    transform.Op
	usage string
}

// transformUsages are the flags of pprof that there are, and some more.
var transformUsages = []transformUsage{
	{transform.Focus, "take only stacks with a function whose name matches this `regexp`"},
	{transform.Ignore, "leave out stacks with a function that matches this `regexp`"},
	{transform.ShowFrom, "show stacks from the outermost function on that matches this `regexp`, without its callers; leave out the others"},
	{transform.ShowTo, "show stacks up to the innermost function that matches this `regexp`, without what it calls; leave out the others"},
	{transform.Hide, "show functions that match this `regexp` as a part of their callers"},
	{transform.Show, "show only functions that match this `regexp`, others as a part of their callers"},
	{transform.CollapseRecursion, "show a function that matches this `regexp` once in each stack, without what is between its calls"},
	{transform.Collapse, "show the functions of this `mapping`, such as libc.so.6, or [kernel], as one"},
}

// transformFlags are the flags that say which stacks are shown, and what of them.
func (s *shaping) transformFlags(c *cobra.Command) {
	for _, f := range transformUsages {
		c.Flags().Var(&transformFlag{f.op, &s.transforms}, f.op.String(), f.usage)
	}
}

func (f *transformFlag) Set(text string) error {
	t, err := transform.Parse(f.op, text)
	if err != nil {
		return err
	}
	*f.to = append(*f.to, t)
	return nil
}

func (f *transformFlag) String() string {
	if f.to == nil {
		return ""
	}
	var texts []string
	for _, t := range *f.to {
		if t.Op == f.op {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, ",")
}

func (f *transformFlag) Type() string { return "regexp" }
