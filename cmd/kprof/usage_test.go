package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mostFlags is how many flags a reader takes in at a glance, generously.
const mostFlags = 25

// TestUsage: the help of each command has each of its flags once, below headings of which
// none has too many, and each command is in a group.
func TestUsage(t *testing.T) {
	flag := regexp.MustCompile(`^ {2}(-\w, |    )--([\w-]+)`)
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if c == c.Root() && sub.GroupID == "" {
				t.Errorf("%s is in no group", sub.CommandPath())
			}
			check(sub)
		}
		c.InitDefaultHelpFlag()
		want, got := map[string]bool{}, map[string]int{}
		visit := func(f *pflag.Flag) { want[f.Name] = !f.Hidden && f.Deprecated == "" }
		c.LocalFlags().VisitAll(visit)
		c.InheritedFlags().VisitAll(visit)
		_, usage, _ := strings.Cut(c.UsageString(), "Usage:")
		n, title := 0, ""
		for line := range strings.Lines(usage) {
			if m := flag.FindStringSubmatch(line); m != nil {
				got[m[2]]++
				if n++; n == mostFlags+1 {
					t.Errorf("%s: more than %d flags below %q", c.CommandPath(), mostFlags, title)
				}
			} else if line[0] > ' ' {
				n, title = 0, strings.TrimSpace(line)
			}
		}
		for name, shown := range want {
			if shown != (got[name] == 1) {
				t.Errorf("%s --help shows --%s %d times", c.CommandPath(), name, got[name])
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("%s --help shows %v, which it does not have", c.CommandPath(), got)
		}
	}
	root := newRoot()
	root.InitDefaultCompletionCmd()
	check(root)
}

// TestSubcommands: each command is made for its name, alone and as it is among all.
func TestSubcommands(t *testing.T) {
	all := newRoot()
	for _, c := range subcommands {
		alone := newRoot(c.name, "--help")
		if n := len(alone.Commands()); n != 1 || alone.Commands()[0].Name() != c.name {
			t.Errorf("%s: %d commands, the first is %s", c.name, n, alone.Commands()[0].Name())
		}
		if one, _, err := all.Find([]string{c.name}); err != nil || one.GroupID != alone.Commands()[0].GroupID {
			t.Errorf("%s: %v, in group %q", c.name, err, one.GroupID)
		}
	}
}
