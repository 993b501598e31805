//go:build !portable

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprof/perfevent/event"
	"kprof/perfevent/tracefs"
)

func newList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [GLOB]",
		Short: "List the events of this machine",
		Long: `List prints what may follow -e on this machine: one event a line, with its kind.
GLOB selects by name, or where none matches by what stands behind the colon of names; a word
without * ? or [ selects the names that contain it, but hw, hwcache, sw, pmu and tracepoint the
events of that kind, as with perf list.`,
		Example: `  kprof list
  kprof list 'sched:*'
  kprof list clock
  kprof list sw`,
		Args: maxArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			glob := "*"
			if len(args) > 0 {
				glob = args[0]
			}
			match, err := tracefs.MatchName(glob)
			if err != nil {
				return usageError{err}
			}
			found, unread := (&event.Resolver{MountTracefs: true}).Available()
			groups := eventGroups(found)
			if n := groups.keep(glob, match); n == 0 {
				return errors.Join(fmt.Errorf("no event of this machine matches %q", glob), unread)
			}
			if unread != nil {
				notef("tracepoints are not listed: %v", unread)
			}
			if asJSON {
				return groups.writeJSON(os.Stdout)
			}
			return groups.write(textOutput(os.Stdout), isTerminal(os.Stdout))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON: a list of name and kind")
	return c
}

// eventGroups are the events of a machine, by kind.
type eventGroups []event.Group

// categories are kinds of events as perf list calls them.
var categories = map[string]event.Category{
	"hw": event.Hardware, "hardware": event.Hardware, "hwcache": event.HardwareCache,
	"sw": event.Software, "software": event.Software, "pmu": event.OfPMU, "tracepoint": event.Tracepoint,
}

// keep drops the events that are not selected and returns how many are left: those of the kind
// that word is, or whose names match, or if there are none, whose names match behind the colon.
func (g eventGroups) keep(word string, match func(string) bool) (n int) {
	if kind, ok := categories[word]; ok {
		return g.keepIf(func(c event.Category, _ string) bool { return c == kind })
	}
	behind := func(_ event.Category, name string) bool {
		_, name, ok := strings.Cut(name, ":")
		return ok && match(name)
	}
	if !slices.ContainsFunc(g, func(group event.Group) bool { return slices.ContainsFunc(group.Names, match) }) {
		return g.keepIf(behind)
	}
	return g.keepIf(func(_ event.Category, name string) bool { return match(name) })
}

func (g eventGroups) keepIf(selects func(c event.Category, name string) bool) (n int) {
	for i := range g {
		g[i].Names = slices.DeleteFunc(g[i].Names, func(name string) bool { return !selects(g[i].Category, name) })
		n += len(g[i].Names)
	}
	return n
}

// write writes a line for each event. On a terminal groups are set apart.
func (g eventGroups) write(w io.Writer, terminal bool) error {
	width := 0
	for _, group := range g {
		for _, name := range group.Names {
			width = max(width, min(len(name), 50))
		}
	}
	bw := bufio.NewWriter(w)
	first := true
	for i := range g {
		if terminal && !first && len(g[i].Names) > 0 {
			fmt.Fprintln(bw)
		}
		for _, name := range g[i].Names {
			fmt.Fprintf(bw, "%-*s  [%s]\n", width, name, g[i].Kind())
			first = false
		}
	}
	return bw.Flush()
}
