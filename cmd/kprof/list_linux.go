//go:build !portable

package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprof/perfevent/event"
	"kprof/perfevent/tracefs"
	"kprof/symbolize"
)

func newList() *cobra.Command {
	var asJSON, fields bool
	c := &cobra.Command{
		Use:   "list [GLOB | PROBE]",
		Short: "List the events of this machine",
		Long: `List prints what may follow -e on this machine: one event a line, with its kind.
GLOB selects by name, or where none matches by what stands behind the colon of names; a word
without * ? or [ selects the names that contain it, but hw, hwcache, sw, pmu and tracepoint the
events of that kind, as with perf list.

PROBE is the beginning of one, and selects from what can be probed: kprobe:[MODULE:]GLOB of
the kernel, uprobe:PATH:GLOB of a program or library; usdt:PATH:GLOB are its statically defined
probes, with the numbers of their arguments ($arg1, $arg2, …).

With --fields each tracepoint is followed by what it carries: the fields that --where, --filter,
--value and --by take, with their types as the kernel declares them (kprof help fields).`,
		Example: `  kprof list
  kprof list 'sched:*'
  kprof list clock
  kprof list sw
  kprof list --fields sched:sched_switch
  kprof list 'uprobe:/bin/bash:*read*'`,
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
			r := &event.Resolver{MountTracefs: true, Readable: symbolize.DemangleSimple.Readable}
			probes, isProbe, err := r.Probeable(glob)
			if err != nil {
				return err
			}
			lines := linesOfProbes(probes)
			if !isProbe {
				found, unread := r.Available()
				of := "of this machine"
				if unread != nil {
					of = "that may be listed"
				}
				if errors.Is(unread, os.ErrPermission) {
					unread = fmt.Errorf("%w; kprof doctor says what that takes", unread)
				}
				groups := eventGroups(found)
				if n := groups.keep(glob, match); n == 0 {
					return errors.Join(fmt.Errorf("no event %s matches %q%s", of, glob, cmp.Or(hintProbes(glob), event.MeantHere(glob))), unread)
				}
				if unread != nil {
					notef("tracepoints are not listed: %v", unread)
				}
				lines = groups.lines()
			}
			if fields {
				if lines, err = withFields(r, glob, lines); err != nil {
					return err
				}
			}
			if asJSON {
				return writeJSON(os.Stdout, lines)
			}
			return writeEvents(textOutput(os.Stdout), lines, isTerminal(os.Stdout))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON: a list of name and kind")
	c.Flags().BoolVar(&fields, "fields", false, "show the fields of tracepoints, with their types")
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

// eventLine is an event as list shows it.
type eventLine struct {
	Name      string      `json:"name"`
	Kind      string      `json:"kind"`
	Readable  string      `json:"readable,omitempty"`  // of a function whose name the linker knows otherwise
	Arguments *int        `json:"arguments,omitempty"` // of a statically defined probe
	Places    int         `json:"places,omitempty"`    // of one
	Fields    []fieldLine `json:"fields,omitempty"`    // of a tracepoint, with --fields

	tracepoint bool
}

func (g eventGroups) lines() (lines []eventLine) {
	for i := range g {
		for _, name := range g[i].Names {
			lines = append(lines, eventLine{Name: name, Kind: g[i].Kind(), tracepoint: g[i].Category == event.Tracepoint})
		}
	}
	return lines
}

func linesOfProbes(probes []event.Probeable) (lines []eventLine) {
	for i := range probes {
		p := &probes[i]
		line := eventLine{Name: p.Name, Kind: p.Kind, Readable: p.Readable, Places: p.Places}
		if p.Places > 0 {
			line.Arguments = &p.Arguments
		}
		lines = append(lines, line)
	}
	return lines
}

// hintProbes says how what can be probed of a file is listed, where that was meant.
func hintProbes(word string) string {
	if fi, err := os.Stat(word); err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf("; what can be probed of that file: kprof list 'uprobe:%s:*', or usdt:", word)
}

// writeEvents writes a line for each event. On a terminal kinds are set apart.
func writeEvents(w io.Writer, lines []eventLine, terminal bool) error {
	width := 0
	for i := range lines {
		width = max(width, min(len(lines[i].Name), 50))
	}
	bw := bufio.NewWriter(w)
	for i := range lines {
		l := &lines[i]
		if terminal && i > 0 && lines[i-1].Kind != l.Kind {
			fmt.Fprintln(bw)
		}
		fmt.Fprintf(bw, "%-*s  [%s", width, l.Name, l.Kind)
		if l.Readable != "" {
			fmt.Fprintf(bw, " %s", l.Readable)
		}
		if l.Arguments != nil {
			fmt.Fprintf(bw, ", arguments: %d", *l.Arguments)
		}
		if l.Places > 1 {
			fmt.Fprintf(bw, ", places: %d", l.Places)
		}
		fmt.Fprintln(bw, "]")
		writeFields(bw, l.Fields)
	}
	return bw.Flush()
}
