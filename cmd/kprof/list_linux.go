//go:build !portable

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprof/perfevent/event"
)

func newList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [GLOB]",
		Short: "List the events of this machine",
		Long: `List prints what may follow -e on this machine: one event a line, with its kind.
GLOB selects by name; a word without * ? or [ selects the names that contain it.`,
		Example: `  kprof list
  kprof list 'sched:*'
  kprof list clock`,
		Args: maxArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			glob := "*"
			if len(args) > 0 {
				glob = args[0]
			}
			match, err := nameMatcher(glob)
			if err != nil {
				return err
			}
			groups, unread := listEvents(&event.Resolver{MountTracefs: true})
			if n := groups.keep(match); n == 0 {
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

// nameMatcher returns what a GLOB selects.
func nameMatcher(glob string) (func(string) bool, error) {
	if !strings.ContainsAny(glob, `*?[\`) {
		return func(name string) bool { return strings.Contains(name, glob) }, nil
	}
	// A slash in a name is no border between directories.
	plain := func(s string) string { return strings.ReplaceAll(s, "/", "\x01") }
	if _, err := path.Match(plain(glob), ""); err != nil {
		return nil, usagef("%q is not a pattern: %w", glob, err)
	}
	return func(name string) bool {
		ok, _ := path.Match(plain(glob), plain(name))
		return ok
	}, nil
}

// eventGroup is the events of one kind.
type eventGroup struct {
	kind  string
	names []string
}

type eventGroups []eventGroup

// keep drops the names that do not match and returns how many are left.
func (g eventGroups) keep(match func(string) bool) (n int) {
	for i := range g {
		g[i].names = slices.DeleteFunc(g[i].names, func(name string) bool { return !match(name) })
		n += len(g[i].names)
	}
	return n
}

// write writes a line for each event. On a terminal groups are set apart.
func (g eventGroups) write(w io.Writer, terminal bool) error {
	width := 0
	for _, group := range g {
		for _, name := range group.names {
			width = max(width, min(len(name), 50))
		}
	}
	bw := bufio.NewWriter(w)
	first := true
	for _, group := range g {
		if terminal && !first && len(group.names) > 0 {
			fmt.Fprintln(bw)
		}
		for _, name := range group.names {
			fmt.Fprintf(bw, "%-*s  [%s]\n", width, name, group.kind)
			first = false
		}
	}
	return bw.Flush()
}

// listEvents asks this machine for its events. The error says why there are no
// tracepoints among them.
func listEvents(res *event.Resolver) (groups eventGroups, err error) {
	found, err := res.Available()
	for i := range found {
		groups = append(groups, eventGroup{kindText(&found[i]), found[i].Names})
	}
	return groups, err
}

// kindText is what a group of events is called.
func kindText(g *event.Group) string {
	switch g.Category {
	case event.Hardware:
		return "hardware"
	case event.HardwareCache:
		return "hardware cache"
	case event.Software:
		return "software"
	case event.OfPMU:
		return "PMU " + g.PMU
	case event.Form:
		return "form"
	}
	return "tracepoint"
}
