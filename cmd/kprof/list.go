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
	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/tracefs"
)

func newList() *cobra.Command {
	return &cobra.Command{
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
			var res perfevent.Resolver
			groups, unread := listEvents(&res)
			if n := groups.keep(match); n == 0 {
				return errors.Join(fmt.Errorf("no event of this machine matches %q", glob), unread)
			}
			if unread != nil {
				messagef("tracepoints are not listed: %v", unread)
			}
			return groups.write(os.Stdout, isTerminal(os.Stdout))
		},
	}
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

// Names of events that are numbers in the kernel's interface, not files.
var (
	hardwareEvents = []string{
		"cycles", "instructions", "ref-cycles", "bus-cycles", "branches", "branch-misses",
		"cache-references", "cache-misses", "stalled-cycles-frontend", "stalled-cycles-backend",
	}
	cacheEvents = []string{
		"L1-dcache-loads", "L1-dcache-load-misses", "L1-dcache-stores", "L1-dcache-store-misses",
		"L1-dcache-prefetches", "L1-icache-loads", "L1-icache-load-misses",
		"LLC-loads", "LLC-load-misses", "LLC-stores", "LLC-store-misses", "LLC-prefetches",
		"dTLB-loads", "dTLB-load-misses", "dTLB-stores", "dTLB-store-misses",
		"iTLB-loads", "iTLB-load-misses", "branch-loads", "branch-load-misses",
		"node-loads", "node-load-misses", "node-stores", "node-store-misses",
	}
	softwareEvents = []string{
		"cpu-clock", "task-clock", "page-faults", "minor-faults", "major-faults",
		"context-switches", "cpu-migrations", "alignment-faults", "emulation-faults",
		"cgroup-switches", "bpf-output", "dummy",
	}
)

// listEvents asks this machine for its events. The error says why there are no
// tracepoints among them.
func listEvents(res *perfevent.Resolver) (eventGroups, error) {
	groups := eventGroups{
		{"hardware", slices.DeleteFunc(slices.Clone(hardwareEvents), isMissing)},
		{"hardware cache", slices.DeleteFunc(slices.Clone(cacheEvents), isMissing)},
		{"software", slices.DeleteFunc(slices.Clone(softwareEvents), isMissing)},
	}
	forms := eventGroup{kind: "form"}
	if !isMissing("cycles") {
		forms.names = append(forms.names, "rNNN")
	}
	if !isMissing(someBreakpoint) {
		forms.names = append(forms.names, "mem:0xADDR[/LEN][:r|w|x]")
	}
	for _, pmu := range res.PMUs() {
		switch pmu {
		case "kprobe":
			forms.names = append(forms.names, "kprobe:FUNC[+OFF]", "kprobe:0xADDR", "kretprobe:FUNC")
		case "uprobe":
			forms.names = append(forms.names, "uprobe:PATH:SYMBOL[+OFF]", "uretprobe:PATH:SYMBOL", "usdt:PATH:PROVIDER:NAME")
		case "software", "tracepoint", "breakpoint":
		default:
			g := eventGroup{kind: "PMU " + pmu}
			for _, e := range res.PMUEvents(pmu) {
				g.names = append(g.names, pmu+"/"+e+"/")
			}
			groups = append(groups, g)
		}
	}
	groups = append(groups, forms)
	tracepoints, err := listTracepoints()
	return append(groups, eventGroup{"tracepoint", tracepoints}), err
}

func listTracepoints() ([]string, error) {
	fs, err := tracefs.Find(tracefs.Options{Mount: true})
	if err != nil {
		return nil, err
	}
	events, err := fs.Events("*", "*")
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.String()
	}
	return names, err
}

// someBreakpoint opens wherever breakpoints do.
const someBreakpoint = "mem:0x1000/8:rw"

// userOnly is what asks for the least permission.
const userOnly = abi.FlagExcludeKernel | abi.FlagExcludeHV

// isMissing reports whether this machine has no such event. One that is merely
// not permitted is there.
func isMissing(event string) bool {
	err := tryEvent(event, perfevent.Where{CPU: perfevent.AnyCPU}, userOnly)
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EOPNOTSUPP) ||
		errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENODEV) || errors.Is(err, os.ErrNotExist)
}

// tryEvent opens and closes an event, with the additional flags.
func tryEvent(event string, w perfevent.Where, flags abi.Flags) error {
	spec, err := perfevent.ParseSpec(event)
	if err != nil {
		return err
	}
	var res perfevent.Resolver
	events, err := res.Resolve(spec)
	if err != nil {
		return err
	}
	e := events[0].Configured(perfevent.Sampling{DefaultFrequency: 100})
	e.Attr.Flags |= flags
	c, err := perfevent.Open(&e, w)
	if err != nil {
		return err
	}
	return c.Close()
}
