//go:build linux && !portable

package main

import (
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/event"
	"kprof/perfevent/spanrule"
)

// shellWords are those of a command as a shell has them, whose quotes are single ones.
func shellWords(command string) (all []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			all[len(all)-1] += part
			continue
		}
		more := strings.Split(part, " ")
		if len(all) > 0 {
			all[len(all)-1] += more[0]
			more = more[1:]
		}
		all = append(all, more...)
	}
	return slices.DeleteFunc(all, func(w string) bool { return w == "" })
}

// TestSuggestedCommands: what is told to who types the name of another tool are commands of kprof,
// with flags that there are, of events and rules that can be read.
func TestSuggestedCommands(t *testing.T) {
	for tool, text := range tools {
		for i, part := range strings.Split(text, ", ") {
			command, isCommand := strings.CutPrefix(part, "and then kprof ")
			if i > 0 && !isCommand { // but words about it
				continue
			}
			args := shellWords(command)
			c, flags, err := newRoot(args...).Find(args)
			if err != nil || !c.HasParent() || c.ParseFlags(flags) != nil {
				t.Errorf("%s: %q is no command: %v", tool, part, err)
				continue
			}
			for i, arg := range args[1:] {
				switch args[i] {
				case "--span":
					_, err = spanrule.Parse("span:" + strings.TrimPrefix(arg, "span:"))
				case "-e":
					if strings.HasPrefix(arg, "span:") {
						_, err = spanrule.Parse(arg)
					} else {
						_, err = event.ParseSpecs(arg)
					}
				}
				if err != nil {
					t.Errorf("%s: %q: %v", tool, arg, err)
				}
			}
		}
	}
}
