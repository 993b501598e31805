package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	flagNamed    = regexp.MustCompile(`(?:^|[ "])--?([a-z][a-z-]*)`)
	commandNamed = regexp.MustCompile(`kprof ([a-z]+)`)
)

// TestPerfFlags holds what is said of perf's flags to be true: the command has no such flag, and
// what it is told to be instead is there.
func TestPerfFlags(t *testing.T) {
	root := newRoot()
	find := func(name string) *cobra.Command {
		c, _, err := root.Find([]string{name})
		if err != nil || c == root {
			t.Fatalf("no command %q: %v", name, err)
		}
		c.InitDefaultHelpFlag()
		return c
	}
	has := func(c *cobra.Command, flag string) bool {
		if len(flag) == 1 {
			return c.Flags().ShorthandLookup(flag) != nil
		}
		return c.Flags().Lookup(flag) != nil
	}
	seen := map[string]bool{}
	for _, f := range perfFlags {
		for name := range strings.FieldsSeq(f.commands) {
			c := find(name)
			for flag := range strings.FieldsSeq(f.flags) {
				if key := name + " " + flag; seen[key] {
					t.Errorf("kprof %s: -%s is told of twice", name, flag)
				} else {
					seen[key] = true
				}
				if has(c, flag) {
					t.Errorf("kprof %s has the flag %q, of which it is said: %s", name, flag, f.instead)
				}
			}
			for _, part := range strings.Split(f.instead, ", and ") {
				in := c
				for _, word := range strings.Split(part, "; ") {
					if m := commandNamed.FindStringSubmatch(word); m != nil {
						in = find(m[1])
					}
					for _, m := range flagNamed.FindAllStringSubmatch(word, -1) {
						if !has(in, m[1]) {
							t.Errorf("kprof %s %s: kprof %s has no flag %q: %s", name, f.flags, in.Name(), m[1], f.instead)
						}
					}
				}
			}
		}
	}
	for perf, here := range sameFlags {
		var used bool
		for _, c := range root.Commands() {
			used = used || has(c, here) && !has(c, perf)
		}
		if !used {
			t.Errorf("no command has --%s without -%s", here, perf)
		}
	}
}
