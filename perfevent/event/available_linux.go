package event

import (
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/spanrule"
)

// Category says what the events of a Group are.
type Category uint8

const (
	Hardware      Category = iota // the CPU's own, under names that every kernel knows
	HardwareCache                 // accesses to caches and their misses
	Software                      // counted by the kernel itself
	OfPMU                         // of the PMU that Group names, as it calls them
	Form                          // not names but forms of them, with what to fill in in capitals
	Tracepoint                    // SYSTEM:NAME
	Span                          // times between events, see Resolver.SpanSpecs
)

var kinds = [...]string{
	Hardware: "hardware", HardwareCache: "hardware cache", Software: "software",
	Form: "form", Tracepoint: "tracepoint", Span: "span",
}

// Group is the events of one category that a machine has.
type Group struct {
	Category Category
	PMU      string   // of OfPMU, else empty
	Names    []string // as ParseSpec takes them, but for forms
}

// Kind is what a group of events is called: "hardware cache", "PMU cpu", "tracepoint".
func (g *Group) Kind() string {
	if g.Category == OfPMU {
		return "PMU " + g.PMU
	}
	return kinds[g.Category]
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

// Available asks this machine for its events, those of each kind in an order of their
// own. The error says why there are no tracepoints among them.
func (r *Resolver) Available() ([]Group, error) {
	present := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !r.Has(name) })
	}
	groups := []Group{
		{Category: Hardware, Names: present(hardwareEvents)},
		{Category: HardwareCache, Names: present(cacheEvents)},
		{Category: Software, Names: present(softwareEvents)},
	}
	forms := Group{Category: Form}
	if r.Has("cycles") {
		forms.Names = append(forms.Names, "rNNN")
	}
	if r.Has(SomeBreakpoint) {
		forms.Names = append(forms.Names, "mem:0xADDR[/LEN][:r|w|x]")
	}
	for _, pmu := range r.PMUs() {
		switch pmu {
		case "kprobe":
			forms.Names = append(forms.Names, "kprobe:FUNC[+OFF]", "kprobe:0xADDR", "kretprobe:FUNC", "span:[MODULE:]FUNC")
		case "uprobe":
			forms.Names = append(forms.Names, "uprobe:PATH:SYMBOL[+OFF]", "uretprobe:PATH:SYMBOL", "usdt:PATH:PROVIDER:NAME", "span:uprobe:PATH:SYMBOL")
		case "software", "tracepoint", "breakpoint":
		default:
			g := Group{Category: OfPMU, PMU: pmu}
			for _, e := range r.PMUEvents(pmu) {
				g.Names = append(g.Names, pmu+"/"+e+"/")
			}
			groups = append(groups, g)
		}
	}
	forms.Names = append(forms.Names, "span:EVENT..EVENT by KEY")
	tracepoints, err := r.tracepointNames()
	return append(groups, Group{Category: Span, Names: r.spanNames()}, forms, Group{Category: Tracepoint, Names: tracepoints}), err
}

// spanNames are the rules by name whose events this machine has.
func (r *Resolver) spanNames() (names []string) {
	if specs := OffCPUSpecs(false); r.Has(specs[0].Text) {
		names = append(names, OffCPU, WallClock)
	}
	rules, _ := spanrule.Named()
	for _, rule := range rules {
		specs, err := r.SpanSpecs(rule)
		if err == nil && (specs[0].Kind != KindProbe || slices.Contains(r.PMUs(), "kprobe")) {
			names = append(names, rule.Name)
		}
	}
	return names
}

func (r *Resolver) tracepointNames() ([]string, error) {
	fs, err := r.Tracefs()
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

// SomeBreakpoint is an event that opens wherever breakpoints do.
const SomeBreakpoint = "mem:0x1000/8:rw"

// UserOnly are the flags of what asks for the least permission.
const UserOnly = abi.FlagExcludeKernel | abi.FlagExcludeHV

// Has reports whether this machine has an event. One that is merely not permitted is
// there.
func (r *Resolver) Has(text string) bool {
	err := r.Try(text, perfevent.Where{CPU: perfevent.AnyCPU}, UserOnly)
	return !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EOPNOTSUPP) &&
		!errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENODEV) && !errors.Is(err, os.ErrNotExist)
}

// Try opens and closes an event, the first that text names, with additional flags.
func (r *Resolver) Try(text string, w perfevent.Where, flags abi.Flags) error {
	spec, err := ParseSpec(text)
	if err != nil {
		return err
	}
	events, err := r.Resolve(spec)
	if err != nil {
		return err
	}
	e := events[0]
	e.Configure(perfevent.Sampling{DefaultFrequency: 100})
	e.Attr.Flags |= flags
	c, err := e.Open(w)
	if err != nil {
		return err
	}
	return c.Close()
}

// Completion is what a word that somebody begins to type may become.
type Completion struct {
	Text  string
	Group *Group // which it is of; nil for a function or a statically defined probe
	Open  bool   // something of one's own follows right behind
}

// Completions returns what word, the beginning of an event, may become: events of this
// machine, each once, the beginnings of forms, behind kprobe: its functions, and behind uprobe:
// or usdt:, the path of a file and a colon what that has.
// Where a file's path follows, which is not looked for, path is true.
func (r *Resolver) Completions(word string) (found []Completion, path bool) {
	for _, kind := range []string{"kprobe:", "kretprobe:"} {
		if start, ok := strings.CutPrefix(word, kind); ok {
			for _, name := range r.FunctionNames(start) {
				found = append(found, Completion{Text: kind + name})
			}
			return found, false
		}
	}
	if p, ok := parsePlace(word); ok {
		if !p.opened {
			return nil, true
		}
		all, _ := r.allProbeable(p) // what cannot be read offers nothing
		for _, one := range all {
			if strings.HasPrefix(one.Name, word) {
				found = append(found, Completion{Text: one.Name})
			}
		}
		return found, false
	}
	groups, _ := r.Available() // tracepoints that cannot be read are not offered
	type seen struct {
		text  string
		group *Group
	}
	known := map[seen]bool{}
	for i := range groups {
		g := &groups[i]
		for _, text := range g.Names {
			if g.Category == Form {
				// Up to where a name of one's own begins.
				start, _, ok := strings.Cut(text, ":")
				if !ok {
					continue
				}
				text = start + ":"
			}
			if strings.HasPrefix(text, word) && !known[seen{text, g}] {
				known[seen{text, g}] = true
				found = append(found, Completion{Text: text, Group: g, Open: g.Category == Form})
			}
		}
	}
	return found, false
}
